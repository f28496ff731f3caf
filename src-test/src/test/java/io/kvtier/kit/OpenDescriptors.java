package io.kvtier.kit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The descriptors that this process has open, as the kernel lists them. */
public final class OpenDescriptors {
    private static final Path LIST = Path.of("/proc/self/fd");

    private OpenDescriptors() {
    }

    /** Numbers of the descriptors whose link starts with a text: the real path of a file, or {@code /memfd:name}. */
    public static List<Integer> of(final String target) {
        final List<Integer> numbers = new ArrayList<>();
        try (Stream<Path> all = Files.list(LIST)) {
            for (final Path one : all.toList()) {
                if (link(one).startsWith(target)) {
                    numbers.add(Integer.valueOf(one.getFileName().toString()));
                }
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
        return numbers;
    }

    private static String link(final Path descriptor) throws IOException {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (final NoSuchFileException e) {
            return "";
        }
    }
}
