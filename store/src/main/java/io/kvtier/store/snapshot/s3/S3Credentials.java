package io.kvtier.store.snapshot.s3;

import io.kvtier.store.config.Environment;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * Who asks.
 *
 * @param accessKeyId  what the key is called.
 * @param secretKey    the key, which is never sent.
 * @param sessionToken what belongs to a key that is good for a while; empty for one that lasts.
 */
public record S3Credentials(String accessKeyId, String secretKey, String sessionToken) {
    private static final String ID_VARIABLE = "AWS_ACCESS_KEY_ID";
    private static final String SECRET_VARIABLE = "AWS_SECRET_ACCESS_KEY";
    private static final String TOKEN_VARIABLE = "AWS_SESSION_TOKEN";
    private static final String PROFILE_VARIABLE = "AWS_PROFILE";
    private static final String ID_KEY = "aws_access_key_id";
    private static final String SECRET_KEY = "aws_secret_access_key";
    private static final String TOKEN_KEY = "aws_session_token";
    private static final int MAX_FILE_BYTES = 1 << 20;

    /** Where they come from: asked for each request, so that those that are renewed count at once. */
    @FunctionalInterface
    public interface Source {
        /**
         * The credentials now.
         *
         * @return the credentials.
         * @throws IOException when there are none, saying where they were looked for.
         */
        S3Credentials get() throws IOException;
    }

    /**
     * Those of the environment: {@code AWS_ACCESS_KEY_ID}, {@code AWS_SECRET_ACCESS_KEY} and, if there is one,
     * {@code AWS_SESSION_TOKEN}.
     *
     * @param environment variables.
     * @return reads them each time.
     */
    public static Source of(final Environment environment) {
        return () -> new S3Credentials(needed(environment, ID_VARIABLE), needed(environment, SECRET_VARIABLE),
            environment.get(TOKEN_VARIABLE).orElse(""));
    }

    private static String needed(final Environment environment, final String name) throws IOException {
        return environment.get(name).orElseThrow(() -> new IOException("there are no credentials: the environment has "
            + "no " + name + ", and snapshot_s3_credentials_file names no file that has them; set one or the other"));
    }

    /**
     * Those of a file as other programs have it, with sections that are called profiles:
     * {@code aws_access_key_id = …}, {@code aws_secret_access_key = …} and, if there is one,
     * {@code aws_session_token = …}. The profile is the one that {@code AWS_PROFILE} names, or {@code default}.
     *
     * @param file        the file.
     * @param environment variables.
     * @return reads it each time.
     */
    public static Source ofFile(final Path file, final Environment environment) {
        return () -> {
            final String profile = environment.get(PROFILE_VARIABLE).orElse("default");
            final Map<String, String> found = section(file, profile);
            return new S3Credentials(needed(found, ID_KEY, file, profile), needed(found, SECRET_KEY, file, profile),
                found.getOrDefault(TOKEN_KEY, ""));
        };
    }

    private static String needed(final Map<String, String> section, final String key, final Path file,
        final String profile) throws IOException {
        final String value = section.getOrDefault(key, "");
        if (value.isEmpty()) {
            throw new IOException("there are no credentials: " + file + " has no '" + key + "' in its section ["
                + profile + "]; write it there, or let AWS_PROFILE name another section");
        }
        return value;
    }

    private static Map<String, String> section(final Path file, final String profile) throws IOException {
        final Map<String, String> values = new HashMap<>();
        boolean inside = false;
        for (final String raw : text(file).lines().toList()) {
            final String line = raw.strip();
            final int equals = line.indexOf('=');
            if (line.startsWith("[") && line.endsWith("]")) {
                inside = line.substring(1, line.length() - 1).strip().equals(profile);
            } else if (inside && equals > 0 && !line.startsWith("#")) {
                values.put(line.substring(0, equals).strip(), line.substring(equals + 1).strip());
            }
        }
        return values;
    }

    private static String text(final Path file) throws IOException {
        try {
            if (Files.size(file) > MAX_FILE_BYTES) {
                throw new IOException("it has " + Files.size(file) + " bytes, and at most " + MAX_FILE_BYTES
                    + " are read");
            }
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (final IOException e) {
            throw new IOException("snapshot_s3_credentials_file is " + file + ", which cannot be read: " + e, e);
        }
    }

    /** Without the secrets. */
    @Override
    public String toString() {
        return "credentials " + accessKeyId;
    }
}
