package io.kvtier.store.cli;

/**
 * One request of a trace.
 *
 * @param timestamp    when it came, in the trace's own unit; 0 when the trace does not say.
 * @param inputTokens  tokens of its prompt; 0 when the trace does not say.
 * @param outputTokens tokens of its answer; 0 when the trace does not say.
 * @param hashIds      the blocks of its prompt in order; equal numbers are equal prefixes. Not to be changed.
 */
record TraceRequest(double timestamp, long inputTokens, long outputTokens, long[] hashIds) {
}
