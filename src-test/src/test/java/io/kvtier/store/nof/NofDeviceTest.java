package io.kvtier.store.nof;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.LoopDevice;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is made of a path that is to be lent, and what is left alone. */
@ExtendWith(LeakCheck.class)
class NofDeviceTest {
    private static final int MIB = 1 << 20;

    @TempDir
    private Path directory;

    private Path file() throws IOException {
        return directory.toRealPath().resolve("device");
    }

    private static NofDevice open(final Path path, final long bytes) {
        return NofDevice.open(path, bytes, FileOpener.POSIX);
    }

    private static String refused(final ErrorCode code, final Path path, final long bytes) {
        final StoreException e = assertThrows(StoreException.class, () -> open(path, bytes).close());
        assertEquals(code, e.code(), e.getMessage());
        return e.getMessage();
    }

    private static void write(final Path path, final long offset, final byte[] bytes) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.seek(offset);
            file.write(bytes);
        }
    }

    @Test
    void shouldMakeAFileWithALabelInFrontOfTheRoomForValues() throws IOException {
        final UUID id;
        try (NofDevice device = open(file(), 2 * MIB + 100)) {
            assertEquals(2 * MIB - 4096, device.capacity());
            assertTrue(device.fresh());
            assertEquals("file://" + file(), device.endpoint());
            id = device.id();
        }
        assertEquals(2 * MIB + 100, Files.size(file()));
        final ByteBuffer label = ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);
        label.put("KVTIERNF".getBytes(StandardCharsets.US_ASCII)).putInt(1).putInt(4096)
            .putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits());
        final CRC32C crc = new CRC32C();
        crc.update(label.array(), 0, 32);
        label.putInt((int) crc.getValue());
        assertArrayEquals(label.array(), Arrays.copyOf(Files.readAllBytes(file()), 4096));
    }

    @Test
    void shouldKnowADeviceAgain() throws IOException {
        final UUID id;
        try (NofDevice device = open(file(), MIB)) {
            id = device.id();
            assertEquals(id, DeviceLabel.read(FileOpener.POSIX, file()));
        }
        final byte[] value = PatternBytes.of(1, 5000);
        write(file(), 4096, value);
        try (NofDevice device = open(file(), 0)) {
            assertEquals(id, device.id());
            assertFalse(device.fresh());
            assertEquals(MIB - 4096, device.capacity());
        }
        try (NofDevice device = open(file(), 3 * MIB)) {
            assertEquals(id, device.id());
            assertEquals(3 * MIB - 4096, device.capacity());
        }
        assertEquals(3 * MIB, Files.size(file()));
        try (NofDevice device = open(file(), MIB)) {
            assertEquals(MIB - 4096, device.capacity(), "a part of it");
        }
        assertEquals(3 * MIB, Files.size(file()), "never cut");
        assertArrayEquals(value, Arrays.copyOfRange(Files.readAllBytes(file()), 4096, 9096));
    }

    @Test
    void shouldTakeABlankFile() throws IOException {
        write(file(), MIB - 1, new byte[1]);
        try (NofDevice device = open(file(), 0)) {
            assertTrue(device.fresh());
            assertEquals(MIB - 4096, device.capacity());
        }
    }

    /** Where partition tables, ext4, LVM and btrfs have theirs. */
    @ParameterizedTest
    @ValueSource(ints = {0, 510, 512, 1024, 0x10000, MIB - 1})
    void shouldLeaveAloneWhatHoldsSomethingElse(final int offset) throws IOException {
        final byte[] content = new byte[2 * MIB];
        content[offset] = 1;
        Files.write(file(), content);
        assertTrue(refused(ErrorCode.FILE_OPEN_FAIL, file(), 0).contains("not of this store"));
        assertTrue(refused(ErrorCode.FILE_OPEN_FAIL, file(), 4 * MIB).contains("dd if=/dev/zero of=" + file()));
        assertArrayEquals(content, Files.readAllBytes(file()));
    }

    @Test
    void shouldLeaveAloneAFileThatIsSmallerThanALabel() throws IOException {
        Files.writeString(file(), "notes");
        refused(ErrorCode.FILE_OPEN_FAIL, file(), MIB);
        assertEquals("notes", Files.readString(file()));
    }

    @Test
    void shouldRefuseALabelThatIsDamagedOrOfAnotherVersion() throws IOException {
        open(file(), MIB).close();
        write(file(), 20, new byte[] {1, 2, 3, 4});
        assertTrue(refused(ErrorCode.FILE_OPEN_FAIL, file(), 0).contains("damaged"));
        assertThrows(StoreException.class, () -> DeviceLabel.read(FileOpener.POSIX, file()));
    }

    @Test
    void shouldSayWhatIsWrongWithAPath() throws IOException {
        assertTrue(refused(ErrorCode.FILE_OPEN_FAIL, file(), 0).contains("PATH:SIZE"));
        assertTrue(refused(ErrorCode.FILE_OPEN_FAIL, Path.of("/dev/no-such-device"), MIB).contains("nvme connect"));
        assertTrue(refused(ErrorCode.FILE_OPEN_FAIL, directory, MIB).contains("neither"));
        assertTrue(refused(ErrorCode.FILE_OPEN_FAIL, Path.of("/dev/null"), MIB).contains("neither"));
        assertTrue(refused(ErrorCode.FILE_OPEN_FAIL, file(), 8191).contains("8191 bytes"));
        assertTrue(refused(ErrorCode.FILE_OPEN_FAIL, file().resolve("below"), MIB).contains("below"));
    }

    @Test
    void shouldLendADeviceOnceAtATime() throws IOException {
        try (NofDevice first = open(file(), MIB)) {
            assertTrue(refused(ErrorCode.FILE_LOCK_FAIL, file(), 0).contains("another process"));
            assertEquals(first.id(), DeviceLabel.read(FileOpener.POSIX, file()), "others read it meanwhile");
        }
        open(file(), 0).close();
    }

    /** Whatever call fails, nothing stays open, and the next opening goes on from there. */
    @ParameterizedTest
    @EnumSource(value = Faults.Call.class, names = {"OPEN", "READ", "WRITE", "SYNC", "PREALLOCATE", "SIZE"})
    void shouldOpenAfterACallFailed(final Faults.Call call) throws IOException {
        final Faults faults = new Faults().failNth(call, 1, Errno.EIO);
        final FileOpener files = new FaultyFiles(faults);
        if (call == Faults.Call.READ) {
            write(file(), MIB - 1, new byte[1]);
        }
        final StoreException e = assertThrows(StoreException.class, () -> NofDevice.open(file(), MIB, files).close());
        assertEquals(ErrorCode.FILE_OPEN_FAIL, e.code());
        try (NofDevice device = NofDevice.open(file(), MIB, files)) {
            assertEquals(MIB - 4096, device.capacity());
            assertEquals(device.id(), DeviceLabel.read(files, file()));
        }
    }

    /** A file that was made for nothing may have all that was left of the disk. */
    @ParameterizedTest
    @EnumSource(value = Faults.Call.class, names = {"WRITE", "SYNC", "PREALLOCATE"})
    void shouldRemoveTheFileThatItMadeWhenACallFailed(final Faults.Call call) throws IOException {
        final FileOpener files = new FaultyFiles(new Faults().failNth(call, 1, Errno.ENOSPC));

        assertThrows(StoreException.class, () -> NofDevice.open(file(), MIB, files).close());

        assertFalse(Files.exists(file()));
    }

    @Test
    void shouldLeaveAFileThatWasThereWhenACallFailed() throws IOException {
        write(file(), MIB - 1, new byte[1]);
        final FileOpener files = new FaultyFiles(new Faults().failNth(Faults.Call.PREALLOCATE, 1, Errno.ENOSPC));

        assertThrows(StoreException.class, () -> NofDevice.open(file(), 2 * MIB, files).close());

        assertEquals(MIB, Files.size(file()));
    }

    @Test
    void shouldTakeABlockDeviceThatNobodyUses() throws IOException, InterruptedException {
        write(file(), 4 * MIB - 1, new byte[1]);
        try (LoopDevice loop = LoopDevice.of(file())) {
            final UUID id;
            try (NofDevice device = open(loop.path(), 0)) {
                assertEquals(4 * MIB - 4096, device.capacity());
                assertTrue(device.fresh());
                id = device.id();
                refused(ErrorCode.FILE_LOCK_FAIL, loop.path(), 0);
            }
            assertTrue(refused(ErrorCode.FILE_OPEN_FAIL, loop.path(), 5 * MIB).contains("4194304 bytes"));
            // As a mounted file system has it.
            final PosixFile used = PosixFile.open(loop.path().toString(), OpenMode.READ_WRITE_EXCLUSIVE);
            try (used) {
                assertTrue(refused(ErrorCode.FILE_LOCK_FAIL, loop.path(), 0).contains("lsblk"));
            }
            try (NofDevice device = open(loop.path(), 2 * MIB)) {
                assertEquals(id, device.id());
                assertEquals(2 * MIB - 4096, device.capacity());
            }
        }
    }
}
