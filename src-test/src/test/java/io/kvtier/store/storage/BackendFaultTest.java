package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.SharedRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.FailingCalls;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.Threads;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.storage.StorageBackend.Item;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.store.storage.StorageBackend.Result;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every call to the disk fails once, one after the other: what was reported holds all the same. */
@ExtendWith(LeakCheck.class)
@ParameterizedClass
@EnumSource(DiskBackend.class)
class BackendFaultTest {
    private static final int UNIT = Value.UNIT;
    private static final int CAPACITY_UNITS = 12;

    @Parameter
    private DiskBackend kind;
    @TempDir(factory = MemoryDirectory.class)
    private Path directory;

    private BackendRig.Setup setup(final Path where, final FileOpener files) {
        return new BackendRig.Setup(BackendRig.of(kind), where, CAPACITY_UNITS, 1, 1, files, false);
    }

    /** Stores, evicts, replaces, removes, reads and restarts; goes on after a failure as a host would. */
    private void scenario(final Path where, final FileOpener files, final Ledger ledger) {
        withRig(where, files, ledger, rig -> {
            ledger.store(rig, true, List.of(Value.of("a", 1, 1), Value.of("b", 1, UNIT), Value.of("c", 1, UNIT + 7)));
            ledger.store(rig, false, List.of(Value.of("d", 1, 0), Value.of("e", 1, 2 * UNIT - 3)));
            ledger.remove(rig, Value.of("b", 1, UNIT));
            ledger.store(rig, true, List.of(Value.of("e", 2, 3 * UNIT)));
            ledger.readAll(rig);
            ledger.store(rig, false, List.of(Value.of("f", 1, 4 * UNIT - 1), Value.of("g", 1, UNIT)));
            ledger.remove(rig, Value.of("e", 2, 3 * UNIT));
            ledger.store(rig, true, List.of(Value.of("h", 1, 4 * UNIT), Value.of("i", 1, UNIT)));
        });
        withRig(where, files, ledger, rig -> {
            ledger.verifyIndex(rig, true);
            ledger.adopt(rig);
            ledger.readAll(rig);
            ledger.store(rig, true, List.of(Value.of("j", 1, UNIT)));
            ledger.remove(rig, Value.of("j", 1, UNIT));
            ledger.remove(rig, Value.of("h", 1, 4 * UNIT));
        });
    }

    private void withRig(final Path where, final FileOpener files, final Ledger ledger,
        final Consumer<BackendRig> body) {
        final BackendRig rig;
        try {
            rig = setup(where, files).open();
        } catch (final StoreException e) {
            ledger.failures().add(e);
            return;
        }
        try {
            body.accept(rig);
        } finally {
            try {
                rig.close();
            } catch (final RuntimeException e) {
                ledger.failures().add(e);
            }
        }
    }

    private void verify(final Path where, final Ledger ledger) {
        assertEquals(List.of(), temporaryFiles(where));
        try (BackendRig rig = setup(where, FileOpener.POSIX).open()) {
            ledger.verify(rig, true);
            ledger.adopt(rig);
            for (final StoredValue one : rig.backend().recovered()) {
                rig.backend().remove(one.key(), one.version());
            }
        }
        try (BackendRig rig = setup(where, FileOpener.POSIX).open()) {
            assertEquals(0, rig.backend().usedBytes());
            rig.storeAll(new ModelOwner(), List.of(Value.of("all", 1, CAPACITY_UNITS * UNIT)));
        }
        assertEquals(List.of(), temporaryFiles(where));
    }

    private static List<Path> temporaryFiles(final Path where) {
        try (Stream<Path> all = Files.walk(where)) {
            return all.filter(path -> path.toString().endsWith(".tmp")).toList();
        } catch (final IOException e) {
            throw new AssertionError(e);
        }
    }

    private void failEach(final Call call, final ObjLongConsumer<Faults> arming) {
        final long runs = FailingCalls.runs(directory, call, arming, (where, files) -> {
            final Ledger ledger = new Ledger();
            return new FailingCalls.Run(ledger.failures(), () -> {
                scenario(where, files, ledger);
                verify(where, ledger);
            });
        });
        // Only a file that some values stay in has holes.
        assertTrue(runs > 1 || call == Call.PUNCH && kind != DiskBackend.BUCKET,
            "the scenario makes none of these calls");
    }

    @ParameterizedTest
    @EnumSource(value = Call.class, names = {"OPEN", "READ", "WRITE", "SYNC", "PREALLOCATE", "SIZE", "CLOSE"})
    void shouldHoldWhatItReportedWhenACallFailsWithAnInputOutputError(final Call call) {
        failEach(call, (faults, n) -> faults.failNth(call, n, Errno.EIO));
    }

    @ParameterizedTest
    @EnumSource(value = Call.class, names = {"OPEN", "WRITE", "SYNC", "PREALLOCATE"})
    void shouldHoldWhatItReportedWhenACallFindsTheDiskFull(final Call call) {
        failEach(call, (faults, n) -> faults.failNth(call, n, Errno.ENOSPC));
    }

    @Test
    void shouldHoldWhatItReportedWhenAHoleCannotBeMade() {
        failEach(Call.PUNCH, (faults, n) -> faults.failNth(Call.PUNCH, n, Errno.EIO));
    }

    @Test
    void shouldHoldWhatItReportedWhenAWriteIsTorn() {
        failEach(Call.WRITE, (faults, n) -> faults.tearNthWrite(n, 37 + 100 * n));
    }

    @Test
    void shouldHoldWhatItReportedWhenTransfersAreShort() {
        for (int seed = 1; seed <= 10; seed++) {
            final Path where = directory.resolve("short-" + seed);
            final Ledger ledger = new Ledger();
            scenario(where, new FaultyFiles(new Faults().randomShort(seed)), ledger);
            assertEquals(List.of(), ledger.failures(), "short transfers are gone on with");
            verify(where, ledger);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 100, 4096, 20_000, 50_000, 1_100_000, 2_200_000})
    void shouldHoldWhatItReportedWhenTheDiskIsFullFromSomePointOn(final int bytes) {
        final Path where = directory.resolve("full");
        final Ledger ledger = new Ledger();
        final Faults faults = new Faults();
        withRig(where, new FaultyFiles(faults), ledger, rig -> {
            ledger.store(rig, true, List.of(Value.of("first", 1, UNIT)));
            faults.fullAfter(bytes);
            for (int i = 0; i < 20; i++) {
                ledger.store(rig, i % 2 == 0, List.of(Value.of("k" + i, 1, UNIT + i)));
                if (i % 3 == 0) {
                    ledger.remove(rig, Value.of("k" + i, 1, UNIT + i));
                }
            }
            ledger.readAll(rig);
        });
        verify(where, ledger);
    }

    @Test
    void shouldGoOnStoringOnceTheDiskIsWellAgain() {
        final Ledger ledger = new Ledger();
        final Faults faults = new Faults();
        withRig(directory, new FaultyFiles(faults), ledger, rig -> {
            for (final Call call : List.of(Call.WRITE, Call.SYNC)) {
                for (int n = 1; n <= 4; n++) {
                    faults.failNth(call, n, Errno.EIO);
                    for (int i = 0; i < 6; i++) {
                        ledger.store(rig, true, List.of(Value.of(call + "-" + n + '-' + i, 1, UNIT)));
                    }
                }
            }
            assertFalse(ledger.failures().isEmpty());
            final Value last = Value.of("last", 1, 2 * UNIT);
            ledger.tried(last);
            assertEquals(Outcome.STORED, rig.store(ledger.owner(), true, List.of(last)).getFirst().outcome());
            ledger.stored(last);
            ledger.readAll(rig);
        });
        verify(directory, ledger);
    }

    /**
     * The kernel tells of a lost write once: whoever asks next is told that all is well. A batch with files of its own
     * asks for itself.
     */
    @Test
    void shouldFailEveryBatchThatWasWritingWhenASyncIsRefused() throws InterruptedException {
        final ModelOwner owner = new ModelOwner();
        final Faults faults = new Faults();
        try (BackendRig rig = setup(directory, new FaultyFiles(faults)).threads(2).open()) {
            rig.storeAll(owner, List.of(Value.of("before", 1, UNIT)));
            final CompletableFuture<List<Result>> slow;
            try (Faults.Gate gate = faults.blockNext(Call.WRITE)) {
                slow = Threads.start(() -> rig.store(owner, true, List.of(Value.of("slow", 1, UNIT))));
                gate.awaitEntered();
                faults.failNth(Call.SYNC, 1, Errno.EIO);
                assertEquals(Outcome.FAILED,
                    rig.store(owner, true, List.of(Value.of("refused", 1, UNIT))).getFirst().outcome());
            }
            final boolean shared = kind == DiskBackend.OFFSET_ALLOCATOR;
            assertEquals(shared ? Outcome.FAILED : Outcome.STORED, slow.join().getFirst().outcome());
            assertEquals(shared ? UNIT : 2 * UNIT, rig.backend().usedBytes());

            rig.storeAll(owner, List.of(Value.of("slow", 1, UNIT), Value.of("refused", 1, UNIT)));
        }
    }

    @Test
    void shouldGiveTheDirectoryUpWhenOpeningFails() {
        final Faults faults = new Faults().failNth(Call.OPEN, 1, Errno.EIO);
        final Ledger ledger = new Ledger();
        withRig(directory, new FaultyFiles(faults), ledger, rig -> { });
        assertEquals(1, ledger.failures().size());
        withRig(directory, FileOpener.POSIX, ledger, rig -> ledger.store(rig, true, List.of(Value.of("a", 1, 1))));
        assertEquals(1, ledger.failures().size());
        verify(directory, ledger);
    }

    /** A process that dies after a failure leaves the directory as it is then: nothing has put it right by closing. */
    @ParameterizedTest
    @EnumSource(value = Call.class, names = {"OPEN", "WRITE", "SYNC"})
    void shouldHoldWhatItReportedWhenTheProcessDiesAfterAFailure(final Call call) {
        FailingCalls.each(directory, call, (faults, n) -> faults.failNth(call, n, Errno.EIO), (where, files) -> {
            final Ledger ledger = new Ledger();
            return new FailingCalls.Run(ledger.failures(),
                () -> withRig(where, files, ledger, rig -> steps(ledger).forEach(step -> {
                    step.accept(rig);
                    verifyImage(where, ledger);
                })));
        });
    }

    private static List<Consumer<BackendRig>> steps(final Ledger ledger) {
        return List.of(
            rig -> ledger.store(rig, true, List.of(Value.of("a", 1, 1), Value.of("b", 1, UNIT))),
            rig -> ledger.remove(rig, Value.of("b", 1, UNIT)),
            // Once more, as who was told that it could not be written does.
            rig -> ledger.remove(rig, Value.of("b", 1, UNIT)),
            rig -> ledger.store(rig, true, List.of(Value.of("c", 1, 2 * UNIT))),
            rig -> ledger.remove(rig, Value.of("c", 1, 2 * UNIT)),
            rig -> ledger.store(rig, true, List.of(Value.of("a", 2, UNIT), Value.of("d", 1, 8 * UNIT))),
            rig -> ledger.store(rig, true, List.of(Value.of("e", 1, 6 * UNIT))),
            rig -> ledger.remove(rig, Value.of("a", 2, UNIT)),
            rig -> ledger.remove(rig, Value.of("a", 2, UNIT)));
    }

    /** What a process finds that is started after this one has died just now. */
    private void verifyImage(final Path where, final Ledger ledger) {
        final Path image = directory.resolve("image");
        try (Stream<Path> files = Files.walk(where)) {
            for (final Path file : files.filter(path -> !path.endsWith("LOCK")).toList()) {
                Files.copy(file, image.resolve(where.relativize(file).toString()));
            }
            try (BackendRig rig = setup(image, FileOpener.POSIX).open()) {
                ledger.verify(rig, true);
            }
            Directories.delete(image);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Who owns the values falls silent between two questions: what has been let go by then is gone for good. */
    @Test
    void shouldNotFindAgainWhatItsOwnerLetGoBeforeItFellSilent() {
        final Path where = directory.resolve("silent");
        final Ledger ledger = new Ledger();
        withRig(where, FileOpener.POSIX, ledger, rig -> {
            for (int i = 0; i < CAPACITY_UNITS - 1; i++) {
                ledger.store(rig, true, List.of(Value.of("v" + i, 1, UNIT)));
            }
            ledger.owner().allow(victim -> switch (victim.key().key()) {
                case "v0" -> true;
                case "v1" -> false;
                default -> throw new StoreException(ErrorCode.RPC_TIMEOUT, "no answer");
            });
            ledger.store(rig, true, List.of(Value.of("large", 1, 3 * UNIT)));
            assertEquals(ErrorCode.RPC_TIMEOUT, ((StoreException) ledger.failures().getFirst()).code());
            assertFalse(rig.has(Value.of("v0", 1, UNIT)));
            ledger.remove(rig, Value.of("v0", 1, UNIT));
            verifyImage(where, ledger);
        });
    }

    @Test
    void shouldFailOneValueAndStoreTheOthersWhenItsMemoryIsGone() {
        final Value gone = Value.of("gone", 1, UNIT);
        final Value there = Value.of("there", 1, UNIT);
        final ModelOwner owner = new ModelOwner();
        owner.want(gone);
        owner.want(there);
        try (BackendRig rig = setup(directory, FileOpener.POSIX).open();
            SharedRegion cut = SharedRegion.create(directory, UNIT);
            HostRegion memory = HostRegion.allocate(NativeTag.TEST, UNIT)) {
            memory.segment().copyFrom(MemorySegment.ofArray(there.bytes()));
            try (PosixFile file = PosixFile.open(cut.path().toString(), OpenMode.READ_WRITE)) {
                file.resize(UNIT);
            }

            final List<Result> results = rig.backend().store(List.of(
                new Item(gone.key(), gone.version(), cut.slice(0, UNIT), UNIT),
                new Item(there.key(), there.version(), memory.slice(0, UNIT), UNIT)), owner);

            assertEquals(List.of(Outcome.FAILED, Outcome.STORED), results.stream().map(Result::outcome).toList());
            rig.assertReadable(there);
            assertEquals(UNIT, rig.backend().usedBytes());
        }
    }
}
