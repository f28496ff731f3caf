package io.kvtier.store.protocol.wire;

import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.rpc.MessageWriter;

/**
 * Segments whose addresses were written or read lately, with the bytes of their addresses: replicas of one segment
 * share one object, and its text and token are neither encoded nor decoded for each of them.
 *
 * <p>A slot holds the last segment of those that fall on it; another one takes its place. What is found counts only
 * when it is the very same object (writing), or when the bytes are the very same (reading), so a slot can be out of
 * date but not wrong.
 *
 * <p><b>Threading:</b> thread-safe without locks: entries are immutable, and a reader sees one of them or none.
 */
final class AddressBook {
    private static final int SLOTS = 256;

    private final Entry[] slots = new Entry[SLOTS];

    /**
     * An address and its bytes.
     *
     * @param address  the address.
     * @param high     half of the segment's id.
     * @param low      the other half.
     * @param id       the id's bytes.
     * @param endpoint the endpoint's bytes.
     * @param token    the token's bytes.
     */
    record Entry(SegmentAddress address, long high, long low, byte[] id, byte[] endpoint, byte[] token) {
        static Entry of(final SegmentAddress address) {
            return new Entry(address, address.segmentId().getMostSignificantBits(),
                address.segmentId().getLeastSignificantBits(),
                new MessageWriter().uuid(address.segmentId()).toBytes(),
                new MessageWriter().text(address.endpoint()).toBytes(),
                new MessageWriter().bytes(address.accessToken().bytes()).toBytes());
        }
    }

    /** The bytes of an address. */
    Entry of(final SegmentAddress address) {
        final int slot = slot(address.segmentId().getMostSignificantBits(),
            address.segmentId().getLeastSignificantBits());
        final Entry known = slots[slot];
        if (known != null && known.address == address) {
            return known;
        }
        final Entry fresh = Entry.of(address);
        slots[slot] = fresh;
        return fresh;
    }

    /** What was read lately of a segment; null when nothing was. */
    Entry find(final long high, final long low) {
        final Entry known = slots[slot(high, low)];
        return known != null && known.high == high && known.low == low ? known : null;
    }

    private static int slot(final long high, final long low) {
        final long mixed = (high ^ low) * 0x9e3779b97f4a7c15L;
        return (int) (mixed >>> Long.SIZE - Integer.numberOfTrailingZeros(SLOTS));
    }
}
