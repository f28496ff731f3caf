/**
 * What callers ask for: values to be read or put, the memory that they are read into or put from, of a GPU maybe, and
 * how far a get has come.
 *
 * <p>Neither replicas nor the master are reached from here. A request is of one thread; what callers register is
 * thread-safe.
 */
package io.kvtier.store.client.request;
