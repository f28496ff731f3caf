package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MappedRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.OpenDescriptors;
import io.kvtier.store.DiskEviction;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.storage.StorageBackend.Item;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.store.storage.StorageBackend.ReadLease;
import io.kvtier.store.storage.StorageBackend.Result;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What every backend does; one class a backend says how it is opened. */
@ExtendWith(LeakCheck.class)
abstract class StorageBackendContract {
    private static final int UNIT = Value.UNIT;
    /** Descriptors that a backend may need. */
    private static final int FEW_FILES = 150;
    /** They are counted each time that so many more were opened. */
    private static final int COUNTED_EACH = 16;

    @TempDir
    private Path directory;
    private final ModelOwner owner = new ModelOwner();

    abstract StorageBackend open(BackendRig.Setup setup, TransferEngine engine);

    private BackendRig.Setup setup(final long units) {
        return new BackendRig.Setup(this::open, directory, units, 1, 1, FileOpener.POSIX, false);
    }

    private BackendRig rig(final long units) {
        return setup(units).open();
    }

    private static List<Value> ones(final String prefix, final int count) {
        return IntStream.range(0, count).mapToObj(i -> Value.of(prefix + i, 1, UNIT - i)).toList();
    }

    private static List<Outcome> outcomes(final List<Result> results) {
        return results.stream().map(Result::outcome).toList();
    }

    private static List<String> keys(final List<StoredValue> values) {
        return values.stream().map(value -> value.key().key()).toList();
    }

    /** What comes down from memory was used before what was read here meanwhile. */
    @Test
    void shouldEvictInOrderOfUseAndNotOfArrival() {
        final List<Value> values = ones("v", 3);
        try (BackendRig rig = rig(3)) {
            final long now = System.nanoTime();
            rig.storeUsed(owner, values.get(0), now - 1_000_000);
            rig.storeUsed(owner, values.get(1), now - 3_000_000);
            rig.storeUsed(owner, values.get(2), now - 2_000_000);
            assertEquals(List.of("v1", "v2", "v0"), keys(rig.backend().stored()));
            assertTrue(rig.has(values.get(1)), "a use");
            rig.storeAll(owner, ones("w", 1));
            assertEquals(List.of("v2"), owner.evictedKeys());
            assertEquals(List.of("v0", "v1", "w0"), keys(rig.backend().stored()));
        }
    }

    /** With FIFO neither a read is a use, nor one in memory before it came; what may not go is passed over. */
    @Test
    void shouldEvictInOrderOfArrivalWhenItIsTold() {
        final List<Value> values = ones("v", 3);
        try (BackendRig rig = setup(3).evicting(DiskEviction.FIFO).open()) {
            final long now = System.nanoTime();
            rig.storeUsed(owner, values.get(0), now - 1_000_000);
            rig.storeUsed(owner, values.get(1), now - 3_000_000);
            rig.storeUsed(owner, values.get(2), now - 2_000_000);
            assertEquals(List.of("v0", "v1", "v2"), keys(rig.backend().stored()));
            assertTrue(rig.has(values.get(0)), "no use");
            rig.storeAll(owner, ones("w", 1));
            assertEquals(List.of("v0"), owner.evictedKeys());
            owner.allow(victim -> !victim.key().key().equals("v1"));
            rig.storeAll(owner, ones("x", 1));
            assertEquals(List.of("v0", "v2"), owner.evictedKeys());
        }
        owner.allow(victim -> true);
        try (BackendRig rig = setup(3).evicting(DiskEviction.FIFO).open()) {
            assertTrue(rig.has(ones("w", 1).getFirst()));
            rig.storeAll(owner, ones("y", 2));
            assertEquals(Set.of("v0", "v2", "v1", "w0"), Set.copyOf(owner.evictedKeys()), "x came last");
        }
    }

    @Test
    void shouldEvictBeforeAllOthersWhatMemoryHasAsWell() {
        final List<Value> values = ones("v", 4);
        try (BackendRig rig = rig(4)) {
            rig.storeAll(owner, values);
            rig.backend().copiedUp(ObjectKey.of("unknown"));
            for (final int copied : List.of(2, 3)) {
                rig.backend().copiedUp(values.get(copied).key());
                owner.inMemory(values.get(copied), true);
            }
            owner.inMemory(values.get(2), false);
            rig.storeAll(owner, ones("w", 1));
            assertEquals(List.of("v3"), owner.evictedKeys(), "it alone has another copy");
            rig.storeAll(owner, ones("x", 1));
            assertEquals(List.of("v3", "v0"), owner.evictedKeys());
            owner.inMemory(values.get(1), true);
            rig.backend().copiedUp(values.get(1).key());
            assertTrue(rig.has(values.get(1)), "a use of it, that is still a copy");
            rig.storeAll(owner, ones("y", 1));
            assertEquals(List.of("v3", "v0", "v1"), owner.evictedKeys());
            rig.assertReadable(values.get(2));
        }
    }

    @ParameterizedTest
    @CsvSource({"true,true", "true,false", "false,true", "false,false"})
    void shouldReadBackWhatWasStoredWhateverItsSize(final boolean direct, final boolean padded) {
        final List<Value> values = IntStream.of(0, 1, UNIT - 1, UNIT, UNIT + 1, (64 << 10) - 1, 64 << 10,
            (64 << 10) + 1, 1 << 20, 20 << 20).mapToObj(size -> Value.of("size-" + size, 7, size)).toList();
        final BackendRig.Setup setup =
            new BackendRig.Setup(this::open, directory, 8192, 1, 1, FileOpener.POSIX, direct);
        try (BackendRig rig = setup.open()) {
            final List<Result> results = rig.store(owner, padded, values);

            assertEquals(values.stream().map(Value::checksum).toList(),
                results.stream().map(Result::checksum).toList());
            assertEquals(values.stream().map(value -> Outcome.STORED).toList(), outcomes(results));
            assertEquals(values.stream().mapToLong(Value::extent).sum(), rig.backend().usedBytes());
            assertEquals(8192L * UNIT, rig.backend().capacityBytes());
            for (final Value value : values) {
                assertArrayEquals(value.bytes(), rig.read(value, true), () -> "padded read of " + value);
                assertArrayEquals(value.bytes(), rig.read(value, false), () -> "plain read of " + value);
            }
        }
        try (BackendRig rig = setup.open()) {
            values.forEach(rig::assertReadable);
            assertEquals(values.stream().mapToLong(Value::extent).sum(), rig.backend().usedBytes());
        }
    }

    /** A process may have a thousand files open, say, and a batch of small values as many thousands of them. */
    @Test
    void shouldHaveFewFilesOpenHoweverManyValuesABatchHas() throws IOException {
        final String inside = directory.toRealPath().toString();
        final AtomicInteger calls = new AtomicInteger();
        final AtomicInteger most = new AtomicInteger();
        final FileOpener counting = (path, mode) -> {
            if (calls.incrementAndGet() % COUNTED_EACH == 0) {
                most.accumulateAndGet(OpenDescriptors.of(inside).size(), Math::max);
            }
            return FileOpener.POSIX.open(path, mode);
        };
        final List<Value> values = ones("v", FEW_FILES + 10);
        try (BackendRig rig = new BackendRig.Setup(this::open, directory, 8192, 1, 1, counting, true).open()) {
            rig.storeAll(owner, values);
            assertTrue(most.get() <= FEW_FILES, () -> most + " files were open at the same time");
            values.forEach(rig::assertReadable);
            assertTrue(OpenDescriptors.of(inside).size() <= FEW_FILES);
        }
        assertEquals(List.of(), OpenDescriptors.of(inside));
    }

    @Test
    void shouldKeepTheBytesOfAHeldValueThoughItIsRemovedAndTheDiskRefilled() {
        final Value held = Value.of("held", 1, 3 * UNIT - 5);
        try (BackendRig rig = rig(8)) {
            rig.storeAll(owner, List.of(held));
            final ReadLease lease = rig.backend().acquire(held.key(), 1);
            final ReadLease second = rig.backend().acquire(held.key(), 1);
            rig.remove(owner, held);
            assertFalse(rig.has(held), "a removed value is not found");
            for (int round = 0; round < 5; round++) {
                rig.storeAll(owner, List.of(Value.of("a" + round, 1, 2 * UNIT), Value.of("b" + round, 1, UNIT)));
                assertArrayEquals(held.bytes(), rig.read(lease, true), "bytes while held");
            }
            assertEquals(List.of(Outcome.NO_SPACE), outcomes(rig.store(owner, true, List.of(Value.of("all", 1,
                8 * UNIT)))), "the extent of a held value is not given away");
            lease.close();
            lease.close();
            assertArrayEquals(held.bytes(), rig.read(second, false), "bytes while held by one");
            second.close();

            rig.storeAll(owner, List.of(Value.of("all", 1, 8 * UNIT)));
            assertFalse(rig.has(held));
        }
    }

    @Test
    void shouldRemoveWhatIsDiscardedByWhoHoldsItAndKeepItsBytesUntilThen() {
        final Value bad = Value.of("bad", 1, 3 * UNIT - 5);
        try (BackendRig rig = rig(3)) {
            rig.storeAll(owner, List.of(bad));
            try (ReadLease lease = rig.backend().acquire(bad.key(), 1)) {
                owner.forget(bad);
                lease.discard();
                lease.discard();
                assertFalse(rig.has(bad));
                assertEquals(List.of(Outcome.NO_SPACE), outcomes(rig.store(owner, true, List.of(Value.of("next", 1,
                    UNIT)))), "the extent of a held value is not given away");
                assertArrayEquals(bad.bytes(), rig.read(lease, true));
            }
            rig.storeAll(owner, List.of(Value.of("all", 1, 3 * UNIT)));
        }
        try (BackendRig rig = rig(3)) {
            assertFalse(rig.has(bad), "a discarded copy is found again");
        }
    }

    /** Who found out that a copy is bad may come late: meanwhile the value has been copied down anew. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldKeepTheCopyThatTookThePlaceOfTheOneThatIsDiscarded(final boolean removedBetween) {
        final Value value = Value.of("twice", 1, 2 * UNIT);
        try (BackendRig rig = rig(8)) {
            rig.storeAll(owner, List.of(value));
            try (ReadLease lease = rig.backend().acquire(value.key(), 1)) {
                if (removedBetween) {
                    rig.remove(owner, value);
                }
                rig.storeAll(owner, List.of(value));
                lease.discard();
                rig.assertReadable(value);
            }
            assertEquals(List.of("twice"), keys(rig.backend().stored()));
        }
        try (BackendRig rig = rig(8)) {
            rig.assertReadable(value);
        }
    }

    @Test
    void shouldNotEvictAHeldValue() {
        final Value held = Value.of("held", 1, UNIT);
        try (BackendRig rig = rig(8)) {
            rig.storeAll(owner, List.of(held));
            try (ReadLease lease = rig.backend().acquire(held.key(), 1)) {
                for (final Value value : ones("x", 20)) {
                    rig.storeAll(owner, List.of(value));
                }
                assertEquals(held.key(), lease.value().key());
            }
            assertFalse(owner.evictedKeys().contains("held"));
            rig.assertReadable(held);
        }
    }

    @Test
    void shouldNotFindAnotherVersionOrAnotherTenant() {
        final Value value = Value.of("k", 5, 100);
        try (BackendRig rig = rig(8)) {
            rig.storeAll(owner, List.of(value));

            assertNull(rig.backend().acquire(value.key(), 4));
            assertNull(rig.backend().acquire(value.key(), 6));
            assertNull(rig.backend().acquire(ObjectKey.of("other", "k"), 5));
            rig.backend().remove(value.key(), 4);
            rig.backend().remove(ObjectKey.of("other", "k"), 5);
            rig.assertReadable(value);
        }
    }

    @Test
    void shouldStoreTheOthersOfABatchWhenOneIsTooLarge() {
        final List<Value> before = ones("before", 4);
        final Value large = Value.of("large", 1, 17 * UNIT);
        final Value good = Value.of("good", 1, UNIT);
        try (BackendRig rig = rig(16)) {
            rig.storeAll(owner, before);

            final List<Result> results = rig.store(owner, true, List.of(large, good));

            assertEquals(List.of(Outcome.TOO_LARGE, Outcome.STORED), outcomes(results));
            assertEquals(List.of(), owner.evictedKeys(), "nothing has to go for what never fits");
            before.forEach(rig::assertReadable);
            rig.assertReadable(good);
            assertFalse(rig.has(large));
            assertEquals(5L * UNIT, rig.backend().usedBytes());
        }
    }

    @Test
    void shouldStoreTheOthersOfABatchWhenTheMemoryOfOneIsGoneOrShort() {
        final Value good = Value.of("good", 1, 2 * UNIT);
        owner.want(good);
        owner.want(Value.of("gone", 1, UNIT));
        owner.want(Value.of("short", 1, UNIT));
        try (BackendRig rig = rig(16); HostRegion memory = HostRegion.allocate(NativeTag.TEST, 4L * UNIT)) {
            memory.segment().asByteBuffer().put(good.bytes());
            final HostRegion gone = HostRegion.allocate(NativeTag.TEST, UNIT);
            final Item first = new Item(ObjectKey.of("gone"), 1, gone.slice(0, UNIT), UNIT);
            gone.close();

            final List<Result> results = rig.backend().store(List.of(first,
                new Item(ObjectKey.of("short"), 1, memory.slice(0, 10), UNIT),
                new Item(good.key(), 1, memory.slice(0, 2 * UNIT), good.size())), owner);

            assertEquals(List.of(Outcome.FAILED, Outcome.FAILED, Outcome.STORED), outcomes(results));
            assertNotNull(results.get(0).cause());
            assertEquals(2L * UNIT, rig.backend().usedBytes());
            rig.assertReadable(good);
        }
    }

    /** A value may lie in memory that others can map, and cut. */
    @Test
    void shouldFailAValueWhoseMemoryIsGoneAndKeepNoRoomForIt() throws IOException {
        final Value good = Value.of("good", 1, UNIT);
        final Path path = Files.write(directory.resolve("mapped"), new byte[4 * UNIT]);
        try (BackendRig rig = rig(8); PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE);
            MappedRegion mapped = MappedRegion.map(path.toString(), 0, 4 * UNIT, true)) {
            rig.storeAll(owner, List.of(good));
            final Value cut = Value.of("cut", 1, 4 * UNIT);
            owner.want(cut);
            file.resize(0);

            final List<Result> results = rig.backend().store(
                List.of(new Item(cut.key(), 1, mapped.slice(0, 4 * UNIT), 4 * UNIT)), owner);

            assertEquals(List.of(Outcome.FAILED), outcomes(results));
            assertFalse(rig.has(cut));
            assertEquals(UNIT, rig.backend().usedBytes());
            rig.storeAll(owner, List.of(Value.of("rest", 1, 7 * UNIT)));
            rig.assertReadable(good);
        }
    }

    @Test
    void shouldFailOnlyTheValueThatTheOwnerCannotAnswerFor() {
        final List<Value> values = ones("v", 3);
        owner.answer(key -> {
            if (key.key().equals("v1")) {
                throw new IllegalStateException("told to fail");
            }
            return true;
        });
        try (BackendRig rig = rig(16)) {
            assertEquals(List.of(Outcome.STORED, Outcome.FAILED, Outcome.STORED),
                outcomes(rig.store(owner, true, values)));
            assertEquals(2L * UNIT, rig.backend().usedBytes());
        }
    }

    @Test
    void shouldEvictInOrderOfUse() {
        final List<String> order = new ArrayList<>();
        try (BackendRig rig = rig(16)) {
            for (final Value value : ones("old", 12)) {
                rig.storeAll(owner, List.of(value));
                order.add(value.key().key());
            }
            assertEquals(List.of(), owner.evictedKeys(), "there was room");
            for (final String read : List.of("old5", "old0", "old9", "old0")) {
                final Value value = Value.of(read, 1, UNIT - Integer.parseInt(read.substring(3)));
                rig.assertReadable(value);
                order.remove(read);
                order.add(read);
            }
            for (final Value value : ones("new", 14)) {
                rig.storeAll(owner, List.of(value));
                order.add(value.key().key());
            }

            final List<String> evicted = owner.evictedKeys();
            assertTrue(evicted.size() >= 10 && evicted.size() <= 11, () -> "evicted " + evicted);
            assertEquals(order.subList(0, evicted.size()), evicted);
            assertTrue(rig.backend().usedBytes() <= 16L * UNIT);
        }
    }

    @Test
    void shouldSayNoSpaceWhenTheOwnerGivesNothingUp() {
        final List<Value> values = ones("v", 16);
        owner.allow(victim -> false);
        try (BackendRig rig = rig(16)) {
            rig.storeAll(owner, values);
            owner.asked().clear();

            assertEquals(List.of(Outcome.NO_SPACE, Outcome.NO_SPACE),
                outcomes(rig.store(owner, true, List.of(Value.of("x", 1, UNIT), Value.of("y", 1, 5 * UNIT)))));

            assertTrue(owner.asked().size() <= 8 * values.size(), () -> "asked " + owner.asked().size() + " times");
            values.forEach(rig::assertReadable);
            assertEquals(16L * UNIT, rig.backend().usedBytes());
        }
    }

    @Test
    void shouldEvictOnlyWhatTheOwnerGivesUp() {
        final List<Value> values = ones("v", 16);
        owner.allow(victim -> Integer.parseInt(victim.key().key().substring(1)) % 2 == 1);
        try (BackendRig rig = rig(16)) {
            rig.storeAll(owner, values);
            final List<Value> more = ones("1", 3);

            more.forEach(value -> rig.storeAll(owner, List.of(value)));

            more.forEach(rig::assertReadable);
            for (int i = 0; i < values.size(); i += 2) {
                rig.assertReadable(values.get(i));
            }
            owner.evicted().forEach(victim -> assertNull(rig.backend().acquire(victim.key(), victim.version())));
        }
    }

    @Test
    void shouldLeaveNothingOfAValueThatWasRemovedWhileItWasStored() {
        final Value gone = Value.of("gone", 1, 2 * UNIT);
        final Value kept = Value.of("kept", 1, 2 * UNIT);
        owner.answer(key -> key.key().equals("kept"));
        try (BackendRig rig = rig(16)) {
            assertEquals(List.of(Outcome.REMOVED_MEANWHILE, Outcome.STORED),
                outcomes(rig.store(owner, true, List.of(gone, kept))));
            assertFalse(rig.has(gone));
            assertEquals(kept.extent(), rig.backend().usedBytes());
        }
        try (BackendRig rig = rig(16)) {
            assertEquals(List.of("kept"), keys(rig.backend().recovered()));
            assertEquals(kept.extent(), rig.backend().usedBytes());
        }
    }

    @Test
    void shouldEvictToTheLowWatermarkWhenTheHighOneIsPassed() {
        try (BackendRig rig = setup(32).watermarks(0.75, 0.5).open()) {
            final List<Value> values = ones("v", 60);
            for (int i = 0; i < 24; i++) {
                rig.storeAll(owner, List.of(values.get(i)));
            }
            assertEquals(List.of(), owner.evictedKeys());
            assertEquals(24L * UNIT, rig.backend().usedBytes());

            rig.storeAll(owner, List.of(values.get(24)));
            assertEquals(16L * UNIT, rig.backend().usedBytes());
            assertEquals(keysOf(values.subList(0, 9)), owner.evictedKeys());
            for (int i = 25; i < values.size(); i++) {
                rig.storeAll(owner, List.of(values.get(i)));
                assertTrue(rig.backend().usedBytes() <= 24L * UNIT);
            }
        }
    }

    private static List<String> keysOf(final List<Value> values) {
        return values.stream().map(value -> value.key().key()).toList();
    }

    @Test
    void shouldUseTheRoomOfRemovedValuesBeforeItEvictsOthers() {
        final List<Value> values = ones("v", 12);
        try (BackendRig rig = rig(16)) {
            rig.storeAll(owner, values);
            values.subList(4, 12).forEach(value -> rig.remove(owner, value));

            rig.storeAll(owner, List.of(Value.of("new", 1, 6 * UNIT)));

            assertEquals(List.of(), owner.evictedKeys());
            values.subList(0, 4).forEach(rig::assertReadable);
        }
    }

    @Test
    void shouldEvictNothingForALargeValueThatFits() {
        final List<Value> values = ones("v", 8);
        try (BackendRig rig = rig(16)) {
            rig.storeAll(owner, values);
            rig.storeAll(owner, List.of(Value.of("large", 1, 8 * UNIT)));

            assertEquals(List.of(), owner.evictedKeys());
            values.forEach(rig::assertReadable);
            assertEquals(16L * UNIT, rig.backend().usedBytes());
        }
    }

    @Test
    void shouldHaveNothingInUseWhenAllIsRemoved() {
        final List<Value> values = ones("v", 12);
        try (BackendRig rig = rig(16)) {
            rig.storeAll(owner, values);
            values.forEach(value -> rig.remove(owner, value));
            final Value last = Value.of("last", 1, 1);
            rig.storeAll(owner, List.of(last));
            assertEquals(last.extent(), rig.backend().usedBytes(), "a later store makes the removals durable");
            rig.remove(owner, last);
        }
        try (BackendRig rig = rig(16)) {
            assertEquals(0, rig.backend().usedBytes());
            assertEquals(List.of(), rig.backend().recovered());
            rig.storeAll(owner, List.of(Value.of("all", 1, 16 * UNIT)));
        }
    }

    @Test
    void shouldFindWhatWasStoredInOrderOfUseAfterARestart() {
        final List<Value> values = ones("v", 6);
        try (BackendRig rig = rig(16)) {
            assertEquals(List.of(), rig.backend().recovered());
            rig.storeAll(owner, values);
            rig.assertReadable(values.get(0));
            rig.assertReadable(values.get(3));
            rig.remove(owner, values.get(1));
        }
        try (BackendRig rig = rig(16)) {
            final List<StoredValue> found = rig.backend().recovered();
            assertEquals(List.of("v2", "v4", "v5", "v0", "v3"), keys(found));
            for (final StoredValue one : found) {
                final Value value = values.get(Integer.parseInt(one.key().key().substring(1)));
                assertEquals(value.size(), one.size());
                assertEquals(value.checksum(), one.checksum());
                assertEquals(1, one.version());
            }
            ones("new", 13).forEach(value -> rig.storeAll(owner, List.of(value)));
            assertTrue(owner.evictedKeys().size() >= 2, () -> "evicted " + owner.evictedKeys());
            assertEquals(List.of("v2", "v4", "v5", "v0", "v3").subList(0, owner.evictedKeys().size()),
                owner.evictedKeys(), "the order survives as the order of eviction");
        }
    }

    @Test
    void shouldPutANewerVersionInThePlaceOfAnOlderOne() {
        final Value first = Value.of("k", 1, 2 * UNIT);
        final Value second = Value.of("k", 2, 3 * UNIT);
        try (BackendRig rig = rig(16)) {
            rig.storeAll(owner, List.of(first));
            rig.storeAll(owner, List.of(second));
            assertFalse(rig.has(first));
            rig.assertReadable(second);
            rig.backend().remove(first.key(), 1);
            rig.assertReadable(second);
        }
        try (BackendRig rig = rig(16)) {
            rig.assertReadable(second);
            assertEquals(second.extent(), rig.backend().usedBytes());
        }
    }

    @Test
    void shouldKeepTheLastOfTwoValuesOfOneKeyInABatch() {
        final Value value = Value.of("k", 1, 2 * UNIT);
        try (BackendRig rig = rig(16)) {
            rig.storeAll(owner, List.of(value, value));
            rig.assertReadable(value);
            rig.storeAll(owner, List.of(Value.of("other", 1, 1)));
            assertEquals(3L * UNIT, rig.backend().usedBytes());
        }
        try (BackendRig rig = rig(16)) {
            rig.assertReadable(value);
            assertEquals(3L * UNIT, rig.backend().usedBytes());
        }
    }

    @Test
    void shouldCloseTwiceWithoutHarm() {
        final BackendRig rig = rig(16);
        rig.storeAll(owner, ones("v", 2));
        rig.close();
        rig.close();
        try (BackendRig next = rig(16)) {
            rig.close();
            assertEquals(List.of("v0", "v1"), keys(next.backend().recovered()));
        }
    }

    @Test
    void shouldStoreAnEmptyBatch() {
        try (BackendRig rig = rig(16)) {
            assertEquals(List.of(), rig.backend().store(List.of(), owner));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldGiveEachThreadTheBytesItAskedFor(final boolean virtual) throws Exception {
        final Map<ObjectKey, Value> live = new ConcurrentHashMap<>();
        try (BackendRig rig = rig(64)) {
            final ThreadFactory threads = virtual ? Thread.ofVirtual().factory() : Thread.ofPlatform().factory();
            try (ExecutorService executor = Executors.newThreadPerTaskExecutor(threads)) {
                final List<Future<?>> running = new ArrayList<>();
                for (int i = 0; i < 6; i++) {
                    final int number = i;
                    running.add(executor.submit(() -> work(rig, number, live)));
                }
                for (final Future<?> one : running) {
                    one.get();
                }
            }
            assertLive(rig, live);
            assertTrue(owner.evicted().size() > 10, "the disk was too large for this test");
        }
        try (BackendRig rig = rig(64)) {
            assertLive(rig, live);
            assertEquals(live.values().stream().filter(owner::wants).mapToLong(Value::extent).sum(),
                rig.backend().usedBytes());
            assertEquals(new HashSet<>(live.values().stream().filter(owner::wants).map(Value::key).toList()),
                new HashSet<>(rig.backend().recovered().stream().map(StoredValue::key).toList()));
        }
    }

    private void assertLive(final BackendRig rig, final Map<ObjectKey, Value> live) {
        live.values().stream().filter(owner::wants).forEach(rig::assertReadable);
    }

    private void work(final BackendRig rig, final int thread, final Map<ObjectKey, Value> live) {
        final SplittableRandom random = new SplittableRandom(thread);
        for (int i = 0; i < 60; i++) {
            final Value[] values = new Value[1 + random.nextInt(3)];
            Arrays.setAll(values, j -> Value.of("t" + thread + '-' + random.nextInt(12), random.nextLong(1L << 40),
                random.nextInt(4 * UNIT)));
            final UnaryOperator<List<Value>> distinct = all -> all.stream().map(Value::key).distinct().map(key ->
                all.stream().filter(value -> value.key().equals(key)).findFirst().orElseThrow()).toList();
            final List<Value> batch = distinct.apply(List.of(values));
            final List<Result> results = rig.store(owner, random.nextBoolean(), batch);
            for (int j = 0; j < batch.size(); j++) {
                final Value value = batch.get(j);
                assertTrue(results.get(j).outcome() == Outcome.STORED || results.get(j).outcome() == Outcome.NO_SPACE,
                    () -> "results " + results);
                if (results.get(j).outcome() == Outcome.STORED) {
                    live.put(value.key(), value);
                } else {
                    owner.forget(value);
                }
            }
            for (final Value value : live.values()) {
                if (random.nextInt(4) == 0) {
                    final byte[] bytes = rig.read(value, random.nextBoolean());
                    if (bytes != null) {
                        assertArrayEquals(value.bytes(), bytes, () -> "bytes of " + value);
                    }
                }
            }
            final Value mine = batch.get(0);
            if (random.nextInt(3) == 0) {
                rig.remove(owner, mine);
                assertFalse(rig.has(mine));
            }
        }
    }
}
