package io.kvtier.transport.tcp;

/** Validation of settings; apart from them, because they have defaults that are made of one another. */
final class Bounds {
    private Bounds() {
    }

    static void check(final String name, final long value, final long least, final long most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(name + " is " + value + "; it must be from " + least + " to " + most);
        }
    }
}
