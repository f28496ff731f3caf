package io.kvtier.transport.rpc;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Text that is refused where it is not UTF-8: two keys must not become one by replacement characters. */
final class Utf8 {
    private Utf8() {
    }

    static String decode(final byte[] bytes) throws CharacterCodingException {
        return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    }
}
