/**
 * The store as its user holds it: moves the bytes, asks the master, runs the disk tier.
 *
 * <p>{@link io.kvtier.store.client.EmbeddedStore} is the entry; each other class owns one thing of it. Thread-safe
 * throughout. Nothing here decides where a value lies or how long it stays: the master does.
 */
package io.kvtier.store.client;
