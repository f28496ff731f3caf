package io.kvtier.transport.rpc;

import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;

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
        // A call is a few hundred bytes; the default of 8 KiB would be most of its garbage.
        PACKER = new MessagePack.PackerConfig().withBufferSize(512);
        UNPACKER = new MessagePack.UnpackerConfig();
    }

    private MessagePackLibrary() {
    }

    static MessageBufferPacker newPacker() {
        return PACKER.newBufferPacker();
    }

    static MessageUnpacker newUnpacker(final byte[] message) {
        return UNPACKER.newUnpacker(message);
    }
}
