package io.kvtier.store.snapshot.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.config.Environment;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class S3CredentialsTest {
    private static final Environment NOTHING = Environment.of(Map.of());

    @TempDir
    private Path directory;

    private Path file(final String text) throws IOException {
        return Files.writeString(directory.resolve("credentials"), text);
    }

    private static String why(final S3Credentials.Source source) {
        return assertThrows(IOException.class, source::get).getMessage();
    }

    @Test
    void shouldTakeThoseOfTheEnvironment() throws IOException {
        assertEquals(new S3Credentials("id", "secret", ""), S3Credentials.of(Environment.of(
            Map.of("AWS_ACCESS_KEY_ID", "id", "AWS_SECRET_ACCESS_KEY", "secret"))).get());
        assertEquals(new S3Credentials("id", "secret", "token"), S3Credentials.of(Environment.of(
            Map.of("AWS_ACCESS_KEY_ID", "id", "AWS_SECRET_ACCESS_KEY", "secret", "AWS_SESSION_TOKEN", "token"))).get());
        final String why = why(S3Credentials.of(Environment.of(Map.of("AWS_ACCESS_KEY_ID", "id"))));
        assertTrue(why.contains("no AWS_SECRET_ACCESS_KEY") && why.contains("snapshot_s3_credentials_file"), why);
    }

    @Test
    void shouldTakeThoseOfASectionOfAFileAsItIsNow() throws IOException {
        final Path file = file("""
            [default]
            aws_access_key_id = id
            # aws_secret_access_key = not this
            aws_secret_access_key=a=b/c+
            [other]
              aws_access_key_id =  id2
            aws_secret_access_key = secret2
            aws_session_token = token2
            """);
        final S3Credentials.Source usual = S3Credentials.ofFile(file, NOTHING);
        assertEquals(new S3Credentials("id", "a=b/c+", ""), usual.get());
        assertEquals(new S3Credentials("id2", "secret2", "token2"),
            S3Credentials.ofFile(file, Environment.of(Map.of("AWS_PROFILE", "other"))).get());
        file("[default]\naws_access_key_id = new\naws_secret_access_key = newer\n");
        assertEquals(new S3Credentials("new", "newer", ""), usual.get());
    }

    @Test
    void shouldSayWhatIsMissing() throws IOException {
        assertTrue(why(S3Credentials.ofFile(directory.resolve("none"), NOTHING))
            .startsWith("snapshot_s3_credentials_file is " + directory.resolve("none") + ", which cannot be read"));
        final String none = why(S3Credentials.ofFile(file("[other]\naws_access_key_id = id\n"), NOTHING));
        assertTrue(none.contains("no 'aws_access_key_id' in its section [default]"), none);
        final String half = why(S3Credentials.ofFile(file("[default]\naws_access_key_id = id\n"), NOTHING));
        assertTrue(half.contains("no 'aws_secret_access_key'"), half);
    }
}
