package io.kvtier.store.protocol.wire;

import io.kvtier.store.DataType;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.SoftPin;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.rpc.MessageWriter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * Commands and answers of every kind, made up field by field from the records themselves: a field that is added to one
 * is in the next test run, whether or not somebody has thought of it in the codec.
 */
final class AnyMessage {
    /** Fields that may be any number; the others count something. */
    private static final List<String> SIGNED = List.of("checksum", "attempt", "cursor", "version", "term", "silentMs");

    /** Answers that say that there is nothing. */
    private static final Map<Class<?>, Object> NONE = Map.of(ReadReply.class, ReadReply.NOT_FOUND,
        PromotionReply.class, PromotionReply.DECLINED, PageMapping.class, PageMapping.NONE);

    private final SplittableRandom random;

    AnyMessage(final long seed) {
        random = new SplittableRandom(seed);
    }

    /** All kinds of commands that go on a wire, without batches. */
    static List<Class<?>> kinds() {
        final List<Class<?>> kinds = new ArrayList<>();
        leaves(Command.class, kinds);
        kinds.removeAll(List.of(AdminCommand.Tick.class, Batch.class));
        return kinds;
    }

    private static void leaves(final Class<?> type, final List<Class<?>> found) {
        if (type.isSealed()) {
            Stream.of(type.getPermittedSubclasses()).forEach(sub -> leaves(sub, found));
        } else {
            found.add(type);
        }
    }

    @SuppressWarnings("unchecked") // Kinds are of commands.
    Command<Object> command(final Class<?> kind) {
        return (Command<Object>) any(kind, "");
    }

    /** What a kind of command is answered with: the argument of its interface. */
    Object reply(final Class<?> kind) {
        return any(((ParameterizedType) kind.getGenericInterfaces()[0]).getActualTypeArguments()[0], "");
    }

    private Object any(final Type type, final String name) {
        if (type instanceof ParameterizedType list) {
            final List<Object> values = new ArrayList<>();
            for (int left = size(); left > 0; left--) {
                values.add(any(list.getActualTypeArguments()[0], name));
            }
            return values;
        }
        return one((Class<?>) type, name);
    }

    private int size() {
        return random.nextInt(10) == 0 ? random.nextInt(40) : random.nextInt(4);
    }

    private Object one(final Class<?> type, final String name) {
        if (type == long.class || type == Long.class) {
            return number(name);
        } else if (type == int.class) {
            return (int) (number("") & Integer.MAX_VALUE);
        } else if (type == boolean.class || type == Boolean.class) {
            return random.nextBoolean();
        } else if (type == double.class) {
            return random.nextInt(1_000_001) / 1e6;
        } else if (type == String.class) {
            return text(name.equals("tenant") ? 60 : 200);
        } else if (type == UUID.class) {
            return new UUID(number("version"), number("version"));
        } else if (type.isEnum()) {
            return type.getEnumConstants()[random.nextInt(type.getEnumConstants().length)];
        } else if (type.isSealed()) {
            return one(type.getPermittedSubclasses()[random.nextInt(type.getPermittedSubclasses().length)], name);
        }
        return record(type);
    }

    private Object record(final Class<?> type) {
        if (type == ObjectKey.class) {
            return ObjectKey.of(random.nextBoolean() ? "" : 't' + text(30), 'k' + text(1000));
        } else if (type == AccessToken.class) {
            final byte[] bits = new byte[AccessToken.BYTES];
            random.nextBytes(bits);
            return AccessToken.of(bits);
        } else if (type == PutOptions.class) {
            return options();
        } else if (type == SoftPin.class) {
            return random.nextBoolean() ? SoftPin.DISABLE : SoftPin.forMillis(number(""));
        } else if (type == ReplicaDescriptor.Unknown.class) {
            return new ReplicaDescriptor.Unknown(7 + random.nextInt(1000), new MessageWriter().array(2)
                .text(text(50)).number(number("cursor")).toBytes());
        } else if (type == ReplicaDescriptor.Gds.class) {
            return gds();
        } else if (type == ReplicaDescriptor.DistributedDisk.class) {
            return new ReplicaDescriptor.DistributedDisk("/d" + text(1000), (number("") >>> 14)
                * ReplicaDescriptor.DistributedDisk.UNIT_BYTES, 1 + (number("") >>> 14));
        } else if (type == ReplicaDescriptor.Disk.class) {
            return new ReplicaDescriptor.Disk("/d" + text(1000), number("") >>> 1);
        } else if (type == PageLayout.class) {
            return layout();
        } else if (type == PageAllocation.class && random.nextBoolean()) {
            return PageAllocation.none(List.of(PageOutcome.TAKEN, PageOutcome.STALE, PageOutcome.NO_SPACE)
                .get(random.nextInt(3)));
        } else if (NONE.containsKey(type) && random.nextInt(4) == 0) {
            return NONE.get(type);
        }
        return made(type);
    }

    private PageLayout layout() {
        final long page = ReplicaDescriptor.DistributedDisk.UNIT_BYTES << random.nextInt(10);
        return new PageLayout("/d" + text(1000), 1 + random.nextInt(PageLayout.MAX_BUCKETS), page,
            page * (1 + random.nextInt(1 << 20)));
    }

    /** One that can be: it is refused where it cannot. */
    private ReplicaDescriptor.Gds gds() {
        final long size = 1 + (number("") >>> 14);
        final long allocated = (size + ReplicaDescriptor.Gds.UNIT_BYTES - 1) / ReplicaDescriptor.Gds.UNIT_BYTES
            * ReplicaDescriptor.Gds.UNIT_BYTES;
        return new ReplicaDescriptor.Gds((UUID) one(UUID.class, ""), (UUID) one(UUID.class, ""),
            1 + (number("") >>> 1), (number("") >>> 14) * ReplicaDescriptor.Gds.UNIT_BYTES, size, allocated);
    }

    private PutOptions options() {
        if (random.nextBoolean()) {
            return PutOptions.DEFAULT;
        }
        return new PutOptions(1 + random.nextInt(64), random.nextInt(65), List.of(text(1000), text(5)),
            random.nextBoolean(), (SoftPin) record(SoftPin.class), random.nextBoolean(),
            (DataType) one(DataType.class, ""), text(1000), random.nextBoolean());
    }

    private Object made(final Class<?> type) {
        final RecordComponent[] components = type.getRecordComponents();
        final Class<?>[] types = new Class<?>[components.length];
        final Object[] values = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            types[i] = components[i].getType();
            values[i] = any(components[i].getGenericType(), components[i].getName());
        }
        // Answers that are there have an id; 0 stands for none.
        if (NONE.containsKey(type)) {
            values[0] = 1 + ((Long) values[0] & Long.MAX_VALUE >> 1);
        } else if (type == PageAllocation.class) {
            values[0] = random.nextBoolean() ? PageOutcome.ALLOCATED : PageOutcome.STORED;
        } else if (type == OffloadTask.class) {
            values[4] = random.nextBoolean() ? ReplicaType.LOCAL_DISK : ReplicaType.DISTRIBUTED_DISK;
            values[5] = (Long) values[5] >>> 1;
        }
        try {
            final var constructor = type.getDeclaredConstructor(types);
            constructor.setAccessible(true);
            return constructor.newInstance(values);
        } catch (final ReflectiveOperationException e) {
            throw new AssertionError("no " + type, e);
        }
    }

    /** Of every length in bytes. */
    private long number(final String name) {
        final long value = random.nextLong() >>> random.nextInt(Long.SIZE);
        return SIGNED.contains(name) ? random.nextBoolean() ? value : -value : value & Long.MAX_VALUE;
    }

    /** Characters of one to four bytes. */
    private String text(final int maxCharacters) {
        final int length = random.nextInt(5) == 0 ? random.nextInt(maxCharacters) : random.nextInt(20);
        final int[] first = {'a', 'a', 'a', 0xe0, 0x20ac, 0x1f600, 0xfffd};
        final StringBuilder text = new StringBuilder();
        for (int i = 0; i < length / 2; i++) {
            text.appendCodePoint(first[random.nextInt(first.length)]);
        }
        return text.toString();
    }
}
