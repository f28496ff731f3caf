/**
 * What a client lends, as one whole: its memory, and the order in which memory, devices, disk and file are offered to
 * a master for the first time and again.
 *
 * <p>Each tier offers itself; here is when, and what comes back after a restart of the master. Lending is done by one
 * thread at a time; entering what is lent is thread-safe.
 */
package io.kvtier.store.client.lending;
