package io.kvtier.store.snapshot.s3;

import java.net.URI;
import java.util.Locale;

/**
 * Where a bucket is and how it is asked; what a user wrote has been looked at before.
 *
 * @param endpoint  scheme, host and, if it is not the usual one, port.
 * @param region    that requests are signed for.
 * @param bucket    its name.
 * @param prefix    what all keys begin with; empty for nothing.
 * @param pathStyle whether the bucket is in the path; else it is in front of the host's name.
 * @param timeoutMs milliseconds for one try of a request, 1 or more.
 * @param attempts  how often one is tried, 1 or more.
 */
public record S3Settings(URI endpoint, String region, String bucket, String prefix, boolean pathStyle, long timeoutMs,
                         int attempts) {
    /** What requests go to, with the port where that is not the scheme's usual one: as a client has it in 'Host'. */
    String host() {
        final boolean usual = endpoint.getPort() < 0
            || endpoint.getPort() == (endpoint.getScheme().toLowerCase(Locale.ROOT).equals("https") ? 443 : 80);
        return (pathStyle ? "" : bucket + '.') + endpoint.getHost() + (usual ? "" : ":" + endpoint.getPort());
    }

    /** The path of the bucket, or of an object in it: each part of it percent-encoded. */
    String path(final String key) {
        return (pathStyle ? '/' + AwsSignature.encoded(bucket, false) : "") + '/' + AwsSignature.encoded(key, true);
    }

    @Override
    public String toString() {
        return "s3://" + bucket + '/' + prefix + " at " + endpoint;
    }
}
