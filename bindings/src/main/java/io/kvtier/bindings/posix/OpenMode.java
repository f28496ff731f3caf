package io.kvtier.bindings.posix;

/** How a file is opened. None of them truncates: files of this library are only ever grown. */
public enum OpenMode {
    /** For reading; the file must exist. */
    READ(OpenMode.O_RDONLY, false),
    /** For reading and writing; the file must exist. */
    READ_WRITE(OpenMode.O_RDWR, false),
    /** For reading and writing; made when absent. */
    CREATE(OpenMode.O_RDWR | OpenMode.O_CREAT, false),
    /** For reading and writing; must not exist yet. */
    CREATE_NEW(OpenMode.O_RDWR | OpenMode.O_CREAT | OpenMode.O_EXCL, false),
    /**
     * As {@link #READ_WRITE}, of a block device that nobody else has in use: EBUSY when it is mounted, a part of
     * another volume, or open in this way already; and as long as it is open, nobody else gets it so. For devices only:
     * of a file the flag means nothing.
     */
    READ_WRITE_EXCLUSIVE(OpenMode.O_RDWR | OpenMode.O_EXCL, false),
    /** As {@link #READ}, past the page cache ({@code O_DIRECT}). */
    READ_DIRECT(OpenMode.O_RDONLY, true),
    /** As {@link #READ_WRITE}, past the page cache ({@code O_DIRECT}). */
    READ_WRITE_DIRECT(OpenMode.O_RDWR, true);

    // asm-generic/fcntl.h; the same on x86-64 and AArch64.
    private static final int O_RDONLY = 0;
    private static final int O_RDWR = 2;
    private static final int O_CREAT = 0x40;
    private static final int O_EXCL = 0x80;
    private static final int O_CLOEXEC = 0x80000;
    /** O_DIRECT is one of the few flags that differ: asm-generic 0x4000 (x86-64), 0x10000 on AArch64. */
    private static final int O_DIRECT = System.getProperty("os.arch").equals("aarch64") ? 0x10000 : 0x4000;

    private final int flags;
    private final boolean direct;

    OpenMode(final int flags, final boolean direct) {
        this.flags = flags;
        this.direct = direct;
    }

    /**
     * Whether transfers go past the page cache.
     *
     * @return true for the {@code _DIRECT} modes.
     */
    public boolean direct() {
        return direct;
    }

    // O_CLOEXEC: a process that the host service starts must not inherit descriptors of a store.
    int flags() {
        return flags | O_CLOEXEC | (direct ? O_DIRECT : 0);
    }
}
