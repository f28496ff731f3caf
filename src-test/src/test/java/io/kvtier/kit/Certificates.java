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

/** Certificates for localhost, made by the JDK's keytool. */
public final class Certificates {
    /** Opens the stores. */
    public static final String PASSWORD = "changeit-please";

    private Certificates() {
    }

    /** A PKCS #12 file with a key and its certificate, for the name and addresses of this host's loopback. */
    public static Path pair(final Path directory, final String name) throws IOException, InterruptedException {
        final Path store = directory.resolve(name + ".p12");
        generate(store, name, "-validity", "100");
        return store;
    }

    /** As {@link #pair}, whose certificate may sign others. */
    public static Path authority(final Path directory, final String name) throws IOException, InterruptedException {
        final Path store = directory.resolve(name + ".p12");
        generate(store, name, "-validity", "100", "-ext", "bc:c");
        return store;
    }

    /** A pair whose certificate another one has signed; its days have begun ten days ago. */
    public static Path signed(final Path authority, final String name, final int days)
        throws IOException, InterruptedException {
        final Path store = Files.copy(authority, authority.resolveSibling(name + ".p12"));
        final String alias = authority.getFileName().toString().replace(".p12", "");
        generate(store, name, "-startdate", "-10d", "-validity", String.valueOf(days), "-signer", alias);
        keytool(store, "-delete", "-alias", alias);
        return store;
    }

    private static void generate(final Path store, final String name, final String... more)
        throws IOException, InterruptedException {
        final List<String> words = new ArrayList<>(List.of("-genkeypair", "-alias", name, "-keyalg", "EC", "-dname",
            "CN=" + name, "-ext", "san=dns:localhost,ip:127.0.0.1"));
        words.addAll(List.of(more));
        keytool(store, words.toArray(String[]::new));
    }

    private static void keytool(final Path store, final String... words) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
        command.addAll(List.of(words));
        command.addAll(List.of("-keystore", store.toString(), "-storepass", PASSWORD));
        final Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
        final String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, keytool.waitFor(), said);
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
