package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.transport.IoThreads;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Handles of a file whose second descriptor cannot be had leave the first one open to nobody. */
@ExtendWith(LeakCheck.class)
class FileHandlesTest {
    private final IoThreads callers = new IoThreads("test-calls", 1, Integer.MAX_VALUE);

    @AfterEach
    void close() {
        callers.close();
    }

    /** What comes to light when a file is opened is an error: a library that cannot be linked, no memory. */
    @Test
    void shouldCloseTheFirstDescriptorWhenAnErrorEndsTheOpeningOfTheSecond() {
        final FileOpener opener = (path, mode) -> {
            if (mode == OpenMode.READ_WRITE_DIRECT) {
                throw new LinkageError("a test's error");
            }
            return PosixFile.inMemory(path);
        };

        assertThrows(LinkageError.class, () -> FileHandle.open(opener, "first", true, callers));
    }

    @Test
    void shouldCloseBothDescriptorsWhenARingCannotBeToldOfThem() {
        final FileOpener opener = new FileOpener() {
            @Override
            public BlockFile open(final String path, final OpenMode mode) {
                return PosixFile.inMemory(path);
            }

            @Override
            public PosixFile descriptor(final BlockFile file) {
                throw new IllegalStateException("a test's exception");
            }
        };

        final FileHandle handle = FileHandle.open(opener, "both", true, callers);

        assertEquals("a test's exception", assertThrows(IllegalStateException.class,
            () -> UringSegment.of(handle, opener, List.of(), 1)).getMessage());
    }
}
