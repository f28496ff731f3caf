package io.kvtier.store.snapshot.s3;

import io.kvtier.store.snapshot.files.StoreUnavailableException;
import java.io.IOException;
import java.util.Map;
import java.util.Set;

/** A store's refusal, with what to do about it. */
final class S3Failure extends StoreUnavailableException {
    private static final long serialVersionUID = 1;

    private static final int REDIRECTED = 300;
    private static final int FORBIDDEN = 403;
    private static final int NOT_FOUND = 404;
    private static final int TOO_SLOW = 408;
    private static final int TOO_MANY = 429;
    private static final int BROKEN = 500;
    private static final int NOT_IMPLEMENTED = 501;
    private static final String NO_CODE = "";
    /** Of what a store says; it may say anything, and goes to logs. */
    private static final int MOST_CHARACTERS = 300;

    /** Codes of answers that may be others when the same is asked again. */
    private static final Set<String> TEMPORARY = Set.of("RequestTimeout", "SlowDown", "InternalError",
        "ServiceUnavailable", "OperationAborted", "IncompleteBody");

    private static final Map<String, String> REMEDIES = Map.of(
        "NoSuchBucket", "there is no such bucket; make it, or let snapshot_s3_bucket name another one",
        "AccessDenied", "let these credentials list, read, write and delete there (s3:ListBucket, s3:GetObject, "
            + "s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload), or name others",
        "InvalidAccessKeyId", "it does not know the access key id; look at snapshot_s3_credentials_file or "
            + "AWS_ACCESS_KEY_ID",
        "SignatureDoesNotMatch", "the secret key is not that of the access key id; look at "
            + "snapshot_s3_credentials_file or AWS_SECRET_ACCESS_KEY",
        "ExpiredToken", "the session token is out of date; renew the credentials",
        "InvalidToken", "the session token is wrong; look at snapshot_s3_credentials_file or AWS_SESSION_TOKEN",
        "RequestTimeTooSkewed", "the clocks of this host and of the store differ too much; set them right",
        "QuotaExceeded", "there is no room left; make some, or keep fewer snapshots (snapshot_retention_count)",
        "EntityTooLarge", "an object may not be so large there; use another store",
        "MethodNotAllowed", "it does not speak S3, or not at this address; look at snapshot_s3_endpoint and "
            + "snapshot_s3_addressing");

    private final int status;
    private final String code;
    private final String answer;

    private S3Failure(final String what, final int status, final String code, final String answer) {
        super(what + ", was " + answer, null);
        this.status = status;
        this.code = code;
        this.answer = answer;
    }

    /** What an answer that is not good means. */
    static S3Failure of(final S3Settings settings, final S3Request request, final S3Answer answer) {
        String code = NO_CODE;
        String message = "";
        String region = answer.header("x-amz-bucket-region");
        try {
            final S3Answer.Document document = answer.xml("");
            code = shown(document.text("Code"));
            message = shown(document.text("Message"));
            region = region.isEmpty() ? shown(document.text("Region")) : region;
        } catch (final IOException e) {
            message = "no reason is given";
        }
        return new S3Failure(request.what(settings), answer.status(), code, "answered by " + answer.status()
            + (code.isEmpty() ? "" : ' ' + code) + " (" + message + "); " + remedy(settings, answer.status(), code,
            region));
    }

    private static String shown(final String text) {
        final String line = text.replaceAll("\\p{Cntrl}+", " ").strip();
        return line.length() <= MOST_CHARACTERS ? line : line.substring(0, MOST_CHARACTERS) + "...";
    }

    private static String remedy(final S3Settings settings, final int status, final String code, final String region) {
        if (!region.isEmpty() && !region.equals(settings.region())) {
            return "the bucket is in region " + region + " and snapshot_s3_region is " + settings.region()
                + "; set that to the former, and snapshot_s3_endpoint, if it names a region, too";
        }
        if (REMEDIES.containsKey(code)) {
            return REMEDIES.get(code);
        }
        return switch (status) {
            case FORBIDDEN -> REMEDIES.get("AccessDenied");
            case NOT_FOUND -> "look at snapshot_s3_endpoint, snapshot_s3_bucket and snapshot_s3_addressing";
            default -> status >= BROKEN ? "look at the store's own log"
                : status >= REDIRECTED && status < REDIRECTED + 100
                ? "snapshot_s3_endpoint is " + settings.endpoint() + ", and the bucket is elsewhere; name its own one"
                : "look at the options that begin with snapshot_s3_";
        };
    }

    /** What was answered, and what to do, without what was asked. */
    String answer() {
        return answer;
    }

    int status() {
        return status;
    }

    /** What S3 calls it; empty when nothing was said. */
    String code() {
        return code;
    }

    /** Whether it may go well another time. */
    boolean isTemporary() {
        return TEMPORARY.contains(code) || status == TOO_SLOW || status == TOO_MANY
            || status >= BROKEN && status != NOT_IMPLEMENTED;
    }
}
