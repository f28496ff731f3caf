package io.kvtier.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.util.List;

/**
 * A shared library looked for at run time: which of its names was found, and whether it exports what a binding needs.
 *
 * <p>A library that is found stays loaded for the life of the process: it may have threads of its own, which would run
 * on unmapped code after an unload.
 *
 * <p><b>Threading:</b> immutable. <b>Blocking:</b> looking loads the library, which takes milliseconds.
 *
 * @param name         the name it was found under; empty when it was not.
 * @param availability whether it can be used.
 */
public record NativeLibrary(String name, Availability availability) {
    /**
     * Looks for a library under several names, in order, by the rules of {@code dlopen(3)}.
     *
     * @param names   file names or absolute paths.
     * @param symbols what it must export.
     * @param remedy  what an operator does when it is not there.
     * @return what was found; never throws for a library that is missing, broken or too old.
     */
    @SuppressWarnings("restricted")
    public static NativeLibrary find(final List<String> names, final List<String> symbols, final String remedy) {
        for (final String name : names) {
            final SymbolLookup lookup;
            try {
                lookup = SymbolLookup.libraryLookup(name, Arena.global());
            } catch (final IllegalCallerException e) {
                return new NativeLibrary("", Availability.no("this JVM lets nobody call native code",
                    "add to the java command line: " + String.join(" ", NativeAccess.missingFlags(null))));
            } catch (final IllegalArgumentException ignored) {
                continue;
            }
            final List<String> missing = symbols.stream().filter(one -> lookup.find(one).isEmpty()).toList();
            if (missing.isEmpty()) {
                return new NativeLibrary(name, Availability.yes(name));
            }
            return new NativeLibrary(name, Availability.no(name + " lacks the symbol " + String.join(", ", missing),
                "install a newer one: " + remedy));
        }
        return new NativeLibrary("", Availability.no("no " + String.join(" or ", names) + " could be loaded", remedy));
    }

    /**
     * Its functions, for a binding that links them by hand.
     *
     * @return a lookup that stays valid as long as the process.
     * @throws IllegalStateException when the library is not available.
     */
    @SuppressWarnings("restricted")
    public SymbolLookup symbols() {
        if (!availability.available()) {
            throw new IllegalStateException(availability.reason() + "; " + availability.remedy());
        }
        return SymbolLookup.libraryLookup(name, Arena.global());
    }
}
