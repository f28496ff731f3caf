package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedUsrbio;
import io.kvtier.kit.UsrbioFaults;
import io.kvtier.kit.UsrbioFaults.Call;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;

/**
 * Transfers in any order, with entries that end in any order, short, with errors or never, against an array: what is
 * read is what was written, a failed transfer changes nothing beside its range, and nothing is left behind.
 */
class UsrbioChannelProperties {
    private static final int BLOCK = 4096;
    private static final int FILE_BYTES = 12 * BLOCK;

    private static final List<Integer> EXPECTED = List.of(Errno.EIO, Errno.ETIMEDOUT, Errno.EBUSY, Errno.EAGAIN);

    /** What happens to the n-th entry of a step. */
    private enum Fault {
        NONE, ERROR, SILENCE, REFUSED;

        void tell(final UsrbioFaults faults, final Step step) {
            final Call entry = step.write() ? Call.WRITE_ENTRY : Call.READ_ENTRY;
            switch (this) {
                case ERROR -> faults.nth(entry, step.nth(), -Errno.EIO);
                case SILENCE -> faults.loseNth(entry, step.nth());
                case REFUSED -> faults.nth(Call.PREP, step.nth(), -Errno.EAGAIN);
                default -> { }
            }
        }
    }

    private record Step(boolean write, int offset, int length, Fault fault, int nth, boolean hear) {
    }

    @Provide
    Arbitrary<List<Step>> steps() {
        return Combinators.combine(Arbitraries.of(true, false), Arbitraries.integers().between(0, FILE_BYTES),
            Arbitraries.integers().between(0, 6 * BLOCK),
            Arbitraries.frequency(Tuple.of(6, Fault.NONE), Tuple.of(2, Fault.ERROR),
                Tuple.of(2, Fault.SILENCE), Tuple.of(1, Fault.REFUSED)),
            Arbitraries.integers().between(1, 6), Arbitraries.of(true, false)).as(Step::new)
            .list().ofMinSize(1).ofMaxSize(12);
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void everythingThatWasWrittenIsReadAndNothingElseChanges(@ForAll("steps") final List<Step> steps,
        @ForAll final long seed) {
        LeakCheck.around(() -> {
            final Path directory = made();
            try (SimulatedUsrbio simulated = new SimulatedUsrbio(directory)) {
                new Run(simulated, seed).run(steps);
                assertEquals(List.of(), simulated.problems());
                assertEquals(List.of(), simulated.links());
                assertEquals(0, simulated.live());
            } finally {
                delete(directory);
            }
        });
    }

    private static Path made() {
        try {
            return MemoryDirectory.create();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void delete(final Path directory) {
        try (Stream<Path> all = Files.walk(directory)) {
            for (final Path one : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(one);
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A write of which some bytes may be there: until others were written there, or at any time if it is silent. */
    private record Failed(int number, int offset, byte[] bytes, boolean silent) {
        boolean mayBe(final int at, final byte value, final int written) {
            return (silent || number > written) && at >= offset && at < offset + bytes.length
                && bytes[at - offset] == value;
        }
    }

    /** One file, and what may be in it. */
    private static final class Run {
        private final SimulatedUsrbio simulated;
        private final Path path;
        private final byte[] content = PatternBytes.of(7, FILE_BYTES);
        /** Which step has written each byte for certain. */
        private final int[] written = new int[FILE_BYTES];
        private final List<Failed> failed = new ArrayList<>();
        private int number;

        Run(final SimulatedUsrbio simulated, final long seed) {
            this.simulated = simulated;
            simulated.faults().random(seed);
            path = simulated.mount().resolve("file");
            try {
                Files.write(path, content);
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        void run(final List<Step> steps) {
            final Usrbio usrbio = simulated.usrbio();
            try (UsrbioChannel channel = UsrbioChannel.open(usrbio, simulated.mount().toString(),
                new UsrbioOptions(2, 3, BLOCK, 1_000, false, -1));
                PosixFile opened = PosixFile.open(path.toString(), OpenMode.READ_WRITE);
                Hf3fsFile file = Hf3fsFile.register(usrbio, opened)) {
                for (final Step step : steps) {
                    number++;
                    step.fault().tell(simulated.faults(), step);
                    try {
                        if (step.write()) {
                            write(step, channel, file);
                        } else {
                            read(step, channel, file);
                        }
                    } catch (final UsrbioException e) {
                        assertTrue(EXPECTED.contains(e.errno()), e.getMessage());
                    }
                    simulated.faults().heal().random(number);
                    if (step.hear()) {
                        simulated.hear();
                    }
                }
                // What is late comes before the end, so that no ring is given up.
                simulated.hear();
            }
            try {
                final byte[] all = Files.readAllBytes(path);
                assertEquals(FILE_BYTES, all.length);
                check(all, FILE_BYTES, 0);
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private void write(final Step step, final UsrbioChannel channel, final Hf3fsFile file) {
            final byte[] bytes = PatternBytes.of(number, Math.min(step.length(), FILE_BYTES - step.offset()));
            try {
                channel.write(file, MemorySegment.ofArray(bytes.clone()), step.offset());
            } catch (final UsrbioException e) {
                // Without a lane nothing was begun.
                if (e.errno() != Errno.EBUSY) {
                    failed.add(new Failed(number, step.offset(), bytes, e.uncertain()));
                }
                throw e;
            }
            System.arraycopy(bytes, 0, content, step.offset(), bytes.length);
            Arrays.fill(written, step.offset(), step.offset() + bytes.length, number);
        }

        private void read(final Step step, final UsrbioChannel channel, final Hf3fsFile file) {
            final byte[] bytes = new byte[step.length()];
            final long count = channel.read(file, MemorySegment.ofArray(bytes), step.offset());
            assertEquals(Math.clamp(FILE_BYTES - step.offset(), 0, bytes.length), count);
            check(bytes, (int) count, step.offset());
        }

        private void check(final byte[] bytes, final int count, final int offset) {
            for (int i = 0; i < count; i++) {
                final int at = offset + i;
                final byte value = bytes[i];
                if (value != content[at]
                    && failed.stream().noneMatch(one -> one.mayBe(at, value, written[at]))) {
                    assertEquals(content[at], value, "byte " + at + " after step " + number);
                }
            }
        }
    }
}
