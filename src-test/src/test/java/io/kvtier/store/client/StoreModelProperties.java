package io.kvtier.store.client;


import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.LeakCheck;
import io.kvtier.store.client.StoreModel.Step;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;

/** Random sequences of operations on an embedded store, with faults and restarts, against a plain map. */
class StoreModelProperties {
    @Property(tries = 200)
    void memoryOnlyStoreKeepsItsInvariants(@ForAll("steps") final List<Step> steps,
        @ForAll("leases") final long leaseMs) {
        LeakCheck.around(() -> run(steps, leaseMs, 0, 0));
    }

    @Property(tries = 200)
    void tieredStoreKeepsItsInvariants(@ForAll("steps") final List<Step> steps,
        @ForAll("leases") final long leaseMs) {
        LeakCheck.around(() -> run(steps, leaseMs, StoreModel.DISK_UNITS, 0));
    }

    @Property(tries = 200)
    void tieredStoreKeepsItsInvariantsWhileFilesFail(@ForAll("stepsWithFaults") final List<Step> steps) {
        LeakCheck.around(() -> run(steps, 0, StoreModel.DISK_UNITS, 0));
    }

    @Property(tries = 150)
    void storeWithAGdsFileKeepsItsInvariants(@ForAll("steps") final List<Step> steps,
        @ForAll("leases") final long leaseMs) {
        LeakCheck.around(() -> run(steps, leaseMs, 0, StoreModel.GDS_UNITS));
    }

    @Property(tries = 150)
    void storeWithAGdsFileAndADiskKeepsItsInvariants(@ForAll("steps") final List<Step> steps) {
        LeakCheck.around(() -> run(steps, 0, StoreModel.DISK_UNITS, StoreModel.GDS_UNITS));
    }

    @Property(tries = 150)
    void storeWithAGdsFileKeepsItsInvariantsWhileFilesFail(@ForAll("stepsWithFaults") final List<Step> steps) {
        LeakCheck.around(() -> run(steps, 0, 0, StoreModel.GDS_UNITS));
    }

    private static void run(final List<Step> steps, final long leaseMs, final int diskUnits, final int gdsUnits) {
        try (StoreModel model = new StoreModel(leaseMs, diskUnits, gdsUnits)) {
            for (final Step step : steps) {
                step.apply(model);
                model.check();
            }
        }
    }

    @Provide
    Arbitrary<Long> leases() {
        return Arbitraries.of(0L, 1_000L);
    }

    @Provide
    Arbitrary<List<Step>> steps() {
        return calls().list().ofMinSize(5).ofMaxSize(80);
    }

    @Provide
    Arbitrary<List<Step>> stepsWithFaults() {
        return Arbitraries.frequencyOf(Tuple.of(12, calls()), Tuple.of(1, faults()))
            .list().ofMinSize(10).ofMaxSize(80);
    }

    private static Arbitrary<Step> calls() {
        final Arbitrary<Integer> keys = Arbitraries.integers().between(0, 11);
        final Arbitrary<Integer> sizes = Arbitraries.of(0, 1, 100, 4095, 4096, 4097, 8192, 12_289, 20_480);
        final Arbitrary<Step> puts = Combinators.combine(keys, sizes, Arbitraries.integers())
            .as((key, size, seed) -> new Step("put " + key + " of " + size, model -> model.put(key, size, seed)));
        final Arbitrary<Step> gets = keys.map(key -> new Step("get " + key, model -> model.get(key)));
        final Arbitrary<Step> ranges = Combinators.combine(keys, Arbitraries.integers().between(0, 5000),
            Arbitraries.integers().between(0, 5000)).as((key, offset, length) -> new Step("get " + key + " from "
                + offset + " for " + length, model -> model.getRange(key, offset, length)));
        final Arbitrary<Step> exists = keys.map(key -> new Step("exists " + key, model -> model.exists(key)));
        final Arbitrary<Step> removes = Combinators.combine(keys, Arbitraries.of(true, false))
            .as((key, force) -> new Step((force ? "force remove " : "remove ") + key,
                model -> model.remove(key, force)));
        final Arbitrary<Step> batches = keys.list().ofMinSize(1).ofMaxSize(6)
            .map(list -> new Step("get batch " + list, model -> model.getBatch(list)));
        final Arbitrary<Step> times = Arbitraries.integers().between(1, 1500)
            .map(ms -> new Step("let " + ms + " ms pass", model -> model.advance(ms)));
        final Arbitrary<Step> restarts = Arbitraries.of(new Step("restart", StoreModel::restart));
        return Arbitraries.frequencyOf(Tuple.of(10, puts), Tuple.of(8, gets),
            Tuple.of(2, ranges), Tuple.of(1, exists), Tuple.of(3, removes),
            Tuple.of(2, batches), Tuple.of(2, times), Tuple.of(1, restarts));
    }

    private static Arbitrary<Step> faults() {
        return Combinators.combine(Arbitraries.of(Faults.Call.READ, Faults.Call.WRITE, Faults.Call.SYNC),
            Arbitraries.integers().between(1, 4), Arbitraries.of(Errno.EIO, Errno.ENOSPC))
            .as((call, n, errno) -> new Step("fail " + call + " number " + n + " with " + errno,
                model -> model.failNth(call, n, errno)));
    }
}
