package io.kvtier.store.config;

import io.kvtier.transport.SharedSecret;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Opens the files that protect a server. Errors name the file and never what is in it. */
public final class SecurityFiles {
    private static final String STORE_TYPE = "PKCS12";

    private SecurityFiles() {
    }

    /**
     * The shared secret of a file.
     *
     * @param file whose first line is the secret, without spaces around it.
     * @return the secret.
     * @throws IllegalArgumentException when the file cannot be read or the secret is too short.
     */
    public static SharedSecret secret(final Path file) {
        final String line = firstLine(file);
        try {
            return SharedSecret.of(line);
        } catch (final IllegalArgumentException e) {
            throw new IllegalArgumentException(file + ": " + e.getMessage(), e);
        }
    }

    /**
     * The first line of a file.
     *
     * @param file a small text in UTF-8.
     * @return without spaces around it.
     * @throws IllegalArgumentException when the file cannot be read or the line is empty.
     */
    public static String firstLine(final Path file) {
        final String line;
        try {
            line = Files.readString(file, StandardCharsets.UTF_8).lines().findFirst().orElse("").strip();
        } catch (final IOException e) {
            throw new IllegalArgumentException(file + " cannot be read (" + reason(e) + ")", e);
        }
        if (line.isEmpty()) {
            throw new IllegalArgumentException(file + " has nothing in its first line");
        }
        return line;
    }

    /**
     * The certificates of a process.
     *
     * @param keystore   PKCS #12, with one key and its certificate; null for a client that shows none.
     * @param password   a file whose first line opens both stores.
     * @param truststore PKCS #12, with the certificates that those of the others are signed by; null for a server that
     *                   asks its clients for none, and for a client that trusts whom the JDK trusts.
     * @return the context.
     * @throws IllegalArgumentException when a file cannot be read or opened.
     */
    public static SSLContext tls(final Path keystore, final Path password, final Path truststore) {
        final char[] word = firstLine(password).toCharArray();
        try {
            KeyManagerFactory keys = null;
            if (keystore != null) {
                keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
                keys.init(open(keystore, word), word);
            }
            TrustManagerFactory trust = null;
            if (truststore != null) {
                trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
                trust.init(open(truststore, word));
            }
            final SSLContext context = SSLContext.getInstance("TLS");
            context.init(keys == null ? null : keys.getKeyManagers(),
                trust == null ? null : trust.getTrustManagers(), null);
            return context;
        } catch (final GeneralSecurityException e) {
            throw new IllegalArgumentException((keystore == null ? truststore : keystore) + ": no TLS with this ("
                + e.getMessage() + ")", e);
        }
    }

    private static KeyStore open(final Path file, final char[] password) throws GeneralSecurityException {
        try (InputStream in = Files.newInputStream(file)) {
            final KeyStore store = KeyStore.getInstance(STORE_TYPE);
            store.load(in, password);
            if (store.size() == 0) {
                throw new IllegalArgumentException(file + " is an empty store");
            }
            return store;
        } catch (final IOException e) {
            throw new IllegalArgumentException(file + " cannot be opened as a PKCS #12 store (" + reason(e) + ")", e);
        }
    }

    private static String reason(final IOException why) {
        return switch (why) {
            case NoSuchFileException ignored -> "there is no such file";
            case AccessDeniedException ignored -> "this process may not read it";
            default -> String.valueOf(why.getMessage());
        };
    }
}
