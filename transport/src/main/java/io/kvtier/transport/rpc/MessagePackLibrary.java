package io.kvtier.transport.rpc;

import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePacker;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.core.buffer.ArrayBufferInput;
import org.msgpack.core.buffer.MessageBuffer;
import org.msgpack.core.buffer.MessageBufferOutput;

/**
 * The only class that loads MessagePack for Java, so that the library is told to do without {@code sun.misc.Unsafe}
 * before it looks: with it, every start prints a warning and later JDKs refuse. Who has set the property keeps it.
 */
final class MessagePackLibrary {
    private static final String UNIVERSAL_BUFFER = "msgpack.universal-buffer";
    private static final MessagePack.PackerConfig PACKER;
    private static final MessagePack.UnpackerConfig UNPACKER;

    static {
        if (System.getProperty(UNIVERSAL_BUFFER) == null) {
            System.setProperty(UNIVERSAL_BUFFER, "true");
        }
        // Texts and bytes of any length go straight into the one buffer: the other ways the library has take six bytes
        // a character beforehand, or end the buffer and begin another one.
        PACKER = new MessagePack.PackerConfig().withSmallStringOptimizationThreshold(Integer.MAX_VALUE)
            .withBufferFlushThreshold(Integer.MAX_VALUE);
        UNPACKER = new MessagePack.UnpackerConfig().withAllowReadingBinaryAsString(false)
            .withAllowReadingStringAsBinary(false);
    }

    private MessagePackLibrary() {
    }

    static MessagePacker newPacker(final MessageBufferOutput output) {
        return PACKER.newPacker(output);
    }

    static MessageUnpacker newUnpacker(final ArrayBufferInput input) {
        return UNPACKER.newUnpacker(input);
    }

    /** An input without bytes, to be reset. */
    static ArrayBufferInput newInput() {
        return new ArrayBufferInput((MessageBuffer) null);
    }

    static MessageBuffer wrap(final byte[] array) {
        return MessageBuffer.wrap(array);
    }
}
