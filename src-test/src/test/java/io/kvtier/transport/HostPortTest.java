package io.kvtier.transport;

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

/** Addresses of servers as people and processes write them. */
class HostPortTest {
    @ParameterizedTest
    @CsvSource({"10.1.2.3:50051, 10.1.2.3, 50051", "node-7.example:1, node-7.example, 1",
        "localhost:080, localhost, 80",
        "[::1]:50051, ::1, 50051", "[::1]:65535, ::1, 65535", "[2001:db8::7]:9003, 2001:db8::7, 9003",
        "[fe80::1%eth0]:80, fe80::1%eth0, 80"})
    void shouldReadAddressesOfEitherKind(final String text, final String host, final int port) {
        assertEquals(new HostPort(host, port), HostPort.parse(text));
        assertEquals(new HostPort(host, port), HostPort.parse(text, 4711));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ":", ":80", "[]:80", "[host]:80", "[::1", "::1]", "::1", "2001:db8::7:80", "::1:80",
        "host:", "[::1]:", "host:0", "host:-1", "host:+1", "host:65536", "host:99999999999", "host:eighty",
        "fe80::1%eth0:80", "host:80 ", "ho st:80", "tcp://host:80", "host:80/x", "host:\u0661\u0662"})
    void shouldRefuseWhatIsNoAddress(final String text) {
        for (final String message : new String[] {
            assertThrows(IllegalArgumentException.class, () -> HostPort.parse(text)).getMessage(),
            assertThrows(IllegalArgumentException.class, () -> HostPort.parse(text, 4711)).getMessage()}) {
            assertTrue(message.contains("'" + text + "'") && message.contains("[::1]:50051"), message);
        }
    }

    @ParameterizedTest
    @CsvSource({"10.1.2.3, 10.1.2.3", "node-7.example, node-7.example", "[::1], ::1"})
    void shouldTakeTheUsualPortWhereNoneIsNamed(final String text, final String host) {
        assertEquals(new HostPort(host, 50_051), HostPort.parse(text, 50_051));
        assertThrows(IllegalArgumentException.class, () -> HostPort.parse(text));
    }

    @Test
    void shouldWriteWhatItReads() throws UnknownHostException {
        final InetSocketAddress four = new InetSocketAddress(InetAddress.getByName("10.1.2.3"), 7);
        final InetSocketAddress six = new InetSocketAddress(InetAddress.getByName("2001:db8::7"), 8);
        assertEquals("10.1.2.3:7", HostPort.of(null, four).toString());
        assertEquals("node-7:7", HostPort.of("node-7", four).toString());
        assertEquals("[::1]:8", HostPort.of("::1", six).toString());
        assertEquals(new HostPort("2001:db8:0:0:0:0:0:7", 8), HostPort.parse(HostPort.of(null, six).toString()));
    }

    @Test
    void shouldRefusePartsThatMakeNoAddress() {
        assertEquals("the port is 65536; it must be from 1 to 65535",
            assertThrows(IllegalArgumentException.class, () -> new HostPort("h", 65_536)).getMessage());
        assertEquals("the host is empty; give a name or an address",
            assertThrows(IllegalArgumentException.class, () -> new HostPort("", 1)).getMessage());
    }
}
