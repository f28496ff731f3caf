package io.kvtier.store;

import io.kvtier.store.config.Environment;
import java.util.Arrays;
import java.util.stream.Collectors;

/** How the values of a disk lie in files; {@code store/FORMAT.md} draws each. */
public enum DiskBackend {
    /** One file, reserved when it is made; every value has an extent in it. */
    OFFSET_ALLOCATOR("offset_allocator_storage_backend"),
    /** Files of up to 256 MiB or 500 values, each written once, with those that were stored together. */
    BUCKET("bucket_storage_backend"),
    /** A file a value. */
    FILE_PER_KEY("file_per_key_storage_backend"),
    /**
     * A file a value on a file system that several hosts mount: each client has a directory of its own in the one that
     * is configured, and reads past the page cache.
     */
    DISTRIBUTED("distributed_storage_backend");

    /** The variable that says which one a store uses where its settings do not. */
    public static final String VARIABLE = "MOONCAKE_OFFLOAD_STORAGE_BACKEND_DESCRIPTOR";

    private final String configName;

    DiskBackend(final String configName) {
        this.configName = configName;
    }

    /**
     * Its name in a configuration.
     *
     * @return for example {@code bucket_storage_backend}.
     */
    public String configName() {
        return configName;
    }

    /**
     * The one of a name.
     *
     * @param name as {@link #configName()} gives it.
     * @return the backend.
     * @throws IllegalArgumentException when there is none of that name; says which there are.
     */
    public static DiskBackend of(final String name) {
        for (final DiskBackend one : values()) {
            if (one.configName.equals(name)) {
                return one;
            }
        }
        throw new IllegalArgumentException("'" + name + "' is no backend of this release; allowed is "
            + Arrays.stream(values()).map(DiskBackend::configName).collect(Collectors.joining(", ")));
    }

    /**
     * What the environment says of it.
     *
     * @param environment where {@link #VARIABLE} is looked for.
     * @return the backend; {@link #OFFSET_ALLOCATOR} when the variable is not set.
     * @throws StoreException INVALID_PARAMS, naming the variable, its value and what is allowed.
     */
    public static DiskBackend from(final Environment environment) {
        try {
            return environment.get(VARIABLE).map(DiskBackend::of).orElse(OFFSET_ALLOCATOR);
        } catch (final IllegalArgumentException e) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, VARIABLE + " is " + e.getMessage() + "; unset it for "
                + OFFSET_ALLOCATOR.configName, e);
        }
    }
}
