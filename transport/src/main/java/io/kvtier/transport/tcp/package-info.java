/**
 * Segments of another process over TCP: one-sided reads and writes, straight from and into the memory of both ends.
 *
 * <p>{@link io.kvtier.transport.tcp.TcpTransport} is the client, {@link io.kvtier.transport.tcp.SegmentServer} the
 * server; {@code transport/PROTOCOL.md} is what they say to each other.
 *
 * <p><b>Threading:</b> a few platform threads, each with a selector ({@code Loop}), own connections for life. Only the
 * owner reads, writes and closes a connection, and only it touches the memory that is moved over it, so a slice can be
 * ended whenever its owner likes: nobody else is inside a call with its memory. Anything that other threads want is put
 * into the loop's inbox. Platform threads, because a loop is nearly always runnable while bytes move, and a virtual
 * thread for each connection adds a poller and a carrier to each wake-up.
 */
package io.kvtier.transport.tcp;
