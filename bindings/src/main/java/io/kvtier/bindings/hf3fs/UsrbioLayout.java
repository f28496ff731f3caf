package io.kvtier.bindings.hf3fs;

/**
 * Numbers of {@code hf3fs_usrbio.h} (3FS, src/lib/api), on the two 64-bit architectures, where they are the same.
 *
 * <pre>
 * struct hf3fs_iov, shared memory              struct hf3fs_ior, a ring
 *
 *   +-------------------------------+            +-------------------------------+
 *  0| base, address of the memory   |           0| struct hf3fs_iov of the ring  |
 *  8| handle of the library         |         312| handle of the library         |
 * 16| id, 16 bytes                  |         320| mount point, 256 bytes        |
 * 32| mount point, 256 bytes        |         576| for_read, 1 byte, 3 unused    |
 * 288| size in bytes                |         580| io_depth, int                 |
 * 296| block size in bytes          |         584| priority, int                 |
 * 304| numa, int, 4 bytes unused    |         588| timeout in ms, int            |
 * 312+------------------------------+         592| flags                         |
 *                                             600+-------------------------------+
 * struct hf3fs_cqe, one completion
 *
 *   +---------------+---------------+
 *  0| index, int    | unused        |
 *  8| result, -errno where negative |
 * 16| user data                     |
 * 24+-------------------------------+
 * </pre>
 */
final class UsrbioLayout {
    static final long IOV_BYTES = 312;
    static final long IOV_BASE = 0;
    static final long IOV_HANDLE = 8;
    static final long IOV_ID = 16;
    static final long IOV_MOUNT_POINT = 32;
    static final long IOV_SIZE = 288;
    static final long IOV_BLOCK_SIZE = 296;
    static final long IOV_NUMA = 304;

    static final long IOR_BYTES = 600;
    static final long IOR_IOV = 0;
    static final long IOR_HANDLE = 312;
    static final long IOR_MOUNT_POINT = 320;
    static final long IOR_FOR_READ = 576;
    static final long IOR_DEPTH = 580;
    static final long IOR_PRIORITY = 584;
    static final long IOR_TIMEOUT = 588;
    static final long IOR_FLAGS = 592;

    static final long CQE_BYTES = 24;
    static final long CQE_INDEX = 0;
    static final long CQE_RESULT = 8;
    static final long CQE_USER_DATA = 16;

    /** Of an id, which is a UUID. */
    static final int ID_BYTES = 16;
    /** Of a mount point, with the NUL behind it. */
    static final int MOUNT_POINT_BYTES = 256;

    static final int FLAG_ALLOW_READ_UNCOMMITTED = 1;
    static final int FLAG_FORBID_READ_HOLES = 2;

    // struct timespec (time.h)
    static final long TIMESPEC_BYTES = 16;
    static final long TIMESPEC_SECONDS = 0;
    static final long TIMESPEC_NANOS = 8;

    private UsrbioLayout() {
    }
}
