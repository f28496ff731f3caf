/**
 * Owners over USRBIO, the way past FUSE of the 3FS file system ({@code libhf3fs_api_shared.so}): shared memory, rings,
 * registered files, and over them {@link io.kvtier.bindings.hf3fs.UsrbioChannel}, which reads and writes ranges of
 * files.
 *
 * <p>The library checks little and ends the process where it does: what would crash, corrupt or never return is refused
 * here before the call, by the rules that each owner states. Which files there are, when they are made durable and what
 * is tried after an error does not belong here. Every call but the queries may block: use platform threads. Everything
 * loads on a machine without the library.
 */
package io.kvtier.bindings.hf3fs;
