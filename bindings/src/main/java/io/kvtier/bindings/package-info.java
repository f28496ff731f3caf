/**
 * What every binding shares: whether a native library is there and why not, counts of live native resources by tag,
 * the reference count that guards a handle, and the exception that carries a native failure.
 *
 * <p>A binding of one library belongs in a package of its own below this one; nothing here names a library function.
 * Everything here is thread-safe.
 */
package io.kvtier.bindings;
