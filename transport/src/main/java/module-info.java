/**
 * The transfer engine: bytes from here to there. It knows no key and no replica.
 */
module io.kvtier.transport {
    requires transitive io.kvtier.alloc;
    requires jdk.jfr;
    requires msgpack.core;

    exports io.kvtier.transport;
    exports io.kvtier.transport.device;
    exports io.kvtier.transport.file;
    exports io.kvtier.transport.gds;
    exports io.kvtier.transport.memory;
    exports io.kvtier.transport.rpc;
    exports io.kvtier.transport.shm;
    exports io.kvtier.transport.tcp;
}
