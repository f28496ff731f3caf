/**
 * Who owns which bytes: memory regions, and lock-free allocators of pages and extents.
 */
module io.kvtier.alloc {
    requires transitive io.kvtier.bindings;
    requires org.agrona;

    exports io.kvtier.alloc;
    exports io.kvtier.alloc.extent;
    exports io.kvtier.alloc.page;
}
