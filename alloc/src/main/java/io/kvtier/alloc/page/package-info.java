/**
 * The allocator of pages of one size, alone or in contiguous runs.
 *
 * <p>It counts in pages and never touches them; what a page is and how long it is, its owner knows. Extents of mixed
 * sizes belong to {@code io.kvtier.alloc.extent}. Everything here may be called by any number of threads; no call
 * blocks in the kernel.
 */
package io.kvtier.alloc.page;
