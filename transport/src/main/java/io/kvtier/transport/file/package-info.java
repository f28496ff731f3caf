/**
 * Files: by positional reads and writes of the C library, and by io_uring; past the page cache where the file system
 * can.
 *
 * <p>The transports own their descriptors, their threads and their staging memory. Alignment is dealt with here and
 * nowhere above: any address, offset and length works. Both follow the same plan of operations, {@code AlignedIo}; the
 * one with calls that block, the other with operations of rings, each of which belongs to a thread.
 */
package io.kvtier.transport.file;
