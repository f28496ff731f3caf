package io.kvtier.store.config;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Where a master's snapshots are in a store that speaks S3.
 *
 * @param place           which bucket, and where in it.
 * @param credentialsFile who asks; empty for the environment's.
 * @param timeoutMs       milliseconds for one try of a request.
 * @param attempts        how often one is tried.
 */
public record BucketConfig(Place place, String credentialsFile, long timeoutMs, int attempts) {
    /**
     * A bucket.
     *
     * @param endpoint   address of the store; empty for that of AWS in the region.
     * @param region     that requests are signed for.
     * @param bucket     its name.
     * @param prefix     what keys begin with.
     * @param addressing where its name stands.
     */
    public record Place(String endpoint, String region, String bucket, String prefix, String addressing) {
        private static final Pattern BUCKET = Pattern.compile("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]");
        private static final Pattern PREFIX =
            Pattern.compile("((?!\\.{1,2}/)[A-Za-z0-9._=-]+/)*(?!\\.{1,2}$)[A-Za-z0-9._=-]*");
        private static final Pattern LOOPBACK = Pattern.compile("localhost|127(\\.\\d+){3}|\\[::1]");
        private static final String AWS = ".amazonaws.com";

        /**
         * Validates.
         *
         * @throws IllegalArgumentException naming the option, its value and what is allowed.
         */
        public Place {
            MasterOption.SNAPSHOT_S3_ENDPOINT.check(endpoint);
            MasterOption.SNAPSHOT_S3_REGION.check(region);
            MasterOption.SNAPSHOT_S3_BUCKET.check(bucket);
            MasterOption.SNAPSHOT_S3_PREFIX.check(prefix);
            MasterOption.SNAPSHOT_S3_ADDRESSING.check(addressing);
            require(BUCKET.matcher(bucket).matches(), MasterOption.SNAPSHOT_S3_BUCKET, bucket,
                "3 to 63 small letters, digits, '.' or '-', the first and last one a letter or digit");
            require(PREFIX.matcher(prefix).matches(), MasterOption.SNAPSHOT_S3_PREFIX, prefix,
                "letters, digits, '.', '_', '=' or '-', in parts with a '/' between two, none in front, "
                    + "and no part '.' or '..'");
            final URI uri = uri(endpoint, region);
            final String path = uri == null ? null : uri.getRawPath();
            require(uri != null && uri.getHost() != null && uri.getRawUserInfo() == null && uri.getRawQuery() == null
                && (path.isEmpty() || path.equals("/")) && ("http".equalsIgnoreCase(uri.getScheme())
                || "https".equalsIgnoreCase(uri.getScheme())), MasterOption.SNAPSHOT_S3_ENDPOINT, endpoint,
                "https://HOST or https://HOST:PORT, or http in place of https, with nothing behind it");
            require(isPathStyle(uri, addressing) || !bucket.contains(".") || !isTls(uri),
                MasterOption.SNAPSHOT_S3_BUCKET, bucket, "a name without '.' where it stands in front of the host, "
                    + "since no certificate is good for it then; or set " + MasterOption.SNAPSHOT_S3_ADDRESSING.key()
                    + " to path");
        }

        private static void require(final boolean so, final MasterOption option, final String value,
            final String allowed) {
            if (!so) {
                throw new IllegalArgumentException(option.key() + " is '" + value + "'; it must be " + allowed);
            }
        }

        private static URI uri(final String endpoint, final String region) {
            try {
                return new URI(endpoint.isEmpty() ? "https://s3." + region + AWS : endpoint);
            } catch (final URISyntaxException e) {
                return null;
            }
        }

        private static boolean isPathStyle(final URI uri, final String addressing) {
            return switch (addressing) {
                case "path" -> true;
                case MasterOption.AUTO -> !uri.getHost().toLowerCase(Locale.ROOT).endsWith(AWS);
                default -> false;
            };
        }

        private static boolean isTls(final URI uri) {
            return "https".equalsIgnoreCase(uri.getScheme());
        }

        /**
         * Where the store is.
         *
         * @return scheme, host and perhaps a port.
         */
        public URI uri() {
            return uri(endpoint, region);
        }

        /**
         * Where the bucket's name stands.
         *
         * @return whether that is the path, and not the host's name.
         */
        public boolean isPathStyle() {
            return isPathStyle(uri(), addressing);
        }

        /** Whether nobody on the way can read what is sent. */
        boolean isPrivate() {
            return isTls(uri()) || LOOPBACK.matcher(uri().getHost()).matches();
        }
    }

    /**
     * Validates.
     *
     * @throws IllegalArgumentException naming the option, its value and what is allowed.
     */
    public BucketConfig {
        MasterOption.SNAPSHOT_S3_CREDENTIALS_FILE.check(credentialsFile);
        MasterOption.SNAPSHOT_S3_TIMEOUT_SECONDS.check(timeoutMs);
        MasterOption.SNAPSHOT_S3_ATTEMPTS.check((long) attempts);
    }
}
