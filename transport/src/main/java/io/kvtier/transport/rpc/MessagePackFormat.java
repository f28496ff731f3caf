package io.kvtier.transport.rpc;

/** The first bytes of values, from the specification of MessagePack. */
final class MessagePackFormat {
    static final byte NIL = (byte) 0xc0;
    static final byte FALSE = (byte) 0xc2;
    static final byte TRUE = (byte) 0xc3;
    static final byte BYTES_8 = (byte) 0xc4;
    static final byte BYTES_16 = (byte) 0xc5;
    static final byte BYTES_32 = (byte) 0xc6;
    static final byte EXTENSION_8 = (byte) 0xc7;
    static final byte EXTENSION_16 = (byte) 0xc8;
    static final byte EXTENSION_32 = (byte) 0xc9;
    static final byte FLOAT_32 = (byte) 0xca;
    static final byte FLOAT_64 = (byte) 0xcb;
    static final byte UNSIGNED_8 = (byte) 0xcc;
    static final byte UNSIGNED_16 = (byte) 0xcd;
    static final byte UNSIGNED_32 = (byte) 0xce;
    static final byte UNSIGNED_64 = (byte) 0xcf;
    static final byte SIGNED_8 = (byte) 0xd0;
    static final byte SIGNED_16 = (byte) 0xd1;
    static final byte SIGNED_32 = (byte) 0xd2;
    static final byte SIGNED_64 = (byte) 0xd3;
    static final byte FIX_EXTENSION_1 = (byte) 0xd4;
    static final byte FIX_EXTENSION_2 = (byte) 0xd5;
    static final byte FIX_EXTENSION_4 = (byte) 0xd6;
    static final byte FIX_EXTENSION_8 = (byte) 0xd7;
    static final byte FIX_EXTENSION_16 = (byte) 0xd8;
    static final byte TEXT_8 = (byte) 0xd9;
    static final byte TEXT_16 = (byte) 0xda;
    static final byte TEXT_32 = (byte) 0xdb;
    static final byte ARRAY_16 = (byte) 0xdc;
    static final byte ARRAY_32 = (byte) 0xdd;
    static final byte MAP_16 = (byte) 0xde;
    static final byte MAP_32 = (byte) 0xdf;
    /** Numbers from here to 127 are their own first byte. */
    static final int FIX_NEGATIVE_MIN = -32;
    static final int FIX_MAP = 0x80;
    static final int FIX_ARRAY = 0x90;
    static final int FIX_TEXT = 0xa0;
    static final int FIX_MAP_MAX = 15;
    static final int FIX_ARRAY_MAX = 15;
    static final int FIX_TEXT_MAX = 31;
    static final int MAX_8 = 0xff;
    static final int MAX_16 = 0xffff;
    static final long MAX_32 = 0xffff_ffffL;

    private MessagePackFormat() {
    }
}
