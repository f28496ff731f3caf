package io.kvtier.store.client.shared;

import io.kvtier.store.client.request.ReadRequest;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ScatterGather;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.storage.BlockHash;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;

/**
 * A value that was read from a file of its own into staging memory, whole, on its way to a caller.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> gives the staging memory back when it is finished.
 */
final class KeyFileRead implements Move {
    private final Staging.Piece piece;
    private final long size;
    private final ReadRequest request;
    private final long length;
    private OptionalLong checksum = OptionalLong.empty();

    KeyFileRead(final Staging.Piece piece, final long size, final ReadRequest request, final long length) {
        this.piece = piece;
        this.size = size;
        this.request = request;
        this.length = length;
    }

    @Override
    public String finish() {
        try {
            final MemorySegment value = piece.slice().segment().asSlice(0, size);
            checksum = OptionalLong.of(BlockHash.xxh64(value));
            ScatterGather.scatter(value, request.offset(), length, request.target(length));
            return null;
        } finally {
            piece.close();
        }
    }

    @Override
    public OptionalLong checksumOfAll() {
        return checksum;
    }
}
