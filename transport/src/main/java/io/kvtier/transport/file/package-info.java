/**
 * Files through the C library: positional reads and writes, past the page cache where the file system can.
 *
 * <p>The transport owns its descriptors, its threads and its staging memory. Alignment is dealt with here and nowhere
 * above: any address, offset and length works.
 */
package io.kvtier.transport.file;
