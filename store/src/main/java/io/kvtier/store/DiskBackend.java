package io.kvtier.store;

/** How the values of a disk lie in files; {@code store/FORMAT.md} draws each. */
public enum DiskBackend {
    /** One file, reserved when it is made; every value has an extent in it. */
    OFFSET_ALLOCATOR("offset_allocator_storage_backend"),
    /** Files of up to 256 MiB or 500 values, each written once, with those that were stored together. */
    BUCKET("bucket_storage_backend"),
    /** A file a value. */
    FILE_PER_KEY("file_per_key_storage_backend");

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
}
