package io.kvtier.architecture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.annotation.Testable;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * The table of promises in {@code transport/TRANSPORTS.md} names tests that are there. In its last column a class in
 * backticks is followed by methods of it; a row without a test begins with "Not here".
 */
class PromisesTest {
    private static final Path ROOT = Path.of(System.getProperty("kvtier.root"));
    private static final Path TESTS = ROOT.resolve("src-test/src/test/java");
    private static final String HEADING = "## What is promised, and which test holds it\n";
    private static final Pattern ROW = Pattern.compile("\\| (\\d+) \\| (.+) \\| (.+) \\|");
    private static final Pattern NAME = Pattern.compile("`([^`]+)`");
    private static final int PROMISES = 25;

    private static List<Matcher> rows() throws IOException {
        final String text = Files.readString(ROOT.resolve("transport/TRANSPORTS.md"));
        assertTrue(text.contains(HEADING), "no heading " + HEADING);
        final String section = text.substring(text.indexOf(HEADING) + HEADING.length()).split("\n## ")[0];
        return section.lines().map(ROW::matcher).filter(Matcher::matches).toList();
    }

    @Test
    void shouldHaveARowForEachPromise() throws IOException {
        assertEquals(IntStream.rangeClosed(1, PROMISES).boxed().toList(),
            rows().stream().map(row -> Integer.valueOf(row.group(1))).toList());
    }

    @Test
    void shouldNameTestsThatAreThere() throws IOException {
        final List<String> wrong = new ArrayList<>();
        for (final Matcher row : rows()) {
            problems(row.group(3)).forEach(problem -> wrong.add(row.group(1) + ": " + problem));
        }
        assertEquals(List.of(), wrong);
    }

    @Test
    void shouldNoticeWhatIsNotATest() throws IOException {
        assertEquals(List.of("no test is named, and no reason given"), problems("some day"));
        assertEquals(List.of(), problems("Not here: nothing to test."));
        assertEquals(List.of("PromisesTest.shouldBeAbsent is no test", "AbsentTest is no class of tests",
            "shouldNoticeWhatIsNotATest stands behind no class", "PromisesTest.problems is no test"),
            problems("`PromisesTest`: `shouldBeAbsent`, `shouldHaveARowForEachPromise`; `AbsentTest`: "
                + "`shouldNoticeWhatIsNotATest`; `PromisesTest`: `problems`"));
    }

    /** What is wrong with the last column of a row. */
    private static List<String> problems(final String tests) throws IOException {
        final List<String> problems = new ArrayList<>();
        Class<?> type = null;
        int methods = 0;
        for (final String name : NAME.matcher(tests).results().map(one -> one.group(1)).toList()) {
            if (Character.isUpperCase(name.charAt(0))) {
                type = find(name);
                if (type == null) {
                    problems.add(name + " is no class of tests");
                }
            } else if (type == null) {
                problems.add(name + " stands behind no class");
            } else if (isTest(type, name)) {
                methods++;
            } else {
                problems.add(type.getSimpleName() + "." + name + " is no test");
            }
        }
        if (problems.isEmpty() && methods == 0 && !tests.startsWith("Not here")) {
            problems.add("no test is named, and no reason given");
        }
        return problems;
    }

    /** The class of that name, wherever it is; null when there is none, or more than one. */
    private static Class<?> find(final String name) throws IOException {
        try (Stream<Path> files = Files.walk(TESTS)) {
            final List<Path> found = files.filter(path -> path.endsWith(name + ".java")).toList();
            return found.size() != 1 ? null : Class.forName(TESTS.relativize(found.getFirst()).toString()
                .replace('/', '.').replaceFirst("\\.java$", ""), false, PromisesTest.class.getClassLoader());
        } catch (final ClassNotFoundException e) {
            return null;
        }
    }

    /** Whether the class, or a contract that it keeps, has such a test. */
    private static boolean isTest(final Class<?> type, final String name) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            for (final Method method : at.getDeclaredMethods()) {
                if (method.getName().equals(name) && AnnotationSupport.isAnnotated(method, Testable.class)) {
                    return true;
                }
            }
        }
        return false;
    }
}
