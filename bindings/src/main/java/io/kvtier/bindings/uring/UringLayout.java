package io.kvtier.bindings.uring;

/**
 * Numbers of {@code linux/io_uring.h}: the same on x86-64 and AArch64, and never changed once published. The man pages
 * io_uring_setup(2), io_uring_enter(2) and io_uring_register(2) say what they mean.
 *
 * <pre>
 * struct io_uring_sqe, one submission          struct io_uring_params, filled in by setup
 *
 *     0   1   2   3   4   5   6   7                0   1   2   3   4   5   6   7
 *   +---+---+-------+---------------+            +---------------+---------------+
 *  0|op |fl |ioprio |      fd       |           0|  sq_entries   |  cq_entries   |
 *   +---+---+-------+---------------+            +---------------+---------------+
 *  8|         file offset           |           8|     flags     |  (sq thread)  |
 *   +-------------------------------+            +---------------+---------------+
 * 16|        memory address         |          16|  (sq thread)  |   features    |
 *   +---------------+---------------+            +---------------+---------------+
 * 24|    length     |  op's flags   |          24|    (wq_fd, reserved)          |
 *   +---------------+---------------+          40|    sq_off, 40 bytes           |
 * 32|         user_data             |          80|    cq_off, 40 bytes           |
 *   +-------+-------+---------------+         120+-------------------------------+
 * 40|buf_ix | pers. |  file index   |
 *   +-------+-------+---------------+          struct io_uring_cqe, one completion
 * 48|         0 for our ops         |
 *   |                               |            +-------------------------------+
 * 64+-------------------------------+           0|         user_data             |
 *                                                +---------------+---------------+
 *                                               8| result, -errno|    flags      |
 *                                              16+---------------+---------------+
 * </pre>
 */
final class UringLayout {
    // System calls (asm-generic/unistd.h; x86-64 uses the same numbers for these).
    static final long SYS_SETUP = 425;
    static final long SYS_ENTER = 426;
    static final long SYS_REGISTER = 427;

    // Where in the ring's descriptor each mapping starts.
    static final long MAP_RINGS = 0;
    static final long MAP_ENTRIES = 0x10000000L;

    // struct io_uring_params
    static final long PARAMS_BYTES = 120;
    static final long PARAMS_SQ_ENTRIES = 0;
    static final long PARAMS_CQ_ENTRIES = 4;
    static final long PARAMS_FLAGS = 8;
    static final long PARAMS_FEATURES = 20;
    static final long PARAMS_SQ_OFFSETS = 40;
    static final long PARAMS_CQ_OFFSETS = 80;

    // struct io_sqring_offsets
    static final long SQ_HEAD = 0;
    static final long SQ_TAIL = 4;
    static final long SQ_MASK = 8;
    static final long SQ_FLAGS = 16;
    static final long SQ_ARRAY = 24;

    // struct io_cqring_offsets
    static final long CQ_HEAD = 0;
    static final long CQ_TAIL = 4;
    static final long CQ_MASK = 8;
    static final long CQ_ENTRIES = 20;

    // struct io_uring_sqe
    static final long SQE_BYTES = 64;
    static final long SQE_OPCODE = 0;
    static final long SQE_FLAGS = 1;
    static final long SQE_IOPRIO = 2;
    static final long SQE_FD = 4;
    static final long SQE_OFFSET = 8;
    static final long SQE_ADDRESS = 16;
    static final long SQE_LENGTH = 24;
    static final long SQE_OP_FLAGS = 28;
    static final long SQE_USER_DATA = 32;
    static final long SQE_BUFFER_INDEX = 40;
    /** The rest of the entry, with {@link #SQE_BUFFER_INDEX} in its first two bytes. */
    static final long SQE_REST_1 = 40;
    static final long SQE_REST_2 = 48;
    static final long SQE_REST_3 = 56;

    // struct io_uring_cqe
    static final long CQE_BYTES = 16;
    static final long CQE_USER_DATA = 0;
    static final long CQE_RESULT = 8;

    // enum io_uring_op
    static final int OP_NOP = 0;
    static final int OP_READV = 1;
    static final int OP_WRITEV = 2;
    static final int OP_FSYNC = 3;
    static final int OP_READ_FIXED = 4;
    static final int OP_WRITE_FIXED = 5;
    static final int OP_ASYNC_CANCEL = 14;
    static final int OP_READ = 22;
    static final int OP_WRITE = 23;

    static final int SQE_FIXED_FILE = 1;
    static final int FSYNC_DATASYNC = 1;

    // io_uring_setup flags
    static final int SETUP_SUBMIT_ALL = 1 << 7;
    static final int SETUP_COOP_TASKRUN = 1 << 8;
    static final int SETUP_TASKRUN_FLAG = 1 << 9;
    static final int SETUP_SINGLE_ISSUER = 1 << 12;
    static final int SETUP_DEFER_TASKRUN = 1 << 13;

    // features that setup reports
    static final int FEATURE_SINGLE_MMAP = 1;
    static final int FEATURE_NODROP = 1 << 1;
    static final int FEATURE_EXT_ARG = 1 << 8;
    static final int FEATURE_RSRC_TAGS = 1 << 10;

    // flags of the submission ring, written by the kernel
    static final int SQ_FLAG_CQ_OVERFLOW = 1 << 1;
    static final int SQ_FLAG_TASKRUN = 1 << 2;

    // io_uring_enter flags
    static final int ENTER_GETEVENTS = 1;
    static final int ENTER_EXT_ARG = 1 << 3;

    // struct io_uring_getevents_arg, and behind it the struct __kernel_timespec that it points to
    static final long WAIT_ARG_BYTES = 24;
    static final long WAIT_ARG_TIMESPEC = 16;
    static final long TIMESPEC_BYTES = 16;
    static final long TIMESPEC_SECONDS = 0;
    static final long TIMESPEC_NANOS = 8;

    // io_uring_register operations
    static final int REGISTER_BUFFERS = 0;
    static final int UNREGISTER_BUFFERS = 1;
    static final int REGISTER_FILES = 2;
    static final int REGISTER_FILES_UPDATE = 6;
    static final int REGISTER_PROBE = 8;
    static final int REGISTER_BUFFERS_UPDATE = 16;

    // struct io_uring_rsrc_update2; its first 16 bytes are struct io_uring_rsrc_update
    static final long UPDATE_BYTES = 32;
    static final long UPDATE_OFFSET = 0;
    static final long UPDATE_DATA = 8;
    static final long UPDATE_COUNT = 24;

    // struct iovec (sys/uio.h)
    static final long IOVEC_BYTES = 16;
    static final long IOVEC_BASE = 0;
    static final long IOVEC_LENGTH = 8;

    // struct io_uring_probe and the struct io_uring_probe_op that follow it
    static final long PROBE_BYTES = 16;
    static final long PROBE_LENGTH = 1;
    static final long PROBE_OP_BYTES = 8;
    static final long PROBE_OP_FLAGS = 2;
    static final int PROBE_OP_SUPPORTED = 1;

    /** Most bytes that one registered buffer may have: a limit of the kernel, not in a header. */
    static final long MAX_BUFFER_BYTES = 1L << 30;
    /** Most entries of a table of buffers ({@code IORING_MAX_REG_BUFFERS}, kernel source). */
    static final int MAX_BUFFER_SLOTS = 1 << 14;
    /** Most entries of a table of files ({@code IORING_MAX_FIXED_FILES}, kernel source, is higher). */
    static final int MAX_FILE_SLOTS = 1 << 14;
    /** Most bytes that one read or write moves ({@code MAX_RW_COUNT}, linux/fs.h, with pages of 4 KiB). */
    static final long MAX_TRANSFER_BYTES = 0x7ffff000L;

    private UringLayout() {
    }
}
