/**
 * Calls of small messages over a connection: frames, handshake, server and client. {@code transport/RPC.md} is the
 * protocol.
 *
 * <p>Nothing here knows what a method means: it is a number, and its request and reply are bytes. Bulk data belongs to
 * the transports.
 */
package io.kvtier.transport.rpc;
