package io.kvtier.store.snapshot.s3;

import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A request about a bucket or an object in it.
 *
 * @param method  of HTTP.
 * @param key     of the object; empty for the bucket.
 * @param query   names and values.
 * @param headers further ones, names in small letters.
 * @param body    has the bytes that are sent; null for none at all.
 * @param length  how many of them, from the first on.
 * @param most    how many bytes an answer may have.
 */
record S3Request(String method, String key, SortedMap<String, String> query, SortedMap<String, String> headers,
                 byte[] body, int length, int most) {
    /** Bytes of an answer that is no object: a list of 1,000 keys has some hundreds of them each. */
    static final int MOST_XML = 16 << 20;

    /** One without a body. */
    static S3Request of(final String method, final String key) {
        return new S3Request(method, key, new TreeMap<>(), new TreeMap<>(), null, 0, MOST_XML);
    }

    /** What is asked, in words. */
    String what(final S3Settings settings) {
        return method + " of " + settings + (key.isEmpty() ? "" : ", object " + key);
    }

    /** The same with a body. */
    S3Request with(final byte[] bytes, final int count) {
        return new S3Request(method, key, query, headers, bytes, count, most);
    }

    /** The same; the answer is an object of no more bytes. */
    S3Request upTo(final int bytes) {
        return new S3Request(method, key, query, headers, body, length, bytes);
    }

    /** Adds to the query. */
    S3Request query(final String name, final String value) {
        query.put(name, value);
        return this;
    }

    /** Adds a header. */
    S3Request header(final String name, final String value) {
        headers.put(name, value);
        return this;
    }
}
