package io.kvtier.store.storage.shared;

import io.kvtier.alloc.BorrowedRegion;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferOptions;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** A file that a transfer engine has open. <b>Threading:</b> thread-safe. */
final class PosixSharedFile implements SharedFile {
    private final TransferEngine engine;
    private final Segment segment;
    private final String path;
    private final Object identity;

    PosixSharedFile(final TransferEngine engine, final Segment segment, final String path, final Object identity) {
        this.engine = engine;
        this.segment = segment;
        this.path = path;
        this.identity = identity;
    }

    @Override
    public String path() {
        return path;
    }

    @Override
    public Object identity() {
        return identity;
    }

    @Override
    public RangeTransfer read(final long offset, final List<MemorySegment> targets, final long timeoutMs,
        final boolean alone) {
        final Transfer transfer = engine.newTransfer();
        try {
            long at = offset;
            for (int i = 0; i < targets.size(); i++) {
                final MemorySegment target = targets.get(i);
                if (target.byteSize() > 0) {
                    transfer.read(new BorrowedRegion(target), 0, target.byteSize(), segment, at);
                }
                at += target.byteSize();
            }
            if (at == offset) {
                return RangeTransfer.NOTHING;
            }
            if (alone) {
                engine.submitAndWaitNext(transfer, TransferOptions.within(timeoutMs));
            } else {
                engine.submit(transfer, TransferOptions.within(timeoutMs));
            }
        } catch (final TransferException | IllegalStateException e) {
            return failed(ErrorCode.FILE_READ_FAIL, offset, e);
        }
        return () -> await(transfer, ErrorCode.FILE_READ_FAIL, offset);
    }

    @Override
    public RangeTransfer write(final long offset, final List<MemorySegment> sources, final long timeoutMs) {
        if (offset % FileSystemAdapter.BLOCK_BYTES != 0) {
            throw new IllegalArgumentException("offset is " + offset + "; shared files are written at multiples of "
                + FileSystemAdapter.BLOCK_BYTES);
        }
        final BlockRuns blocks = new BlockRuns(sources);
        boolean started = false;
        try {
            final Transfer transfer = engine.newTransfer();
            for (final BlockRuns.Run run : blocks.runs()) {
                transfer.write(new BorrowedRegion(run.memory()), 0, run.memory().byteSize(), segment,
                    offset + run.at());
            }
            if (blocks.runs().isEmpty()) {
                return RangeTransfer.NOTHING;
            }
            engine.submit(transfer, TransferOptions.within(timeoutMs));
            started = true;
            return () -> {
                try (blocks) {
                    await(transfer, ErrorCode.FILE_WRITE_FAIL, offset);
                }
            };
        } catch (final TransferException | IllegalStateException e) {
            return failed(ErrorCode.FILE_WRITE_FAIL, offset, e);
        } finally {
            if (!started) {
                blocks.close();
            }
        }
    }

    private RangeTransfer failed(final ErrorCode code, final long offset, final RuntimeException cause) {
        final StoreException failure = failure(code, offset, cause);
        return () -> {
            throw failure;
        };
    }

    private void await(final Transfer transfer, final ErrorCode code, final long offset) {
        try {
            transfer.await();
        } catch (final TransferException e) {
            throw failure(code, offset, e);
        }
    }

    private StoreException failure(final ErrorCode code, final long offset, final RuntimeException cause) {
        return new StoreException(code, "bytes at offset " + offset + " of " + path + " could not be "
            + (code == ErrorCode.FILE_READ_FAIL ? "read" : "written") + ": " + cause.getMessage(), cause);
    }

    @Override
    public void sync() {
        try {
            engine.sync(segment).await();
        } catch (final TransferException | IllegalStateException e) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "a sync of " + path + " failed, which may have lost "
                + "what was written: " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        segment.close();
    }
}
