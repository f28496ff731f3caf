package io.kvtier.store.cli.bench;

import io.kvtier.store.replica.PageLayout;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.stream.LongStream;

/**
 * Pages of shared files, given out by a master in a process of its own: how many a second, and how full the files are
 * when a value finds no room for the first time. There are no files and no bytes: the master opens none.
 */
final class PageRows {
    private static final List<Integer> THREADS = List.of(1, 4);
    private static final int BATCH = 128;
    private static final int KNOWN = 10_000;
    private static final PageLayout USUAL = new PageLayout("/kvtier/bench", 256, 64L << 10, 4L << 30);

    private static final PageLayout HUNDRED = new PageLayout("/kvtier/bench", 100, 64L << 10, 4L << 30);
    private static final double FILL_GOAL = 0.95;
    /** Fuller than without. */
    private static final double HOME_GOAL = 1;
    private static final long LEAST = 64L << 10;
    private static final long MOST = 16L << 20;
    /** More than fit, whatever the order. */
    private static final double OVER = 1.02;
    private static final int DOUBLINGS = 8;

    private final Workspace workspace;

    /** How long values are. */
    private enum Mix {
        /** Any size as likely as any other. */
        EVEN {
            @Override
            long next(final SplittableRandom random) {
                return random.nextLong(LEAST, MOST + 1);
            }
        },
        /** As many below a mebibyte as above, each doubling as likely as any other. */
        DOUBLING {
            @Override
            long next(final SplittableRandom random) {
                return Math.round(LEAST * Math.pow(2, DOUBLINGS * random.nextDouble()));
            }
        };

        abstract long next(SplittableRandom random);

        /** Values of more bytes than a layout holds, always the same ones. */
        LongStream of(final PageLayout layout) {
            final SplittableRandom random = new SplittableRandom(ordinal());
            final LongStream.Builder sizes = LongStream.builder();
            long left = (long) (layout.capacity() * OVER);
            while (left > 0) {
                final long size = next(random);
                sizes.add(size);
                left -= size;
            }
            return sizes.build();
        }

        String label() {
            return name().toLowerCase(Locale.ROOT) + " sizes";
        }
    }

    /** Makes what a thread does. */
    private interface Work {
        Crowd.Work of(PageLoad load, int thread, int threads);
    }

    PageRows(final Workspace workspace) {
        this.workspace = workspace;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final int threads : THREADS) {
            rows.add(rate("page allocation and release, " + Names.threads(threads), threads, PageLoad::single));
        }
        for (final int threads : THREADS) {
            rows.add(rate("page allocation and release, batch of " + BATCH + ", " + Names.threads(threads), threads,
                (load, thread, all) -> load.batch(thread, all, BATCH)));
        }
        for (final Mix mix : Mix.values()) {
            final String name = "filled at the first NO_SPACE, " + HUNDRED.buckets() + " files of 4 GiB, 64 KiB to "
                + "16 MiB, " + mix.label();
            rows.add(new Row(name, Unit.SHARE, Peer.builtIn("all of their bytes"), FILL_GOAL, Row.EVERYWHERE,
                () -> Rig.with(rig -> {
                    final PageLoad load = load(rig, HUNDRED, mix.of(HUNDRED));
                    return new Contest(rig, nanos -> load.fill(), nanos -> 1);
                })));
            rows.add(new Row(name + ", beside home files", Unit.SHARE, Peer.builtIn("values in home files alone"),
                HOME_GOAL, Row.EVERYWHERE, () -> Rig.with(rig -> {
                    final PageLoad load = load(rig, HUNDRED, mix.of(HUNDRED));
                    return new Contest(rig, nanos -> load.fill(), nanos -> load.fillHomes());
                })));
        }
        return rows;
    }

    private Row rate(final String name, final int threads, final Work work) {
        return new Row(name, Unit.PER_SECOND, Recorded.nothing(), 1, Row.EVERYWHERE, () -> Rig.with(rig -> {
            final PageLoad load = load(rig, USUAL, LongStream.generate(() -> LEAST).limit(KNOWN));
            final Crowd crowd = rig.keep(Crowd.of(threads, thread -> work.of(load, thread, threads)), Crowd::close);
            return new Contest(rig, crowd::perSecond, nanos -> Double.NaN);
        }));
    }

    private PageLoad load(final Rig rig, final PageLayout layout, final LongStream sizes) throws IOException {
        final String where = MasterProgram.start(rig, workspace, MasterProgram.paged(layout));
        return PageLoad.open(MasterProgram.connect(rig, where), layout, sizes);
    }
}
