/**
 * The test kit: leak checks, files that fail when told to, a clock moved by hand, reproducible bytes, and the record of
 * what a run could not exercise.
 *
 * <p>Nothing here tests anything by itself, and nothing here knows a class above the transports. Everything is
 * thread-safe unless its own page says otherwise.
 */
package io.kvtier.kit;
