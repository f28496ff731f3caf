package io.kvtier.bindings.cufile;

/** A stream that nothing is in, and that counts who holds it and how often it is waited for. One thread. */
final class CountedStream implements HeldStream {
    static final long HANDLE = 0xabc0;

    private int held;
    private int waits;
    private RuntimeException failure;

    CountedStream hold() {
        held++;
        return this;
    }

    /** Lets waiting throw. */
    void fail(final RuntimeException thrown) {
        failure = thrown;
    }

    int held() {
        return held;
    }

    int waits() {
        return waits;
    }

    @Override
    public long handle() {
        return HANDLE;
    }

    @Override
    public void await() {
        waits++;
        if (failure != null) {
            throw failure;
        }
    }

    @Override
    public void release() {
        held--;
    }
}
