/**
 * The messages between a master and its clients: numbers of methods, bytes of every command and reply, and the client's
 * end ({@link io.kvtier.store.protocol.wire.RemoteMaster}).
 *
 * <p>{@code store/MESSAGES.md} is the contract; a test has recorded bytes of every message. Nothing here decides
 * anything about objects.
 */
package io.kvtier.store.protocol.wire;
