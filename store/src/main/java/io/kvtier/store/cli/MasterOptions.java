package io.kvtier.store.cli;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.config.MasterOption;
import io.kvtier.store.config.SecurityFiles;
import io.kvtier.transport.HostPort;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** How a command reaches the master: options that all clients have. */
final class MasterOptions {
    @Option(names = "--master", paramLabel = "HOST:PORT", defaultValue = "127.0.0.1:" + MasterOption.USUAL_RPC_PORT,
        description = "Where the master takes calls (default: ${DEFAULT-VALUE}).")
    private String master;

    @Option(names = "--tenant", paramLabel = "NAME", defaultValue = ObjectKey.DEFAULT_TENANT,
        description = "Whose keys are meant (default: ${DEFAULT-VALUE}).")
    private String tenant;

    @Option(names = "--secret-file", paramLabel = "FILE",
        description = "First line: the secret that all processes of the store share.")
    private Path secretFile;

    @Option(names = "--tls-keystore", paramLabel = "FILE",
        description = "PKCS #12 with this process's key and certificate; calls then go over TLS. A node needs one, "
            + "others where the master asks for it (its tls_truststore).")
    private Path keystore;

    @Option(names = "--tls-password-file", paramLabel = "FILE",
        description = "First line: the word that opens both stores of certificates.")
    private Path passwordFile;

    @Option(names = "--tls-truststore", paramLabel = "FILE",
        description = "PKCS #12 with the certificates that the others' are signed by; calls then go over TLS. "
            + "Without it those that the JDK trusts.")
    private Path truststore;

    @Option(names = "--no-shm", description = "Do not use memory that processes of this host share.")
    private boolean noShm;

    @Option(names = "--rpc-timeout-ms", paramLabel = "MS", defaultValue = "" + ConnectConfig.DEFAULT_RPC_TIMEOUT_MS,
        description = "Time for a call (default: ${DEFAULT-VALUE}).")
    private long rpcTimeoutMs;

    @Option(names = "--transfer-timeout-ms", paramLabel = "MS",
        defaultValue = "" + ConnectConfig.DEFAULT_TRANSFER_TIMEOUT_MS,
        description = "Time for the bytes of one value (default: ${DEFAULT-VALUE}).")
    private long transferTimeoutMs;

    MasterOptions() {
        // Filled by picocli.
    }

    String tenant() {
        return tenant;
    }

    /** Whether calls go over TLS and this process has no certificate: then nobody can call it. */
    boolean isNameless() {
        return truststore != null && keystore == null;
    }

    /**
     * Settings to go on with.
     *
     * @throws IllegalArgumentException naming the option that is wrong.
     */
    ConnectConfig.Builder config() {
        final ConnectConfig.Builder config = ConnectConfig.builder(address());
        if (secretFile != null) {
            config.secret(SecurityFiles.secret(secretFile));
        }
        if (keystore != null || truststore != null) {
            if (passwordFile == null) {
                throw new IllegalArgumentException((keystore == null ? "--tls-truststore" : "--tls-keystore")
                    + " needs --tls-password-file");
            }
            config.tls(SecurityFiles.tls(keystore, passwordFile, truststore));
        }
        return config.tenant(tenant).shm(!noShm).timeouts(rpcTimeoutMs, transferTimeoutMs);
    }

    private HostPort address() {
        try {
            return HostPort.parse(master, MasterOption.USUAL_RPC_PORT);
        } catch (final IllegalArgumentException e) {
            throw new IllegalArgumentException("--master: " + e.getMessage(), e);
        }
    }
}
