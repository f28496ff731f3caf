/**
 * Owners over the CUDA driver API: devices, their primary contexts, device and pinned memory, streams, events, copies.
 *
 * <p>The calls themselves are generated ({@code .gen}, not exported). A device address is a
 * {@link io.kvtier.bindings.cuda.DevicePointer}, never a memory segment. Nothing here knows files. Everything is
 * thread-safe unless its type says otherwise, and loads on a machine without CUDA.
 */
package io.kvtier.bindings.cuda;
