/**
 * The master's state as a pure state machine: applying (command, time) gives an answer and effects. Time passes only
 * there: nothing is to be called between two commands.
 *
 * <p>It reads no clock, no random source, no file, no socket and no thread, so that it can be replayed, simulated and
 * snapshotted; a test keeps such imports out. One class owns one piece of state. Nothing here is thread-safe: whoever
 * runs it applies one command at a time.
 */
package io.kvtier.store.master.state;
