package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Assumptions;

/**
 * What tests asked for and this machine does not have. A test that needs a capability says so with {@link #require};
 * without it the test is skipped and the run ends with a line that names it, so that a skipped test does not pass for a
 * green one. {@code -Dtest.require=gcc,direct-io} turns a missing capability into a failure.
 */
public final class NotExercised {
    private static final String REQUIRED = "test.require";
    private static final Map<String, String> MISSING = new ConcurrentSkipListMap<>();

    private NotExercised() {
    }

    /**
     * Goes on only with a capability.
     *
     * @param capability its short name, as in {@code -Dtest.require}.
     * @param available  whether it is there.
     * @param reason     what is missing, in words.
     */
    public static void require(final String capability, final boolean available, final String reason) {
        if (available) {
            return;
        }
        if (demanded(System.getProperty(REQUIRED, "")).contains(capability)) {
            fail(capability + " is demanded by -D" + REQUIRED + " and not here: " + reason);
        }
        MISSING.putIfAbsent(capability, reason);
        Assumptions.abort(capability + ": " + reason);
    }

    static Set<String> demanded(final String list) {
        return Arrays.stream(list.split(",")).map(String::strip).filter(name -> !name.isEmpty())
            .collect(Collectors.toSet());
    }

    static List<String> lines() {
        return lines(names());
    }

    /** What is missing, each with its reason. */
    static List<String> names() {
        return MISSING.entrySet().stream().map(one -> one.getKey() + " (" + one.getValue() + ")").toList();
    }

    static List<String> lines(final List<String> names) {
        return names.isEmpty() ? List.of("not exercised: nothing")
            : names.stream().map(name -> "not exercised: " + name).toList();
    }
}
