/**
 * The store: what is kept, where, for how long. A service uses {@link io.kvtier.store.Store} and nothing below it.
 */
module io.kvtier.store {
    requires transitive io.kvtier.transport;
    requires org.agrona;
    requires zero.allocation.hashing;
    requires com.fasterxml.jackson.core;
    // The command line's libraries; a service that embeds the store runs without them.
    requires static aircompressor.v3;
    requires static info.picocli;
    requires static HdrHistogram;
    requires static java.management;
    requires static jdk.management;
    requires static me.tongfei.progressbar;
    requires static org.snakeyaml.engine;
    requires static io.prometheus.metrics.config;
    requires static io.prometheus.metrics.model;
    requires static io.prometheus.writer.text;
    requires static jdk.httpserver;
    requires static java.net.http;
    requires static java.xml;

    exports io.kvtier.store;
    exports io.kvtier.store.config;
    exports io.kvtier.store.replica;

    uses io.kvtier.store.StoreProvider;
    provides io.kvtier.store.StoreProvider with io.kvtier.store.client.ClientStoreProvider;

    opens io.kvtier.store.cli to info.picocli;
}
