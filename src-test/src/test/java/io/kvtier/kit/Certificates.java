package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Self-signed certificates for localhost, made by the JDK's keytool. */
public final class Certificates {
    /** Opens the stores. */
    public static final String PASSWORD = "changeit-please";

    private Certificates() {
    }

    /** A PKCS #12 file with a key and its certificate, for the name and addresses of this host's loopback. */
    public static Path pair(final Path directory, final String name) throws IOException, InterruptedException {
        final Path store = directory.resolve(name + ".p12");
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
        command.addAll(List.of("-genkeypair", "-alias", name, "-keyalg", "EC", "-dname", "CN=" + name, "-ext",
            "san=dns:localhost,ip:127.0.0.1", "-validity", "100", "-keystore", store.toString(), "-storepass",
            PASSWORD));
        final Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
        final String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, keytool.waitFor(), said);
        return store;
    }

    /** A context that shows one pair, or none for null, and trusts another. */
    public static SSLContext context(final Path own, final Path trusted) throws IOException, GeneralSecurityException {
        final KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(own == null ? null : load(own), PASSWORD.toCharArray());
        final TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(load(trusted));
        final SSLContext context = SSLContext.getInstance("TLS");
        context.init(own == null ? null : keys.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }

    private static KeyStore load(final Path path) throws IOException, GeneralSecurityException {
        final KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(path)) {
            store.load(in, PASSWORD.toCharArray());
        }
        return store;
    }
}
