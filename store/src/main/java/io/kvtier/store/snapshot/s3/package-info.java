/**
 * Snapshots in a bucket of a store that speaks S3: requests signed by Signature Version 4, over the JDK's HTTP client.
 *
 * <p>Only what {@link io.kvtier.store.snapshot.files.SnapshotStore} needs of S3 is here. All calls block; each try of a
 * request has a time limit, and what may go well another time is tried again.
 */
package io.kvtier.store.snapshot.s3;
