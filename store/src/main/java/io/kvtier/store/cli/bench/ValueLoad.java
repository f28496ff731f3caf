package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Puts and gets of values of one size by several threads, the same whoever keeps the values. Every value that is
 * fetched is checked, and so is, after each measurement, the last that each thread has put.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> all that it uses belongs to the rig.
 */
final class ValueLoad {
    private static final double MIB = 1 << 20;

    private final Shape shape;
    private final List<Client> clients = new ArrayList<>();
    private final Crowd crowd;

    /** Which way. */
    enum Operation {
        PUT,
        GET
    }

    /**
     * What the calls are like.
     *
     * @param operation what is done.
     * @param bytes     size of a value.
     * @param threads   how many call.
     * @param values    how many there are before: to be fetched, or to make way.
     * @param buffers   of a thread, which it uses in any order.
     */
    record Shape(Operation operation, long bytes, int threads, int values, int buffers) {
    }

    /** Opens what one thread uses. */
    @FunctionalInterface
    interface Connector {
        KeyValues connect() throws IOException;
    }

    private ValueLoad(final Rig rig, final Shape shape, final Workspace workspace, final Connector connector)
        throws IOException {
        this.shape = shape;
        for (int i = 0; i < shape.threads(); i++) {
            final HostRegion memory = rig.keep(workspace.filled(shape.bytes() * shape.buffers(), i));
            clients.add(new Client(i, connector.connect(), memory.segment()));
        }
        this.crowd = rig.keep(Crowd.of(shape.threads(), i -> shape.operation() == Operation.PUT ? clients.get(i)::put
            : clients.get(i)::get), Crowd::close);
    }

    /** A load; the values that are to be there are put. */
    static ValueLoad open(final Rig rig, final Shape shape, final Workspace workspace, final Connector connector)
        throws IOException {
        final ValueLoad load = new ValueLoad(rig, shape, workspace, connector);
        load.clients.getFirst().fill();
        return load;
    }

    /** Calls for some time; MiB a second. */
    double mebibytesPerSecond(final long nanos) throws IOException, InterruptedException {
        final double values = crowd.perSecond(nanos);
        for (final Client client : clients) {
            client.checkLast();
        }
        return values * shape.bytes() / MIB;
    }

    /** What one thread does. */
    private final class Client {
        private final int number;
        private final KeyValues values;
        private final MemorySegment memory;
        private final SplittableRandom random;
        private long puts;

        Client(final int number, final KeyValues values, final MemorySegment memory) {
            this.number = number;
            this.values = values;
            this.memory = memory;
            this.random = new SplittableRandom(number);
        }

        void fill() throws IOException {
            for (int i = 0; i < shape.values(); i++) {
                final MemorySegment value = buffer();
                Stamps.write(value, i);
                values.put("known-" + i, value);
            }
        }

        long put() throws IOException {
            final MemorySegment value = buffer();
            puts++;
            Stamps.write(value, puts);
            values.put(last(), value);
            return 1;
        }

        long get() throws IOException {
            final MemorySegment value = buffer();
            final int which = random.nextInt(shape.values());
            Stamps.spoil(value);
            values.get("known-" + which, value);
            Stamps.check(value, which);
            return 1;
        }

        void checkLast() throws IOException {
            if (puts > 0) {
                final MemorySegment value = buffer();
                if (values.evictsWhatIsNew()) {
                    Stamps.write(value, puts);
                    values.put(last(), value);
                }
                Stamps.spoil(value);
                values.get(last(), value);
                Stamps.check(value, puts);
            }
        }

        private String last() {
            return "new-" + number + '-' + puts;
        }

        private MemorySegment buffer() {
            return memory.asSlice(shape.buffers() == 1 ? 0 : random.nextInt(shape.buffers()) * shape.bytes(),
                shape.bytes());
        }
    }
}
