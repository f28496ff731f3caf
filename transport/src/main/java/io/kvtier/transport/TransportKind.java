package io.kvtier.transport;

import java.util.Arrays;
import java.util.Locale;

/** The transports there are, by name; a request may name one as a hint. */
public enum TransportKind {
    /** Copies between memory regions of this process. */
    MEMORY,
    /** Positional reads and writes of the C library. */
    POSIX,
    /** Files by io_uring. */
    IO_URING,
    /** Files by GPUDirect Storage. */
    GDS,
    /** Segments of another process, over a connection. */
    TCP,
    /** Memory of another process on this host. */
    SHM;

    private final String configName = name().toLowerCase(Locale.ROOT);

    /**
     * Its name in a configuration.
     *
     * @return lower case.
     */
    public String configName() {
        return configName;
    }

    /**
     * Finds a transport by its name in a configuration.
     *
     * @param name lower case, such as {@code io_uring}.
     * @return the transport.
     * @throws IllegalArgumentException when there is none of that name, naming those there are.
     */
    public static TransportKind of(final String name) {
        return Arrays.stream(values()).filter(kind -> kind.configName.equals(name)).findFirst()
            .orElseThrow(() -> new IllegalArgumentException("there is no transport '" + name + "'; there are "
                + Arrays.stream(values()).map(TransportKind::configName).toList()));
    }
}
