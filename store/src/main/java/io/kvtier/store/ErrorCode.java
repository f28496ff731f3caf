package io.kvtier.store;

import java.util.Arrays;

/**
 * Why a call failed, by the names and numbers of the system that this store follows, so that operators and other
 * clients read the same word for the same thing. What is part of normal life, such as a miss, a key that is taken or a
 * lease, is an outcome of its call and has no code. Numbers are stable and never reused, and those of that system that
 * are missing here are given to nothing else.
 */
public enum ErrorCode {
    /** A fault inside the store. */
    INTERNAL_ERROR(-1),
    /** The caller's memory is smaller than the value. */
    BUFFER_OVERFLOW(-10),
    /** No such segment. */
    SEGMENT_NOT_FOUND(-101),
    /** The segment is mounted already. */
    SEGMENT_ALREADY_EXISTS(-102),
    /** No room for the value, and none could be made. */
    NO_AVAILABLE_HANDLE(-200),
    /** The key is empty, too long, or its tenant is not allowed. */
    INVALID_KEY(-400),
    /** An argument or a setting is out of range. */
    INVALID_PARAMS(-600),
    /** Somebody else began what this client wants to end. */
    ILLEGAL_CLIENT(-601),
    /** The write was ended or revoked already, or never started. */
    INVALID_WRITE(-700),
    /** The object is being written and cannot be read yet. */
    REPLICA_IS_NOT_READY(-703),
    /** No such object. */
    OBJECT_NOT_FOUND(-704),
    /** The read took longer than its lease. */
    LEASE_EXPIRED(-707),
    /** The object is being copied or moved. */
    OBJECT_HAS_REPLICATION_TASK(-708),
    /** The object is not being copied or moved. */
    OBJECT_NO_REPLICATION_TASK(-709),
    /** The replica is gone. */
    REPLICA_NOT_FOUND(-710),
    /** The source or the target of a copy went while it was copied. */
    REPLICA_IS_GONE(-712),
    /** Bytes could not be moved. */
    TRANSFER_FAIL(-800),
    /** The master or another client could not be reached. */
    RPC_FAIL(-900),
    /** The master or another client did not answer in time. */
    RPC_TIMEOUT(-901),
    /** The store is closed or closing, or what is asked for does not go in the state that something is in. */
    UNAVAILABLE_IN_CURRENT_STATUS(-1010),
    /** The call is of no use the way this store is run. */
    UNAVAILABLE_IN_CURRENT_MODE(-1011),
    /** A file could not be opened, or is not one of this store. */
    FILE_OPEN_FAIL(-1101),
    /** A file could not be read. */
    FILE_READ_FAIL(-1102),
    /** A file could not be written. */
    FILE_WRITE_FAIL(-1103),
    /** Another store uses the directory. */
    FILE_LOCK_FAIL(-1105),
    /** No such task. */
    TASK_NOT_FOUND(-1400),
    /** Too many tasks wait. */
    TASK_PENDING_LIMIT_EXCEEDED(-1401),
    /** No such job. */
    JOB_NOT_FOUND(-1402),
    /** What is on disk, or came from another process, could not be understood. */
    DESERIALIZE_FAIL(-1502),
    /** The tenant has used up its quota. */
    TENANT_QUOTA_EXCEEDED(-1700),
    /** The tenant has no quota, and tenants need one here. */
    TENANT_NOT_REGISTERED(-1701),
    /** The tenant still has objects. */
    TENANT_NOT_EMPTY(-1702);

    private final int number;

    ErrorCode(final int number) {
        this.number = number;
    }

    /**
     * The stable number.
     *
     * @return a negative number.
     */
    public int number() {
        return number;
    }

    /**
     * The code with a number.
     *
     * @param number as another process sent it.
     * @return the code; {@link #INTERNAL_ERROR} for a number that this version does not know.
     */
    public static ErrorCode of(final int number) {
        return Arrays.stream(values()).filter(code -> code.number == number).findFirst().orElse(INTERNAL_ERROR);
    }
}
