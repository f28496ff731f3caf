/**
 * Regions of raw memory, each with one owner.
 *
 * <p>A {@link io.kvtier.alloc.MemoryRegion} is what a segment of a transfer engine is made of and what an allocator
 * keeps its tables in; a {@link io.kvtier.alloc.RegionSlice} is a range of one, and what a transfer names. Nothing here
 * knows what the bytes mean. Regions are few and live long (closing one makes every thread pass a handshake): values
 * are offsets in them.
 */
package io.kvtier.alloc;
