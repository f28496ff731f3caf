package io.kvtier.store;

/** What a value is, for those who look at the store; the store itself treats all alike. Numbers are stable. */
public enum DataType {
    /** Nothing was said. */
    UNKNOWN(0),
    /** Blocks of a KV cache. */
    KVCACHE(1),
    /** A tensor. */
    TENSOR(2),
    /** Weights of a model. */
    WEIGHT(3),
    /** A sample. */
    SAMPLE(4),
    /** An activation. */
    ACTIVATION(5),
    /** A gradient. */
    GRADIENT(6),
    /** The state of an optimizer. */
    OPTIMIZER_STATE(7),
    /** Data about data. */
    METADATA(8),
    /** Anything else. */
    GENERAL(9);

    private static final DataType[] BY_NUMBER = values();

    private final int number;

    DataType(final int number) {
        this.number = number;
    }

    /**
     * The stable number.
     *
     * @return 0 to 9.
     */
    public int number() {
        return number;
    }

    /**
     * The type with a number.
     *
     * @param number any; a later version may know more.
     * @return the type, {@link #UNKNOWN} for a number that this version does not know.
     */
    public static DataType of(final int number) {
        return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : UNKNOWN;
    }
}
