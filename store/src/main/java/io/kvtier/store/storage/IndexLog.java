package io.kvtier.store.storage;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.FileOpener;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import org.agrona.CloseHelper;

/**
 * The index on disk: an append-only log of records behind a header, rewritten when most of it is dead.
 *
 * <pre>
 *   0   8 bytes  magic of the format    16  16 bytes storage id of the backing file
 *   8   4 bytes  format version         32  8 bytes  generation of the backing file, where it has one
 *   12  4 bytes  0                      32 or 40     4 bytes CRC-32C of all before it
 *                                       64           records
 * </pre>
 *
 * <p>A record counts when it was written whole; the first one that was not ends the log, as zeros do that were written
 * ahead. An append that failed leaves
 * bytes behind that may or may not count after a crash, so the log is then rewritten to a new file before anything else
 * is appended: until that has happened, {@link #isDamaged()}.
 *
 * <p><b>Threading:</b> one thread at a time; the owner says which. <b>Blocking:</b> on the disk.
 *
 * @param <R> a record.
 * @param <V> a value that records tell of.
 */
final class IndexLog<R, V> implements AutoCloseable {
    static final String FILE_NAME = "index.log";

    private static final System.Logger LOG = System.getLogger(IndexLog.class.getName());
    private static final int HEADER_BYTES = 64;
    private static final int OFFSET_VERSION = 8;
    private static final int OFFSET_ID = 16;
    private static final int OFFSET_GENERATION = 32;
    /** Records are written in pieces of about this size. */
    private static final int CHUNK_BYTES = 1 << 20;
    /** A log below this is never rewritten for its dead records alone. */
    private static final long SMALL_BYTES = 1 << 20;
    private static final long GROWTH = 4;
    /** The log is read through a window of this size, many times the largest record. */
    private static final int WINDOW_BYTES = 4 << 20;

    private final Path path;
    private final IndexFormat<R, V> format;
    private final UUID storageId;
    private final long generation;
    private final FileOpener opener;
    private final DurableNames names;
    private BlockFile file;
    private long end;
    private long rewrittenEnd;
    private long zeroedEnd;
    private boolean damaged;

    private IndexLog(final Path path, final IndexFormat<R, V> format, final UUID storageId, final long generation,
        final FileOpener opener) {
        this.path = path;
        this.format = format;
        this.storageId = storageId;
        this.generation = generation;
        this.opener = opener;
        this.names = DurableNames.of(opener);
    }

    /** A log, and what it said when all of it had been read. */
    record Opened<R, V>(IndexLog<R, V> log, List<V> values) {
    }

    /**
     * Opens the log of a directory and reads it, or makes an empty one; either way it is written anew.
     *
     * @param directory where.
     * @param storageId of the backing file.
     * @param opener    opens files.
     * @return the log and the live values, least recently stored first.
     */
    static Opened<IndexRecord, StoredValue> open(final Path directory, final UUID storageId, final FileOpener opener) {
        return open(directory.resolve(FILE_NAME), IndexRecord.FORMAT, storageId, 0, opener);
    }

    /**
     * Opens a log and reads it, or makes an empty one; either way it is written anew. One that is there is gone on with
     * as it is where the disk is full: who opens it may have room to give back.
     *
     * @param path       where.
     * @param format     of its records.
     * @param storageId  of the backing file.
     * @param generation of the backing file; 0 where it has none.
     * @param opener     opens files.
     * @param <R>        a record.
     * @param <V>        a value that records tell of.
     * @return the log and the live values, least recently stored first.
     * @throws StoreException FILE_OPEN_FAIL when it is not a log of this format and file, or has a record that means
     *                        nothing; it is left as it is.
     */
    static <R, V> Opened<R, V> open(final Path path, final IndexFormat<R, V> format, final UUID storageId,
        final long generation, final FileOpener opener) {
        final IndexLog<R, V> log = new IndexLog<>(path, format, storageId, generation, opener);
        log.names.deleteIfExists(DurableNames.temporary(log.path));
        final boolean there = Files.exists(log.path);
        final List<V> values = there ? log.read() : List.of();
        try {
            log.rewrite(values);
        } catch (final ErrnoException e) {
            if (!there || log.damaged || !e.isOutOfSpace()) {
                throw e;
            }
            LOG.log(System.Logger.Level.WARNING, "index log {0} could not be rewritten and is gone on with as it is, "
                + "until there is room on the disk: {1}", log.path, e.getMessage());
            log.keepOld();
        }
        return new Opened<>(log, values);
    }

    /**
     * Goes on with the file that was read. What of it the disk has is unknown, since another process may have died
     * writing it: all of it is written over in place, which takes no room, the records with themselves and what follows
     * them with zeros, so that nothing of it is taken for a record behind one that is appended.
     */
    private void keepOld() {
        final BlockFile old = opener.open(path.toString(), OpenMode.READ_WRITE);
        boolean done = false;
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment window = arena.allocate(WINDOW_BYTES);
            long at = 0;
            for (long read = BlockIo.readFully(old, window, at); read > 0; read = BlockIo.readFully(old, window, at)) {
                final long records = Math.clamp(end - at, 0, read);
                window.asSlice(records, read - records).fill((byte) 0);
                BlockIo.writeFully(old, window.asSlice(0, read), at);
                at += read;
            }
            old.sync();
            zeroedEnd = at;
            file = old;
            done = true;
        } finally {
            if (!done) {
                old.close();
            }
        }
    }

    /**
     * Appends records: they count after a crash of the process, after {@link #sync()} also after one of the machine.
     *
     * @param records what happened.
     * @throws NativeException when they could not be written; the log is damaged then.
     */
    void append(final List<R> records) {
        if (damaged) {
            throw new IllegalStateException("the index log is damaged; rewrite it first");
        }
        damaged = true;
        // In parts, since a record is much shorter than the longest may be, and there may be very many.
        final int most = Math.max(1, CHUNK_BYTES / format.maxBytes());
        for (int from = 0; from < records.size(); from += most) {
            final List<R> part = records.subList(from, Math.min(records.size(), from + most));
            final long reach = end + (long) part.size() * format.maxBytes();
            if (reach > zeroedEnd) {
                zeroedEnd = zero(file, zeroedEnd, reach);
            }
            end = write(file, end, part);
        }
        damaged = false;
    }

    /**
     * Takes room on the disk for records to come, so that they can be appended when it is full. What cannot be had is
     * not missed before it is needed.
     *
     * @param bytes of records.
     */
    void reserve(final long bytes) {
        if (damaged || end + bytes <= zeroedEnd) {
            return;
        }
        try {
            zeroedEnd = zero(file, zeroedEnd, end + bytes);
        } catch (final NativeException e) {
            LOG.log(System.Logger.Level.DEBUG, "index log {0} has no room ahead: {1}", path, e.getMessage());
        }
    }

    /** Makes what was appended durable. A refusal damages the log: what the kernel still holds of it is unknown. */
    void sync() {
        damaged = true;
        file.sync();
        damaged = false;
    }

    /** Where it is. */
    Path path() {
        return path;
    }

    boolean isDamaged() {
        return damaged;
    }

    /** Whether the log has grown so much since it was last rewritten that doing so again costs little a record. */
    boolean isWorthRewriting() {
        return end > SMALL_BYTES && end > GROWTH * rewrittenEnd;
    }

    /**
     * Replaces the log by one that has only these values, durably. Where that fails before the new one has taken the
     * place of the old one, the old one is as it was, damaged or not.
     *
     * @param values the live ones, in the order in which they shall be read again.
     */
    void rewrite(final Collection<V> values) {
        final Path temporary = DurableNames.temporary(path);
        names.deleteIfExists(temporary);
        final BlockFile fresh = opener.open(temporary.toString(), OpenMode.CREATE_NEW);
        boolean done = false;
        try {
            writeHeader(fresh);
            final long freshEnd = write(fresh, HEADER_BYTES, values.stream().map(format::stored).toList());
            fresh.sync();
            // Until the rename is durable nobody knows which of the two files a crash would leave. Before it the old
            // log is as good as it was: on a full disk it is gone on with.
            damaged = true;
            names.rename(temporary, path);
            done = true;
            final BlockFile old = file;
            file = fresh;
            end = freshEnd;
            rewrittenEnd = freshEnd;
            zeroedEnd = freshEnd;
            damaged = false;
            CloseHelper.quietClose(old);
        } finally {
            if (!done) {
                fresh.close();
                names.deleteIfExists(temporary);
            }
        }
    }

    @Override
    public void close() {
        if (file != null) {
            file.close();
        }
    }

    private List<V> read() {
        final IndexFormat.Replay<R, V> replay = format.replay();
        try (BlockFile old = opener.open(path.toString(), OpenMode.READ); Arena arena = Arena.ofConfined()) {
            final MemorySegment window = arena.allocate(WINDOW_BYTES);
            checkHeader(fill(old, window, 0));
            final long readEnd = replay(old, window, replay);
            end = readEnd;
            if (readEnd < old.size() && !endsInZeros(fill(old, window, readEnd))) {
                LOG.log(System.Logger.Level.WARNING, "index log {0}: the last {1} bytes were not written whole and are "
                    + "left out", path, old.size() - readEnd);
            }
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_READ_FAIL, "cannot read index log " + path, e);
        }
        return replay.live();
    }

    /** Applies every whole record; returns where the log ends. */
    private long replay(final BlockFile old, final MemorySegment window, final IndexFormat.Replay<R, V> replay) {
        long at = HEADER_BYTES;
        while (true) {
            final ByteBuffer buffer = fill(old, window, at);
            for (R next = decode(buffer, at); next != null; next = decode(buffer, at)) {
                replay.apply(next);
            }
            if (buffer.position() == 0) {
                return at;
            }
            at += buffer.position();
        }
    }

    private R decode(final ByteBuffer buffer, final long at) {
        try {
            return format.decode(buffer);
        } catch (final IllegalArgumentException e) {
            throw refused("has a record at byte " + (at + buffer.position()) + " that means nothing here: "
                + e.getMessage());
        }
    }

    /** Zeros were written ahead of records that never came. */
    private static boolean endsInZeros(final ByteBuffer rest) {
        return rest.remaining() < Integer.BYTES || rest.getInt(0) == 0;
    }

    private static ByteBuffer fill(final BlockFile old, final MemorySegment window, final long at) {
        final long count = BlockIo.readFully(old, window, at);
        return window.asSlice(0, count).asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    }

    private long write(final BlockFile target, final long start, final List<R> records) {
        long at = start;
        try (Arena arena = Arena.ofConfined()) {
            final long room = Math.min(CHUNK_BYTES, (long) records.size() * format.maxBytes());
            final MemorySegment chunk = arena.allocate(Math.max(room, format.maxBytes()));
            final ByteBuffer buffer = chunk.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
            for (final R next : records) {
                if (buffer.remaining() < format.maxBytes()) {
                    at = flush(target, chunk, buffer, at);
                }
                format.encode(next, buffer);
            }
            return flush(target, chunk, buffer, at);
        }
    }

    /**
     * Writes zeros ahead of the records. A record that then overwrites them changes neither the file's size nor its
     * blocks, so that making it durable needs no commit of the file system's journal, which is half of the cost.
     */
    private static long zero(final BlockFile target, final long from, final long reach) {
        final long upTo = (reach / CHUNK_BYTES + 1) * CHUNK_BYTES;
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment zeros = arena.allocate(upTo - from);
            BlockIo.writeFully(target, zeros, from);
        }
        return upTo;
    }

    private static long flush(final BlockFile target, final MemorySegment chunk, final ByteBuffer buffer,
        final long at) {
        final int length = buffer.position();
        if (length > 0) {
            BlockIo.writeFully(target, chunk.asSlice(0, length), at);
        }
        buffer.clear();
        return at + length;
    }

    private void writeHeader(final BlockFile target) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment memory = arena.allocate(HEADER_BYTES);
            final ByteBuffer header = memory.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
            header.putLong(0, format.magic()).putInt(OFFSET_VERSION, format.version());
            header.putLong(OFFSET_ID, storageId.getMostSignificantBits());
            header.putLong(OFFSET_ID + Long.BYTES, storageId.getLeastSignificantBits());
            if (generation != 0) {
                header.putLong(OFFSET_GENERATION, generation);
            }
            header.putInt(checksumOffset(), crc(header));
            BlockIo.writeFully(target, memory, 0);
        }
    }

    private void checkHeader(final ByteBuffer header) {
        if (header.remaining() < HEADER_BYTES || header.getLong(0) != format.magic()) {
            throw refused("is not an index log of this store");
        }
        if (header.getInt(OFFSET_VERSION) != format.version()) {
            throw refused("has format version " + header.getInt(OFFSET_VERSION) + ", this release reads version "
                + format.version());
        }
        if (header.getInt(checksumOffset()) != crc(header)) {
            throw refused("has a damaged header");
        }
        final UUID id = new UUID(header.getLong(OFFSET_ID), header.getLong(OFFSET_ID + Long.BYTES));
        if (!id.equals(storageId)) {
            throw refused("belongs to storage " + id + ", the backing file beside it is " + storageId);
        }
        if (generation != 0 && header.getLong(OFFSET_GENERATION) != generation) {
            throw refused("belongs to generation " + header.getLong(OFFSET_GENERATION) + ", the backing file beside it "
                + "is generation " + generation);
        }
    }

    private int checksumOffset() {
        return OFFSET_GENERATION + (generation != 0 ? Long.BYTES : 0);
    }

    private int crc(final ByteBuffer header) {
        return Crc32c.of(header.slice(0, checksumOffset()));
    }

    private StoreException refused(final String why) {
        return new StoreException(ErrorCode.FILE_OPEN_FAIL, "index log " + path + ' ' + why
            + "; use another directory, or delete this one's files to start empty");
    }
}
