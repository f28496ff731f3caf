/**
 * The C library: files, memory mappings and terminals, 64-bit everywhere, errno captured by the call itself.
 *
 * <p>{@link io.kvtier.bindings.posix.PosixFile} owns a descriptor and
 * {@link io.kvtier.bindings.posix.Mapping} an address range; raw numbers do not leave this package, except the
 * descriptor that another binding needs. Retry on EINTR and continuation of short transfers live in
 * {@link io.kvtier.bindings.posix.BlockIo} and nowhere else. Calls block on the disk: run them on platform threads,
 * since a virtual thread pins its carrier for the length of a native call.
 */
package io.kvtier.bindings.posix;
