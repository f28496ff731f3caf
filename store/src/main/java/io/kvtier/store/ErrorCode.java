package io.kvtier.store;

/**
 * Why a call failed, by the names and numbers of the system that this store follows, so that operators and other
 * clients read the same word for the same thing. Numbers are stable and never reused.
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
    /** The write was ended or revoked already, or never started. */
    INVALID_WRITE(-700),
    /** The object is being written and cannot be read yet. */
    REPLICA_IS_NOT_READY(-703),
    /** No such object. */
    OBJECT_NOT_FOUND(-704),
    /** The object exists already. */
    OBJECT_ALREADY_EXISTS(-705),
    /** The object was read within the lease time. */
    OBJECT_HAS_LEASE(-706),
    /** The read took longer than its lease. */
    LEASE_EXPIRED(-707),
    /** The replica is gone. */
    REPLICA_NOT_FOUND(-710),
    /** Bytes could not be moved. */
    TRANSFER_FAIL(-800),
    /** Bytes read from a disk are not those that were written. */
    CHECKSUM_MISMATCH(-801),
    /** The store is closed or closing. */
    UNAVAILABLE_IN_CURRENT_STATUS(-1010),
    /** A file could not be opened, or is not one of this store. */
    FILE_OPEN_FAIL(-1101),
    /** A file could not be read. */
    FILE_READ_FAIL(-1102),
    /** A file could not be written. */
    FILE_WRITE_FAIL(-1103),
    /** Another store uses the directory. */
    FILE_LOCK_FAIL(-1105),
    /** What is on disk could not be understood. */
    DESERIALIZE_FAIL(-1502);

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
}
