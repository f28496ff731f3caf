package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Addresses of servers as clients write them. */
class HostPortTest {
    @ParameterizedTest
    @CsvSource({"10.1.2.3:50051, 10.1.2.3, 50051", "node-7.example:1, node-7.example, 1",
        "[::1]:65535, ::1, 65535", "[2001:db8::7]:9003, 2001:db8::7, 9003", "[fe80::1%eth0]:80, fe80::1%eth0, 80"})
    void shouldReadAddressesOfEitherKind(final String text, final String host, final int port) {
        assertEquals(new HostPort(host, port), HostPort.parse(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ":", "host", "host:", ":80", "[]:80", "[::1]", "[::1", "::1", "2001:db8::7:80",
        "::1:80", "host:0", "host:-1", "host:65536", "host:eighty", "fe80::1%eth0:80", "host:80 "})
    void shouldRefuseWhatDoesNotSayBoth(final String text) {
        final String message = assertThrows(IllegalArgumentException.class, () -> HostPort.parse(text)).getMessage();
        assertTrue(message.contains("'" + text + "'") && message.contains("[::1]:50051"), message);
    }

    @Test
    void shouldWriteWhatItReads() throws UnknownHostException {
        final InetSocketAddress four = new InetSocketAddress(InetAddress.getByName("10.1.2.3"), 7);
        final InetSocketAddress six = new InetSocketAddress(InetAddress.getByName("2001:db8::7"), 8);
        assertEquals("10.1.2.3:7", HostPort.of(null, four));
        assertEquals("node-7:7", HostPort.of("node-7", four));
        assertEquals("[::1]:8", HostPort.of("::1", six));
        assertEquals(new HostPort("2001:db8:0:0:0:0:0:7", 8), HostPort.parse(HostPort.of(null, six)));
    }
}
