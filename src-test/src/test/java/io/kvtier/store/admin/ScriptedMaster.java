package io.kvtier.store.admin;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** A master that answers as a test says, and remembers what it was asked. */
final class ScriptedMaster implements Master {
    private final Map<Class<?>, Function<Object, Object>> script = new ConcurrentHashMap<>();
    private final List<Command<?>> asked = new CopyOnWriteArrayList<>();

    <R, C extends Command<R>> ScriptedMaster on(final Class<C> kind, final Function<C, R> answer) {
        script.put(kind, command -> answer.apply(kind.cast(command)));
        return this;
    }

    List<Command<?>> asked() {
        return asked;
    }

    @Override
    @SuppressWarnings("unchecked") // The script's answer is of the command's type.
    public <R> R apply(final Command<R> command) {
        asked.add(command);
        final Function<Object, Object> answer = script.get(command.getClass());
        if (answer == null) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, "not scripted");
        }
        return (R) answer.apply(command);
    }
}
