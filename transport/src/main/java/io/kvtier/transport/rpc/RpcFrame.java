package io.kvtier.transport.rpc;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** The header of a frame, as {@code transport/RPC.md} draws it, in a byte array. */
final class RpcFrame {
    static final int HEADER_BYTES = 24;
    static final int VERSION = 1;
    static final int HELLO = 1;
    static final int CHALLENGE = 2;
    static final int PROOF = 3;
    static final int WELCOME = 4;
    static final int CALL = 16;
    static final int REPLY = 17;
    static final int FAILURE = 18;

    private static final short MAGIC = 0x4b52;
    private static final VarHandle SHORT =
        MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final int AT_VERSION = 2;
    private static final int AT_TYPE = 3;
    private static final int AT_CODE = 4;
    private static final int AT_ID = 8;
    private static final int AT_LIMIT = 16;
    private static final int AT_BODY = 20;
    private static final long UNSIGNED = 0xffff_ffffL;

    private RpcFrame() {
    }

    static void put(final byte[] to, final int at, final int type, final int code, final long id) {
        SHORT.set(to, at, MAGIC);
        to[at + AT_VERSION] = VERSION;
        to[at + AT_TYPE] = (byte) type;
        INT.set(to, at + AT_CODE, code);
        LONG.set(to, at + AT_ID, id);
    }

    static void putSizes(final byte[] to, final int at, final int limitMs, final int body) {
        INT.set(to, at + AT_LIMIT, limitMs);
        INT.set(to, at + AT_BODY, body);
    }

    static boolean isFrame(final byte[] from, final int at) {
        return (short) SHORT.get(from, at) == MAGIC;
    }

    static int version(final byte[] from, final int at) {
        return from[at + AT_VERSION] & 0xff;
    }

    static int type(final byte[] from, final int at) {
        return from[at + AT_TYPE] & 0xff;
    }

    static int code(final byte[] from, final int at) {
        return (int) INT.get(from, at + AT_CODE);
    }

    static long id(final byte[] from, final int at) {
        return (long) LONG.get(from, at + AT_ID);
    }

    static long limitMs(final byte[] from, final int at) {
        return (int) INT.get(from, at + AT_LIMIT) & UNSIGNED;
    }

    static long body(final byte[] from, final int at) {
        return (int) INT.get(from, at + AT_BODY) & UNSIGNED;
    }
}
