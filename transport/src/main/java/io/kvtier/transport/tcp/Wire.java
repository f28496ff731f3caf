package io.kvtier.transport.tcp;

/**
 * The header of every frame; {@code transport/PROTOCOL.md} has the rest.
 *
 * <pre>
 *  0      2       3      4        8        16       24       32         40
 *  +------+-------+------+--------+--------+--------+--------+----------+----------------
 *  | "KV" |version| type |  code  |   id   | offset | length |   body   | body bytes ...
 *  |  u16 |  u8   |  u8  |  u32   |  u64   |  u64   |  u64   |   u64    |   big-endian
 *  +------+-------+------+--------+--------+--------+--------+----------+----------------
 * </pre>
 */
final class Wire {
    static final short MAGIC = 0x4B56;
    static final int VERSION = 1;
    static final int HEADER_BYTES = 40;
    /** Longest body of a frame that carries no data. */
    static final int MAX_BODY = 2048;
    static final int MAX_NAME = 1024;

    static final int VERSION_AT = 2;
    static final int TYPE_AT = 3;
    static final int CODE_AT = 4;
    static final int ID_AT = 8;
    static final int OFFSET_AT = 16;
    static final int LENGTH_AT = 24;
    static final int BODY_AT = 32;

    static final int HELLO = 1;
    static final int CHALLENGE = 2;
    static final int PROOF = 3;
    static final int WELCOME = 4;
    static final int OPEN = 16;
    static final int READ = 17;
    static final int WRITE = 18;
    static final int RELEASE = 19;
    static final int FENCE = 20;
    static final int ABORT = 21;
    static final int OPENED = 32;
    static final int DATA = 33;
    static final int STATUS = 34;

    static final int READ_ONLY = 1;
    static final int READ_WRITE = 2;

    private Wire() {
    }
}
