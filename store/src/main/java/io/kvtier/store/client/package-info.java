/**
 * The store as its user holds it: its calls, and how a store in one process and one that many share are put together.
 *
 * <p>{@link io.kvtier.store.client.EmbeddedStore} and {@link io.kvtier.store.client.ConnectedStore} are the entries;
 * what they are made of has packages of its own below, none of which imports this one. Thread-safe throughout. Nothing
 * here decides where a value lies or how long it stays: the master does.
 */
package io.kvtier.store.client;
