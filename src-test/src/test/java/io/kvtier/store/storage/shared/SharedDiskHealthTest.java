package io.kvtier.store.storage.shared;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.Availability;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Mounts;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.storage.shared.SharedDiskHealth.Finding;
import io.kvtier.store.storage.shared.SharedDiskHealth.State;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is looked at before a shared disk is used, and what is said of it. */
@ExtendWith(LeakCheck.class)
class SharedDiskHealthTest {
    private static final List<String> ALL =
        List.of("folder", "mount", "writable", "cluster", "direct_io", "room", "open_files");

    @TempDir
    private Path folder;
    private FileSystemAdapter files = PosixFiles.open(FileOpener.POSIX);
    private String type = "fuse.glusterfs";
    private long limit = 1 << 20;

    @AfterEach
    void close() {
        files.close();
    }

    private PageLayout layout(final Path root) {
        return new PageLayout(root.toString(), 256, 4096, 8192);
    }

    private SharedDiskHealth.Host host() {
        return new SharedDiskHealth.Host() {
            @Override
            public String fileSystem(final Path of) throws IOException {
                if (type == null) {
                    throw new IOException("it does not answer");
                }
                return type;
            }

            @Override
            public long openFiles() {
                return limit;
            }
        };
    }

    private List<Finding> claim(final Path root) {
        return claim(root, null);
    }

    private List<Finding> claim(final Path root, final UUID volume) {
        return SharedDiskHealth.claim(layout(root), files, host(),
            new SharedDiskHealth.Expected("c1", volume, false));
    }

    private static List<String> names(final List<Finding> findings) {
        return findings.stream().map(Finding::name).toList();
    }

    private static List<String> states(final List<Finding> findings, final State state) {
        return names(findings.stream().filter(finding -> finding.state() == state).toList());
    }

    /** The only one that is not well, which says what was found and what to do. */
    private static Finding only(final List<Finding> findings, final String name, final State state) {
        final List<Finding> unwell = findings.stream().filter(finding -> finding.state() != State.OK).toList();
        assertEquals(List.of(name), names(unwell), unwell::toString);
        assertEquals(state, unwell.getFirst().state());
        assertTrue(!unwell.getFirst().remedy().isEmpty(), unwell::toString);
        return unwell.getFirst();
    }

    @Test
    void shouldFindNothingWrongWhereNothingIs() throws IOException {
        final List<Finding> findings = claim(folder);
        assertEquals(ALL, names(findings));
        assertEquals(ALL, states(findings, State.OK), findings::toString);
        assertEquals("c1", ClusterMarker.read(folder).cluster());
        assertEquals(ALL, states(claim(folder), State.OK), "the second host");
        try (Stream<Path> left = Files.list(folder)) {
            assertEquals(List.of(folder.resolve("kvtier.cluster")), left.toList());
        }
    }

    @Test
    void shouldLeaveNothingBehindWhenItOnlyLooks() throws IOException {
        final List<Finding> findings = SharedDiskHealth.look(layout(folder), files, host(), false);
        assertEquals(ALL, states(findings, State.OK), findings::toString);
        try (Stream<Path> left = Files.list(folder)) {
            assertEquals(List.of(), left.toList());
        }
        claim(folder);
        assertTrue(SharedDiskHealth.look(layout(folder), files, host(), false).get(3).found().contains("cluster c1"));
    }

    @Test
    void shouldSayThatTheFolderIsMissing() throws IOException {
        final Path missing = folder.resolve("missing");
        final List<Finding> findings = claim(missing);
        assertEquals(List.of("folder"), names(findings), "nothing else is looked at");
        final Finding finding = only(findings, "folder", State.BROKEN);
        assertTrue(finding.found().contains(missing.toString()) && finding.remedy().contains("mkdir -p " + missing)
            && finding.remedy().contains("MOONCAKE_DISTRIBUTED_ROOT_DIR"), finding::toString);
        Files.writeString(missing, "a file");
        assertTrue(only(claim(missing), "folder", State.BROKEN).found().contains("not a folder"));
    }

    /** A folder of a mount whose server is gone is not one that does not exist. */
    @Test
    void shouldSayThatTheMountDoesNotAnswer() {
        files = new ForwardingFileSystem(files) {
            @Override
            public Status status(final String path) {
                throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "Transport endpoint is not connected");
            }
        };
        final Finding finding = only(claim(folder), "folder", State.BROKEN);
        assertTrue(finding.found().contains("not connected") && finding.remedy().contains("mount it again"),
            finding::toString);
    }

    @Test
    void shouldSayThatNoOtherHostSeesTheFolder() {
        type = "ext4";
        final Finding finding = only(claim(folder), "mount", State.LIMITED);
        assertTrue(finding.found().contains("ext4") && finding.remedy().contains("mount"), finding::toString);
        type = null;
        assertTrue(only(claim(folder), "mount", State.BROKEN).found().contains("it does not answer"));
    }

    @Test
    void shouldSayThatTheFolderCannotBeWrittenTo() throws Exception {
        final Path readOnly = Files.createDirectory(folder.resolve("ro"));
        try (Mounts mount = Mounts.readOnly(folder, readOnly)) {
            final List<Finding> findings = claim(mount.at());
            final Finding finding = only(findings, "writable", State.BROKEN);
            assertTrue(finding.found().contains(readOnly.toString())
                && finding.remedy().contains("MOONCAKE_DISTRIBUTED_READ_ONLY"), finding::toString);
            assertEquals(List.of("folder", "mount", "writable"), names(findings));
        }
    }

    private static Mounts small(final Path at, final PageLayout layout, final boolean filled) throws Exception {
        final Mounts mount = Mounts.tmpfs(Files.createDirectory(at), 8L << 20);
        if (filled) {
            for (int i = 0; i < layout.buckets(); i++) {
                Files.write(Path.of(layout.path(i)), new byte[(int) layout.bucketBytes()]);
            }
            ClusterMarker.claim(at, "c1");
        }
        try (OutputStream filler = Files.newOutputStream(at.resolve("filler"))) {
            while (true) {
                filler.write(new byte[4096]);
            }
        } catch (final IOException e) {
            // It is full.
            assertTrue(e.getMessage().contains("No space"), e::toString);
        }
        return mount;
    }

    /** A client that begins then reads what is there, and writes where there is room for its files already. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldSayThatTheFileSystemIsFull(final boolean filled) throws Exception {
        final Path full = folder.resolve("full");
        try (Mounts mount = small(full, layout(full), filled)) {
            final List<Finding> findings = claim(mount.at());
            final List<String> broken = states(findings, State.BROKEN);
            assertEquals(filled ? List.of() : List.of("cluster", "room"), broken, findings::toString);
            final Finding limited =
                findings.stream().filter(one -> one.state() == State.LIMITED).findFirst().orElseThrow();
            assertTrue(limited.found().contains("No space left on device"), limited::toString);
            assertTrue(limited.remedy().contains("make room"), limited::toString);
        }
    }

    private List<Finding> read(final Path root, final UUID volume) {
        return SharedDiskHealth.claim(layout(root), files, host(), new SharedDiskHealth.Expected("c1", volume, true));
    }

    /** One that only reads needs less, and does less. */
    @Test
    void shouldAskNothingOfAReaderThatOnlyAWriterNeeds() throws Exception {
        final Path readOnly = Files.createDirectory(folder.resolve("ro"));
        final List<String> all = List.of("folder", "mount", "cluster", "direct_io", "open_files");
        assertEquals(List.of("cluster"), states(read(folder, null), State.BROKEN), "it makes no marker");
        final UUID volume = ClusterMarker.claim(folder, "c1").volume();
        Finding finding = only(read(folder, volume), "direct_io", State.LIMITED);
        assertTrue(finding.found().contains("no file of the shared disk is there"), finding::toString);
        Files.write(Path.of(layout(folder).path(7)), new byte[8192]);
        files.close();
        files = PosixFiles.open(FileOpener.POSIX.readOnly());
        try (Mounts mount = Mounts.readOnly(folder, readOnly)) {
            final List<Finding> findings = read(mount.at(), volume);
            assertEquals(all, names(findings));
            assertEquals(all, states(findings, State.OK), findings::toString);
            assertEquals(all, states(SharedDiskHealth.look(layout(mount.at()), files, host(), true), State.OK));
            finding = only(read(mount.at(), UUID.randomUUID()), "cluster", State.BROKEN);
            assertTrue(finding.found().contains(volume.toString()), finding::toString);
        }
    }

    /** As behind a mount that is missing. */
    @Test
    void shouldMakeNoMarkerWhereTheOthersHaveAnotherVolume() {
        final UUID theirs = UUID.randomUUID();
        final Finding finding = only(claim(folder, theirs), "cluster", State.BROKEN);
        assertTrue(finding.found().contains("has no kvtier.cluster") && finding.found().contains(theirs.toString()),
            finding::toString);
        assertEquals(null, ClusterMarker.read(folder));
        final UUID here = ClusterMarker.claim(folder, "c1").volume();
        final Finding other = only(claim(folder, theirs), "cluster", State.BROKEN);
        assertTrue(other.found().contains(theirs.toString()) && other.found().contains(here.toString()),
            other::toString);
        assertEquals(ALL, states(claim(folder, here), State.OK));
    }

    @Test
    void shouldSayThatTheFolderIsAnotherClusters() {
        ClusterMarker.claim(folder, "other");
        final Finding finding = only(claim(folder), "cluster", State.BROKEN);
        assertTrue(finding.found().contains("'other'") && finding.found().contains("'c1'"), finding::toString);
    }

    @Test
    void shouldSayThatTheMarkerIsNone() throws IOException {
        Files.writeString(folder.resolve("kvtier.cluster"), "hello");
        assertTrue(only(claim(folder), "cluster", State.BROKEN).found().contains("hello"));
    }

    @Test
    void shouldSayThatTheCacheIsNotPassed() {
        files.close();
        files = PosixFiles.open(new FaultyFiles(new Faults().refuseDirect()));
        final Finding finding = only(claim(folder), "direct_io", State.BROKEN);
        assertTrue(finding.found().contains("O_DIRECT"), finding::toString);
    }

    @Test
    void shouldSayThatThereIsNotEnoughRoom() {
        final FileSystemAdapter real = files;
        files = new ForwardingFileSystem(real) {
            @Override
            public long freeBytes(final String of) {
                return 256 * 8192 - 1;
            }

            @Override
            public Availability pastTheCache(final String of) {
                return Availability.yes("not asked");
            }
        };
        final Finding finding = only(claim(folder), "room", State.BROKEN);
        assertTrue(finding.found().contains("2097152") && finding.found().contains("2097151"), finding::toString);
        assertTrue(finding.remedy().contains("MOONCAKE_DISTRIBUTED_BUCKET_SIZE"), finding::toString);
    }

    /** Four descriptors for each of 256 files, and 256 for all else. */
    @Test
    void shouldSayThatTheProcessMayOpenTooFewFiles() {
        limit = 1279;
        final Finding finding = only(claim(folder), "open_files", State.BROKEN);
        assertTrue(finding.found().contains("1279") && finding.remedy().contains("1280"), finding::toString);
        limit = 1280;
        assertEquals(ALL, states(claim(folder), State.OK));
        limit = -1;
        only(claim(folder), "open_files", State.LIMITED);
    }

    @Test
    void shouldKnowThisHost() throws IOException {
        final SystemHost system = new SystemHost();
        assertEquals(Files.getFileStore(folder).type(), system.fileSystem(folder));
        assertTrue(system.openFiles() > 0);
    }
}
