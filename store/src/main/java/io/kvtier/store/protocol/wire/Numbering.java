package io.kvtier.store.protocol.wire;

import io.kvtier.transport.rpc.MalformedMessageException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Numbers of an enumeration's constants on the wire, so that their order in the source means nothing.
 *
 * @param <E> the enumeration.
 */
final class Numbering<E extends Enum<E>> {
    private final List<E> byNumber;
    private final Map<E, Integer> numbers;
    private final E unknown;

    private Numbering(final E unknown, final List<E> byNumber) {
        this.unknown = unknown;
        this.byNumber = byNumber;
        this.numbers = new EnumMap<>(byNumber.getFirst().getDeclaringClass());
        for (int i = 0; i < byNumber.size(); i++) {
            numbers.put(byNumber.get(i), i);
        }
        if (numbers.size() != byNumber.getFirst().getDeclaringClass().getEnumConstants().length) {
            throw new IllegalStateException("not all constants have a number: " + byNumber);
        }
    }

    /** Numbers from 0 on; a number that is not known is refused. */
    static <E extends Enum<E>> Numbering<E> of(final List<E> constants) {
        return new Numbering<>(null, constants);
    }

    /** Numbers from 0 on; a number that is not known is read as a constant that does no harm. */
    static <E extends Enum<E>> Numbering<E> withUnknown(final E unknown, final List<E> constants) {
        return new Numbering<>(unknown, constants);
    }

    int number(final E constant) {
        return numbers.get(constant);
    }

    E constant(final long number) {
        if (number >= 0 && number < byNumber.size()) {
            return byNumber.get((int) number);
        }
        if (unknown == null) {
            throw new MalformedMessageException("the number " + number + " is none of "
                + byNumber.getFirst().getDeclaringClass().getSimpleName() + ", which has 0 to "
                + (byNumber.size() - 1));
        }
        return unknown;
    }
}
