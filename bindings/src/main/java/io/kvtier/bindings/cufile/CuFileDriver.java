package io.kvtier.bindings.cufile;

import io.kvtier.bindings.RefCount;
import io.kvtier.bindings.cufile.gen.CUfileStatsLevel3;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A share of the opened cuFile driver.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> files, buffers and batches made with it hold shares of their own,
 * so the order of closing does not matter; the driver closes with the last. <b>Blocking:</b> {@link #close()} of the
 * last share waits for the library.
 */
public final class CuFileDriver implements AutoCloseable {
    /** As long as a path can be. */
    private static final int TEXT_BYTES = 4096;

    private final CuFile cuFile;
    private final Opened opened;
    private final RefCount references;

    CuFileDriver(final CuFile cuFile, final Opened opened) {
        this.cuFile = cuFile;
        this.opened = opened;
        this.references = new RefCount(cuFile::release);
    }

    /** What was read back from the driver after it had been opened, shared by all shares. */
    static final class Opened {
        final CuFileProperties properties;
        final List<PoolSlabs> posixPool;
        final PosixPool pool;
        final int statisticsLevel;
        final AtomicLong lost = new AtomicLong();

        Opened(final CuFileProperties properties, final List<PoolSlabs> posixPool, final int statisticsLevel) {
            this.properties = properties;
            this.statisticsLevel = statisticsLevel;
            this.posixPool = posixPool;
            this.pool = new PosixPool(posixPool);
        }
    }

    /**
     * What the driver said of itself when it was opened.
     *
     * @return the properties.
     */
    public CuFileProperties properties() {
        return opened.properties;
    }

    /**
     * Entries of batches, of all shares, that a device may still move though their batches are gone.
     *
     * @return how many; never less than before.
     */
    public long lost() {
        return opened.lost.get();
    }

    void lost(final int entries) {
        opened.lost.addAndGet(entries);
    }

    /**
     * Compatibility mode's buffers as they are, whatever was asked for.
     *
     * @return the classes, in ascending size; empty when the library told none.
     */
    public List<PoolSlabs> posixPool() {
        return opened.posixPool;
    }

    /**
     * How many entries of one size a batch can take: bounded by the driver's depth and, as every entry may need a
     * buffer of compatibility mode, by how many of the fitting class there are.
     *
     * @param entryBytes bytes of an entry.
     * @return at least 1, unless the entry is larger than all buffers together.
     */
    public int batchEntries(final long entryBytes) {
        return (int) Math.min(opened.properties.maxBatchEntries(), opened.pool.entries(entryBytes));
    }

    /**
     * The driver's counts.
     *
     * @return as of now.
     * @throws CuFileException when statistics are off.
     */
    public CuFileStatistics statistics() {
        use();
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment statistics = arena.allocate(CUfileStatsLevel3.layout());
            CuFile.check("cuFileGetStatsL3", api().statistics(statistics), "");
            return CuFileStatistics.of(statistics);
        } finally {
            references.release();
        }
    }

    /**
     * Which way data really takes: reads and, with statistics on, looks which of the driver's counts have moved.
     *
     * @param file       a file with at least so many bytes there.
     * @param buffer     registered device memory; its content is overwritten.
     * @param length     bytes to read; 1 MiB tells most.
     * @param fileOffset where, aligned to 4 KiB.
     * @return the way; {@link CuFileMode#UNKNOWN} when something direct is there and statistics are off.
     */
    public CuFileMode probe(final CuFileHandle file, final CuFileBuffer buffer, final long length,
        final long fileOffset) {
        if (opened.statisticsLevel < CuFileConfig.MODE_LEVEL) {
            file.read(buffer, 0, length, fileOffset);
            return opened.properties.directPossible() ? CuFileMode.UNKNOWN : CuFileMode.COMPATIBILITY;
        }
        final CuFileStatistics before = statistics();
        file.read(buffer, 0, length, fileOffset);
        return CuFileMode.between(before, statistics(), opened.properties);
    }

    /**
     * A numeric parameter in force.
     *
     * @param parameter which.
     * @return its value.
     */
    public long parameter(final CuFileSize parameter) {
        use();
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
            CuFile.check("cuFileGetParameterSizeT", api().sizeParameter(parameter.number(), value), parameter.name());
            return value.get(ValueLayout.JAVA_LONG, 0);
        } finally {
            references.release();
        }
    }

    /**
     * A switch in force.
     *
     * @param parameter which.
     * @return its value.
     */
    public boolean parameter(final CuFileFlag parameter) {
        use();
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment value = arena.allocate(ValueLayout.JAVA_BYTE);
            CuFile.check("cuFileGetParameterBool", api().flagParameter(parameter.number(), value), parameter.name());
            return value.get(ValueLayout.JAVA_BYTE, 0) != 0;
        } finally {
            references.release();
        }
    }

    /**
     * A text parameter in force.
     *
     * @param parameter which.
     * @return its value.
     * @throws CuFileException when the library does not tell.
     */
    public String parameter(final CuFileText parameter) {
        use();
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment text = arena.allocate(TEXT_BYTES);
            CuFile.check("cuFileGetParameterString", api().textParameter(parameter.number(), text, TEXT_BYTES),
                parameter.name());
            return text.getString(0);
        } finally {
            references.release();
        }
    }

    /**
     * Goes on only with live memory of a device, within one allocation: what an entry of a batch must be.
     *
     * @param address  where a range starts.
     * @param byteSize its length.
     * @throws IllegalArgumentException with address, what was found and remedy.
     */
    public void requireMemory(final long address, final long byteSize) {
        cuFile.requireMemory(address, byteSize);
    }

    @Override
    public void close() {
        references.close();
    }

    CuFileApi api() {
        return cuFile.api();
    }

    PosixPool pool() {
        return opened.pool;
    }

    /** A share for something made with this one, to be given back with {@link #giveBack()}. */
    void share() {
        use();
        try {
            cuFile.retain();
        } finally {
            references.release();
        }
    }

    void giveBack() {
        cuFile.release();
    }

    private void use() {
        if (!references.tryAcquire()) {
            throw new IllegalStateException("the cuFile driver is closed");
        }
    }
}
