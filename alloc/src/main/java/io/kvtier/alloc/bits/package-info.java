/**
 * Atomic words and the map of two-bit unit codes that every allocator of this module is built on.
 *
 * <p>Here belongs what changes a shared word by compare-and-set; where to look for space, and what a unit is worth, is
 * the business of the allocators. Nothing outside this module may call it, hence it is not exported. Every class is
 * thread-safe unless it says otherwise, none blocks in the kernel, and none allocates on the Java heap after
 * construction.
 */
package io.kvtier.alloc.bits;
