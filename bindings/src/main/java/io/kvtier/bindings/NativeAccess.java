package io.kvtier.bindings;

import java.util.ArrayList;
import java.util.List;

/**
 * Says which JVM flags this library needs in the running process and are missing.
 *
 * <p>Checking first turns a warning (JDK 22 to 25), an {@code IllegalCallerException} (later, or with
 * {@code --illegal-native-access=deny}) or an {@code IllegalAccessError} deep inside Agrona into one message that
 * prints the flag.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> never.
 */
public final class NativeAccess {
    private static final String AGRONA_PACKAGE = "jdk.internal.misc";

    private NativeAccess() {
    }

    /**
     * The flags that the running JVM lacks.
     *
     * @param bufferUser a class of the library whose atomic buffers need {@code jdk.internal.misc}; null when only
     *                   native access is asked about.
     * @return the exact flags to add, in order; empty when nothing is missing.
     */
    public static List<String> missingFlags(final Class<?> bufferUser) {
        final List<String> missing = new ArrayList<>(2);
        final Module own = NativeAccess.class.getModule();
        if (!own.isNativeAccessEnabled()) {
            missing.add("--enable-native-access=" + nameOf(own));
        }
        if (bufferUser != null) {
            final Module user = bufferUser.getModule();
            if (!Object.class.getModule().isExported(AGRONA_PACKAGE, user)) {
                missing.add("--add-exports java.base/" + AGRONA_PACKAGE + "=" + nameOf(user));
            }
        }
        return missing;
    }

    /**
     * Fails when a needed flag is missing.
     *
     * @param bufferUser as for {@link #missingFlags(Class)}.
     * @throws IllegalStateException naming the exact flags to add to the java command line.
     */
    public static void require(final Class<?> bufferUser) {
        final List<String> missing = missingFlags(bufferUser);
        if (!missing.isEmpty()) {
            throw new IllegalStateException("kvtier cannot start: this JVM lacks " + missing.size()
                + " flag(s). Add to the java command line: " + String.join(" ", missing));
        }
    }

    private static String nameOf(final Module module) {
        return module.isNamed() ? module.getName() : "ALL-UNNAMED";
    }
}
