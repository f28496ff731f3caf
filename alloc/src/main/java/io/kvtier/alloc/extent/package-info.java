/**
 * The allocator of byte extents of any size over a space that lies elsewhere: on a disk, in a region, in a remote
 * segment.
 *
 * <p>It hands out offsets and remembers exactly which are taken; it never touches the space itself, and knows nothing
 * of what is stored there. Pages of one fixed size belong to {@code io.kvtier.alloc.page}. Everything here may be
 * called by any number of threads; no call blocks in the kernel.
 */
package io.kvtier.alloc.extent;
