/**
 * Settings that come from outside the program: environment variables, system properties, JSON.
 *
 * <p>Only {@link io.kvtier.store.config.Environment} reads the first two. Everything here becomes a validated,
 * immutable record; an error names the key, the value, what is allowed and where it was read. No class has state.
 */
package io.kvtier.store.config;
