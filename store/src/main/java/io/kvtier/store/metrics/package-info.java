/**
 * Metrics of a master as Prometheus reads them: counters of requests, and gauges pulled from the master's own counters
 * when somebody asks, written by Prometheus' own library. Names are those of the system that this store follows where
 * the thing is the same; names of what only exists here begin with {@code kvtier_}.
 *
 * <p>Counting is done by whoever carries out requests, on any thread; nothing here changes the master's state.
 */
package io.kvtier.store.metrics;
