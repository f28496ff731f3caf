package io.kvtier.store.client.owner;

import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.rpc.RpcCall;
import java.util.List;
import java.util.UUID;

/** What tests of whole stores do in place of an owner. */
public final class OwnerInside {
    private OwnerInside() {
    }

    /** Answers that the one value that was asked for is gone. */
    public static void replyGone(final RpcCall call) {
        call.reply(OwnerProtocol.reply(new OwnerProtocol.Reply(0, 1_000, SegmentAddress.local(new UUID(1, 2)),
            List.of(new OwnerProtocol.Placed(OwnerProtocol.GONE, 0)))));
    }

    /** An owner could not be asked. */
    public static void forget(final GdsOwners owners) {
        owners.forget();
    }
}
