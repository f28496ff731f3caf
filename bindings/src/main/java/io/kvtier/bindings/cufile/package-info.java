/**
 * Owners over cuFile, the library of GPUDirect Storage: the driver, files and memory registered with it, batches,
 * stream transfers, parameters and statistics.
 *
 * <p>The owners stand on the interface {@link io.kvtier.bindings.cufile.CuFileApi}, behind which is either the library
 * (through generated calls in {@code .gen}, not exported) or a simulation of it in tests. Policy (which tier, how
 * many batches, fallbacks) does not belong here. Threads that pass device memory to cuFile must have a CUDA context
 * current. Everything loads on a machine without the library.
 */
package io.kvtier.bindings.cufile;
