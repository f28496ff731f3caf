package io.kvtier.bindings.uring;

/**
 * The operations that a ring has accepted and not handed back: a slot for each, and the order in which they ended.
 *
 * <p>What the kernel carries through an operation is a token, never reused while the ring lives, rebuilt or not:
 *
 * <pre>
 *   63                                  18 17  16 15              0
 *   +------------------------------------+------+----------------+
 *   |          sequence number           | kind |      slot      |
 *   +------------------------------------+------+----------------+
 * </pre>
 *
 * <p>A completion counts only when its token is the one that its slot waits for. So a completion that comes a second
 * time, or from before a rebuild, or that nobody asked for, is recognised and can neither end another operation nor
 * free its memory.
 *
 * <p>While an operation is open the slot refers to its memory, or to the array that names the segments of a vectored
 * one, so that the garbage collector does not free what an
 * automatic arena holds; a shared arena must be kept open by whoever owns it.
 *
 * <p><b>Threading:</b> the owner of the ring. <b>Allocation:</b> none after construction.
 */
final class Operations {
    static final int KIND_IO = 0;
    static final int KIND_WAKE = 1;
    static final int KIND_CANCEL = 2;
    static final int NONE = -1;

    private static final int SLOT_BITS = 16;
    private static final int KIND_BITS = 2;
    private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;
    private static final int KIND_MASK = (1 << KIND_BITS) - 1;
    /** No token is zero, as sequence numbers start at 1. */
    private static final long NO_TOKEN = 0;

    private final int depth;
    private final long[] tokens;
    private final long[] userData;
    private final int[] results;
    private final boolean[] cancelled;
    private final Object[] memory;
    private final UringFile[] files;
    private final RegisteredBuffer[] buffers;
    private final int[] free;
    private int freeCount;
    private final int[] ended;
    private int endedHead;
    private int endedCount;
    private long sequence;

    Operations(final int depth) {
        this.depth = depth;
        tokens = new long[depth];
        userData = new long[depth];
        results = new int[depth];
        cancelled = new boolean[depth];
        memory = new Object[depth];
        files = new UringFile[depth];
        buffers = new RegisteredBuffer[depth];
        free = new int[depth];
        ended = new int[depth];
        for (int slot = depth - 1; slot >= 0; slot--) {
            free[freeCount++] = slot;
        }
    }

    static int kind(final long token) {
        return (int) (token >>> SLOT_BITS) & KIND_MASK;
    }

    /** A token for an operation of the ring's own, which needs no slot. */
    long ownToken(final int kind) {
        return ++sequence << SLOT_BITS + KIND_BITS | (long) kind << SLOT_BITS;
    }

    /** Takes a slot, or gives {@link #NONE} when all are in use. */
    int claim(final long data, final UringFile file, final Object held, final RegisteredBuffer buffer) {
        if (freeCount == 0) {
            return NONE;
        }
        final int slot = free[--freeCount];
        tokens[slot] = ++sequence << SLOT_BITS + KIND_BITS | slot;
        userData[slot] = data;
        cancelled[slot] = false;
        memory[slot] = held;
        files[slot] = file;
        buffers[slot] = buffer;
        if (file != null) {
            file.use(1);
        }
        if (buffer != null) {
            buffer.use(1);
        }
        return slot;
    }

    long token(final int slot) {
        return tokens[slot];
    }

    /** Ends the operation that a token belongs to; false when none waits for it. */
    boolean end(final long token, final int result) {
        final int slot = (int) token & SLOT_MASK;
        if (kind(token) != KIND_IO || slot >= depth || tokens[slot] != token || token == NO_TOKEN) {
            return false;
        }
        tokens[slot] = NO_TOKEN;
        results[slot] = result;
        if (memory[slot] instanceof IoVectors.IoVector vector) {
            vector.giveBack();
        }
        memory[slot] = null;
        if (files[slot] != null) {
            files[slot].use(-1);
            files[slot] = null;
        }
        if (buffers[slot] != null) {
            buffers[slot].use(-1);
            buffers[slot] = null;
        }
        int at = endedHead + endedCount++;
        if (at >= depth) {
            at -= depth;
        }
        ended[at] = slot;
        return true;
    }

    /**
     * Hands out what ended first, and frees its slots: each before its call, so that the handler may claim it again and
     * one that throws is not called for it a second time.
     *
     * @param count at most {@link #ready}.
     */
    void handOut(final int count, final CompletionHandler handler) {
        for (int i = 0; i < count; i++) {
            final int slot = ended[endedHead];
            endedHead = endedHead + 1 == depth ? 0 : endedHead + 1;
            endedCount--;
            free[freeCount++] = slot;
            handler.completed(userData[slot], results[slot]);
        }
    }

    /** Operations that ended and were not handed out. */
    int ready() {
        return endedCount;
    }

    /** Operations that did not end. */
    int open() {
        return depth - freeCount - endedCount;
    }

    /** Operations that were not handed out, ended or not. */
    int used() {
        return depth - freeCount;
    }

    int free() {
        return freeCount;
    }

    /** The lowest open slot from one on that matches and was not asked to be cancelled; or {@link #NONE}. */
    int findOpen(final int from, final long data, final boolean any) {
        for (int slot = from; slot < depth; slot++) {
            if (tokens[slot] != NO_TOKEN && !cancelled[slot] && (any || userData[slot] == data)) {
                return slot;
            }
        }
        return NONE;
    }

    void markCancelled(final int slot) {
        cancelled[slot] = true;
    }
}
