package io.kvtier.transport.gds;

import io.kvtier.bindings.cufile.CuFileException;
import io.kvtier.bindings.cufile.CuFileOutcome;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Slice;
import io.kvtier.transport.TransferFailure;

/**
 * What becomes of a slice whose call has ended. A slice is complete when all its bytes were moved and not before; the
 * library also calls a call complete that has moved fewer.
 *
 * <p><b>Threading:</b> stateless.
 */
final class Endings {
    private Endings() {
    }

    /**
     * Ends a slice, or says that there is more of it to be moved.
     *
     * @param slice  the slice.
     * @param done   bytes moved so far, this call's included.
     * @param before bytes moved before this call.
     * @return whether a further call has to move the rest; the slice then remembers where that starts.
     */
    static boolean goesOn(final Slice slice, final long done, final long before) {
        if (done == slice.length()) {
            slice.completed();
            return false;
        }
        if (slice.direction() == Direction.READ && slice.offset() + done >= slice.handle().byteSize()) {
            slice.endedShort(done);
            return false;
        }
        if (done == before) {
            slice.failed(failure(slice, TransferFailure.Kind.FAILED, "cuFile moved 0 of "
                + (slice.length() - done) + " bytes at offset " + (slice.offset() + done)
                + " and gave no error; see cufile.log"));
            return false;
        }
        Progress.set(slice, done);
        return true;
    }

    /**
     * Ends a slice whose entry did not end well.
     *
     * @param slice   the slice.
     * @param outcome how it ended: not complete, and not short.
     * @param result  what the driver gave.
     */
    static void failed(final Slice slice, final CuFileOutcome outcome, final long result) {
        switch (outcome) {
            case FAILED -> slice.failed(CuFileException.ofResult("cuFileBatchIOSubmit", result, 0,
                slice.segment().name() + ", offset " + slice.offset() + ", length " + slice.length()));
            case TIMED_OUT -> slice.failed(failure(slice, TransferFailure.Kind.TIMEOUT,
                "the driver's own time limit ended it; see max_batch_io_timeout_msecs in cufile.json"));
            case CANCELED -> slice.failed(failure(slice, TransferFailure.Kind.FAILED,
                "the driver gave it up, or fell silent and was stopped; how much of it was moved is unknown; see "
                    + "cufile.log"));
            default -> slice.failed(failure(slice, TransferFailure.Kind.FAILED,
                "cuFile refused the entry as " + outcome + "; see cufile.log"));
        }
    }

    /** Ends a slice, for those who wait, of which nothing was heard, and which the device may still move. */
    static void lost(final Slice slice) {
        slice.lost("nothing was heard of it, and the device may still move its bytes: its memory and its place in the "
            + "segment stay in use until this process ends; use neither for anything else, see cufile.log, and restart "
            + "the process when that can be done");
    }

    /** Ends a slice that would change a part of a block which a lost one may still write back as it was. */
    static void edgeLost(final Slice slice) {
        slice.failed(slice.failure(TransferFailure.Kind.FAILED, "it begins or ends inside a block of 4096 bytes that "
            + "another write changes a part of, too, of which nothing was heard: the device may still write that block "
            + "back as it was, over these bytes, whatever moves them; write somewhere else until this process ends, "
            + "and restart the process when that can be done"));
    }

    /** Ends a slice whose batch was cancelled because nobody wanted it any more. */
    static void cancelled(final Slice slice) {
        slice.failed(slice.failure(TransferFailure.Kind.CANCELED,
            "cancelled on its way; how much of it was moved is unknown"));
    }

    /** A failure without a code that another transport need not share. */
    private static TransferFailure failure(final Slice slice, final TransferFailure.Kind kind, final String message) {
        return new TransferFailure(kind, "", 0, true, slice.segment().name(), slice.offset(), slice.length(),
            message);
    }
}
