package io.kvtier.store.cli;

import io.kvtier.store.config.MasterConfig;
import io.kvtier.transport.HostPort;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;

/** Where a master listens, in terms of the options that say so. */
final class MasterAddresses {
    private MasterAddresses() {
    }

    /** The address of calls. */
    static InetSocketAddress rpc(final MasterConfig config) {
        final MasterConfig.Rpc rpc = config.rpc();
        final InetAddress address = rpc.interfaceName().isEmpty() ? resolve("rpc_address", rpc.address())
            : ofInterface(rpc.interfaceName());
        final MasterConfig.Security security = config.security();
        if (!address.isLoopbackAddress() && security.keystore().isEmpty() && security.secretFile().isEmpty()
            && !security.insecure()) {
            throw new IllegalArgumentException((rpc.interfaceName().isEmpty() ? "rpc_address is " + rpc.address()
                : "rpc_interface is " + rpc.interfaceName()) + ", which is beyond loopback: give secret_file or "
                + "tls_keystore, or say insecure when neither is wanted");
        }
        return new InetSocketAddress(address, rpc.port());
    }

    /** The address of HTTP. */
    static InetSocketAddress http(final MasterConfig config) {
        final InetAddress address = resolve("metrics_host", config.http().address());
        final MasterConfig.Security security = config.security();
        if (!address.isLoopbackAddress() && security.keystore().isEmpty() && security.adminTokenFile().isEmpty()
            && !security.insecure()) {
            throw new IllegalArgumentException("metrics_host is " + config.http().address() + ", which is beyond "
                + "loopback: give admin_token_file or tls_keystore, or say insecure when neither is wanted");
        }
        return new InetSocketAddress(address, config.http().port());
    }

    /** An address with the port that was really taken, as it stands in a URL. */
    static String text(final InetSocketAddress address, final int port) {
        return new HostPort(address.getAddress().getHostAddress(), port).toString();
    }

    private static InetAddress resolve(final String option, final String host) {
        try {
            return InetAddress.getByName(host);
        } catch (final UnknownHostException e) {
            throw new IllegalArgumentException(option + " is " + host + ": that host is not known", e);
        }
    }

    private static InetAddress ofInterface(final String name) {
        try {
            final NetworkInterface device = NetworkInterface.getByName(name);
            if (device == null) {
                throw new IllegalArgumentException("rpc_interface is " + name + ": there is no such interface; there "
                    + "are " + String.join(", ", NetworkInterface.networkInterfaces().map(NetworkInterface::getName)
                        .toList()));
            }
            return device.inetAddresses().filter(Inet4Address.class::isInstance).findFirst().orElseThrow(() ->
                new IllegalArgumentException("rpc_interface is " + name + ": it has no IPv4 address"));
        } catch (final SocketException e) {
            throw new IllegalArgumentException("rpc_interface is " + name + ": " + e.getMessage(), e);
        }
    }
}
