package io.kvtier.store.client.request;

/**
 * How values are read.
 *
 * @param hold       whether memory replicas are held, instead of leased.
 * @param verify     whether values that have a checksum are compared with it.
 * @param verifyFile the same of values in this client's own file.
 * @param timeoutMs  milliseconds for a transfer.
 */
public record ReadTerms(boolean hold, boolean verify, boolean verifyFile, long timeoutMs) {
    /**
     * In the process of the master. Memory of this process that nobody else writes is not compared: it would cost a hit
     * more than its copy.
     *
     * @param verifyFile whether values in this client's own file are compared with their checksums.
     * @return the terms.
     */
    public static ReadTerms held(final boolean verifyFile) {
        return new ReadTerms(true, false, verifyFile, 0);
    }
}
