package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the transport of the C library's calls does beyond what all do. */
abstract class PosixTransportContract extends FileTransportContract {
    @Override
    protected TransportKind kind() {
        return TransportKind.POSIX;
    }

    @Override
    Transport make(final FaultyFiles over, final int threads) {
        return new PosixTransport(over, threads, direct());
    }

    @Test
    void shouldEndTheTransferWhenACallDiesOfAnError() throws IOException {
        final FileOpener dying = (path, mode) -> dyingIn(files().open(path, mode));
        final TransferEngine engine = TransferEngine.open(SMALL, List.of(new PosixTransport(dying, 1, direct())));
        final Segment segment = open(engine, "s", PatternBytes.of(1, 2 * 4096));
        final HostRegion local = region(2 * 4096);

        final TransferFailure failure =
            failureOf(engine.submit(List.of(TransferRequest.read(local.slice(0, 2 * 4096), segment, 0))));
        final TransferFailure sync = failureOf(engine.sync(segment));

        for (final TransferFailure one : List.of(failure, sync)) {
            assertEquals(TransferFailure.Kind.FAILED, one.kind());
            assertEquals("a class is gone", one.message());
        }
        engine.submit(List.of(TransferRequest.write(local.slice(0, 4096), segment, 0))).await();
        engine.close();
    }

    /** A file whose reads and syncs throw an Error. */
    private static BlockFile dyingIn(final BlockFile real) {
        return (BlockFile) Proxy.newProxyInstance(BlockFile.class.getClassLoader(), new Class<?>[] {BlockFile.class},
            (proxy, method, arguments) -> {
                if (method.getName().equals("read") || method.getName().equals("sync")) {
                    throw new LinkageError("a class is gone");
                }
                return method.invoke(real, arguments);
            });
    }
}
