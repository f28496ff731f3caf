package io.kvtier.transport;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** One transfer in a flight recording. <b>Threading:</b> made by the submitting thread, ended by the last transport. */
@Name("io.kvtier.Transfer")
@Label("Transfer")
@Category("kvtier")
@Description("Requests that were submitted together to a transfer engine")
@StackTrace(false)
final class TransferEvent extends Event {
    @Label("Segment")
    @Description("Segment of the first request")
    private String segment;

    @Label("Transport")
    @Description("Transport that moved the first slice in the end")
    private String transport;

    @Label("Rule")
    @Description("Rule of the selection table that chose the transport")
    private String rule;

    @Label("Requests")
    private int requests;

    @Label("Slices")
    private int slices;

    @Label("Bytes")
    @DataAmount
    private long bytes;

    @Label("Moved Bytes")
    @DataAmount
    private long movedBytes;

    @Label("Outcome")
    @Description("OK, or the kind of the failure that decided")
    private String outcome;

    @Label("Failure")
    private String failure;

    /** An event that has begun; null when nobody records, which costs no object. */
    static TransferEvent ifRecorded() {
        // The first object of an event class starts the recorder, a quarter of a second that nobody has asked for.
        if (!FlightRecorder.isInitialized()) {
            return null;
        }
        final TransferEvent event = new TransferEvent();
        if (!event.isEnabled()) {
            return null;
        }
        event.begin();
        return event;
    }

    void commit(final Slices of, final long moved, final TransferFailure problem) {
        end();
        if (!shouldCommit()) {
            return;
        }
        if (of.size() > 0) {
            final Slice first = of.get(0);
            segment = first.segment().name();
            transport = first.hop().kind().name();
            rule = first.route().rule();
        }
        requests = of.requests();
        slices = of.size();
        bytes = of.bytes();
        movedBytes = moved;
        outcome = problem == null ? "OK" : problem.kind().name();
        failure = problem == null ? null : problem.message();
        commit();
    }
}
