package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.cufile.CuFileMode;
import io.kvtier.bindings.cufile.PoolSlabs;
import io.kvtier.kit.LeakCheck;
import io.kvtier.store.config.HostName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ExtendWith(LeakCheck.class)
final class DoctorTest {
    private static final String FLAG = "--enable-native-access=ALL-UNNAMED";

    @TempDir
    private Path root;
    @TempDir
    private Path dir;
    private MadeUpMachine machine;

    @BeforeEach
    void makeUp() {
        machine = new MadeUpMachine(root);
    }

    /** One of the findings before the verdict, for which no store has to be opened. */
    private Finding finding(final String name) {
        machine.opener = config -> {
            throw new IllegalStateException("not asked for");
        };
        final Finding finding = MadeUpMachine.findings(machine.doctor("--json", "--dir", dir.toString())).get(name);
        assertTrue(finding != null, name);
        return finding;
    }

    private void expect(final String name, final Finding.State state, final String found, final String remedy) {
        final Finding finding = finding(name);
        assertEquals(state, finding.state(), finding::toString);
        assertTrue(finding.found().contains(found), finding::toString);
        assertTrue(finding.remedy().contains(remedy), finding::toString);
        assertEquals(remedy.isEmpty(), finding.remedy().isEmpty(), finding::toString);
    }

    @Test
    void shouldFindAHealthyMachineHealthy() throws IOException {
        final CommandRun run = machine.doctor("--json", "--dir", dir.toString());
        assertEquals(0, run.status(), run.err());
        assertEquals("", run.err());
        assertEquals(1, run.out().lines().count());
        assertEquals("doctor", run.json().get("command"));
        assertEquals("done", run.json().get("status"));
        final Map<String, Finding> findings = MadeUpMachine.findings(run);
        for (final String name : List.of("jdk", "flag_native_access", "flag_add_exports", "kernel", "io_uring",
            "locked_memory", "open_files", "huge_pages", "huge_pages_reserved", "numa", "directory", "file_system",
            "free_space", "direct_io", "disk_backend", "udev", "store")) {
            assertEquals(Finding.State.OK, findings.get(name).state(), () -> findings.get(name).toString());
            assertEquals("", findings.get(name).remedy());
        }
        for (final String name : List.of("nvidia_driver", "libcuda", "gpu", "libcufile", "cufile_json", "gds_mode",
            "posix_pool", "gds_offload", "shared_disk")) {
            assertEquals(Finding.State.ABSENT, findings.get(name).state(), () -> findings.get(name).toString());
        }
        try (Stream<Path> left = Files.list(dir)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Test
    void shouldShowEachRemedyBelowItsFinding() {
        machine.file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
        final CommandRun run = machine.doctor("--dir", dir.toString()).done();
        assertTrue(run.out().contains("\nlimited  huge_pages           transparent huge pages are off (never)"),
            run.out());
        assertTrue(run.out().contains("\n" + " ".repeat(30) + "-> echo madvise > /sys/"), run.out());
        assertTrue(run.out().lines().toList().getLast().startsWith("ok       store"), run.out());
    }

    @Test
    void shouldFailNamingTheFlagsThatAreMissing() {
        machine.missingFlags = List.of(FLAG, "--add-exports java.base/jdk.internal.misc=ALL-UNNAMED");
        final CommandRun run = machine.doctor("--json", "--dir", dir.toString());
        assertEquals(1, run.status());
        assertEquals("failed", run.json().get("status"));
        assertTrue(run.json().get("error").toString().contains(FLAG + " --add-exports java.base/jdk.internal.misc"),
            run.out());
        assertTrue(run.err().startsWith("kvtier doctor: a store of memory and SSD cannot run here: not opened"),
            run.err());
        expect("flag_native_access", Finding.State.BROKEN, "is not set", "command line: " + FLAG);
        expect("flag_add_exports", Finding.State.BROKEN, "is not set", "java.base/jdk.internal.misc=ALL-UNNAMED");
    }

    @Test
    void shouldSeeTheThirdFlagWhereverItWasGiven() {
        final Runtime.Version newer = Runtime.Version.parse("25");
        machine.file("/proc/self/cmdline", "java\0-jar\0x.jar");
        assertEquals(Finding.State.LIMITED, new JvmChecks(machine.machine(), machine, newer).findings().getLast()
            .state());
        assertEquals(Finding.State.OK, new JvmChecks(machine.machine(), machine, Runtime.Version.parse("22"))
            .findings().getLast().state());
        machine.environment.put("JDK_JAVA_OPTIONS", "-Xmx1g --sun-misc-unsafe-memory-access=allow");
        assertEquals(Finding.State.OK, new JvmChecks(machine.machine(), machine, newer).findings().getLast().state());
    }

    @Test
    void shouldFailForDirectoriesThatCannotBeUsed() throws IOException {
        final Path file = Files.createFile(dir.resolve("file"));
        final Map<Path, String> refused = Map.of(dir.resolve("no"), "does not exist; make it (mkdir -p ",
            file, "is not a directory", Path.of("/proc"), "no file can be made in /proc");
        refused.forEach((path, why) -> {
            final CommandRun run = machine.doctor("--json", "--dir", path.toString());
            assertEquals(1, run.status());
            assertTrue(run.json().get("error").toString().contains(why), run.out());
            final Map<String, Finding> findings = MadeUpMachine.findings(run);
            assertEquals(Finding.State.BROKEN, findings.get("directory").state());
            assertEquals(Finding.State.BROKEN, findings.get("store").state());
            assertFalse(findings.containsKey("direct_io"));
        });
    }

    @Test
    void shouldFailWhenTheStoreThatIsTriedFails() {
        machine.opener = config -> {
            throw new IllegalStateException("no memory");
        };
        final CommandRun run = machine.doctor("--dir", dir.toString());
        assertEquals(1, run.status());
        assertTrue(run.err().contains("it was tried and fails: no memory"), run.err());
        assertTrue(run.out().contains("broken   store"), run.out());
    }

    @Test
    void shouldRefuseWrongUse() {
        final CommandRun run = machine.doctor("--nonsense");
        assertEquals(2, run.status());
        assertEquals("", run.out());
        assertTrue(run.err().startsWith("Unknown option: '--nonsense'"), run.err());
        assertEquals(2, machine.doctor("--dir").status());
        assertEquals(2, machine.doctor("somewhere").status());
        assertEquals(0, machine.doctor("--help").status());
    }

    @ParameterizedTest
    @CsvSource({"6.18.4, OK", "5.11.0-1, OK", "5.10.9, LIMITED", "4.19, LIMITED", "odd, LIMITED"})
    void shouldJudgeTheKernelByItsRelease(final String release, final Finding.State state) {
        machine.file("/proc/sys/kernel/osrelease", release);
        assertEquals(state, new KernelChecks(machine.machine(), machine).kernel("Linux", "aarch64").state());
    }

    @Test
    void shouldKnowOtherSystemsAsBroken() {
        final KernelChecks checks = new KernelChecks(machine.machine(), machine);
        assertEquals(Finding.State.BROKEN, checks.kernel("Mac OS X", "aarch64").state());
        assertEquals(Finding.State.BROKEN, checks.kernel("Linux", "riscv64").state());
    }

    @Test
    void shouldTellTheLimitsOfTheProcess() {
        machine.file("/proc/self/limits", """
            Limit                     Soft Limit           Hard Limit           Units
            Max open files            256                  4096                 files
            Max locked memory         65536                65536                bytes
            """).file("/proc/self/status", "Name:\tjava\nCapEff:\t0000000000000000\n");
        expect("open_files", Finding.State.LIMITED, "only 256 files", "ulimit -n");
        expect("locked_memory", Finding.State.LIMITED, "limited to 64.0 KiB", "ulimit -l");
        machine.file("/proc/self/status", "CapEff:\t000001ffffffffff\n");
        expect("locked_memory", Finding.State.OK, "CAP_IPC_LOCK", "");
        machine.without("/proc/self/limits");
        expect("open_files", Finding.State.LIMITED, "does not tell", "mount /proc");
        expect("locked_memory", Finding.State.LIMITED, "does not tell", "mount /proc");
    }

    @Test
    void shouldPassOnWhyThereIsNoUring() {
        machine.uring = Availability.no("a seccomp filter forbids it", "change the profile");
        expect("io_uring", Finding.State.ABSENT, "a seccomp filter forbids it", "change the profile");
    }

    @Test
    void shouldTellHugePagesAndNodes() {
        machine.file("/proc/sys/vm/nr_hugepages", "64\n").file("/sys/devices/system/node/node1/cpulist", "16-31\n")
            .file("/sys/devices/system/node/possible", "0-1\n").without("/sys/kernel/mm/transparent_hugepage/enabled");
        expect("huge_pages", Finding.State.ABSENT, "no transparent huge pages", "nothing has to be done");
        expect("huge_pages_reserved", Finding.State.OK, "vm.nr_hugepages is 64", "");
        expect("numa", Finding.State.LIMITED, "2 NUMA nodes: node0 (processors 0-15), node1 (processors 16-31)",
            "numactl");
    }

    @Test
    void shouldTellWhatTheDirectoryIsOn() {
        machine.volume = new Probes.Volume("tmpfs", "tmpfs", 0, 38, 1 << 20);
        machine.directIo = new Probes.DirectIo(Availability.no("the file system takes no O_DIRECT", "name another"), 0);
        expect("file_system", Finding.State.LIMITED, "this is memory, not a disk", "--dir");
        expect("free_space", Finding.State.LIMITED, "1.0 MiB free", "make room");
        expect("direct_io", Finding.State.LIMITED, "takes no O_DIRECT", "name another");
        expect("udev", Finding.State.ABSENT, "tmpfs has no block device", "--dir");
        machine.volume = null;
        expect("file_system", Finding.State.LIMITED, "mount table unreadable", "--dir");
        expect("udev", Finding.State.ABSENT, "not known which device", "--dir");
    }

    @Test
    void shouldTellWhichFilesTheDiskWouldUse() throws IOException {
        final String variable = "MOONCAKE_OFFLOAD_STORAGE_BACKEND_DESCRIPTOR";
        expect("disk_backend", Finding.State.OK, "offset_allocator_storage_backend, and no values yet", "");
        machine.environment.put(variable, "bucket_storage_backend");
        expect("disk_backend", Finding.State.OK, "bucket_storage_backend, and no values yet", "");
        machine.environment.put(variable, "buckets");
        expect("disk_backend", Finding.State.BROKEN, "'buckets'", variable);
        machine.environment.put(variable, "bucket_storage_backend");
        Files.write(dir.resolve("kv_files.header"), new byte[1]);
        expect("disk_backend", Finding.State.BROKEN, "has values of file_per_key_storage_backend",
            "to file_per_key_storage_backend, or name another directory");
    }

    @Test
    void shouldTellWhoHasTheFolderOfThisHostInASharedDirectory() throws IOException {
        machine.environment.put("MOONCAKE_OFFLOAD_STORAGE_BACKEND_DESCRIPTOR", "distributed_storage_backend");
        expect("disk_folder_owner", Finding.State.OK, "is open nowhere", "");
        final Path folder = Files.createDirectories(dir.resolve("kv_hosts").resolve(HostName.local()));
        final Path marker = folder.resolve("kvtier.owner");
        final String text = "kvtier folder owner 1\nhost node\nmachine far.example\nkernel %s\nmount %s\n"
            + "incarnation 00112233-4455-6677-8899-aabbccddeeff\nsince 2026-01-31T12:00:00Z\nrenewed 7\n";
        Files.writeString(marker, text.formatted("k", "1"));
        expect("disk_folder_owner", Finding.State.LIMITED, "'node' on machine 'far.example'", "--host-id");
        Files.writeString(marker, text.formatted(
            Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip(), Files.getAttribute(dir, "unix:dev")));
        expect("disk_folder_owner", Finding.State.OK, "not given back yet", "");
        Files.writeString(marker, "something else");
        expect("disk_folder_owner", Finding.State.BROKEN, marker.toString(), "see there");
    }

    @Test
    void shouldTellADriverWithoutALibraryFromNoDriver() {
        machine.withGpu();
        expect("nvidia_driver", Finding.State.OK, "driver 580.159.03", "");
        expect("libcuda", Finding.State.OK, "CUDA 13.0", "");
        expect("gpu_0", Finding.State.OK, "NVIDIA H200", "");
        machine.graphics = new Probes.Graphics(Availability.no("libcuda.so.1 lacks the symbol cuInit", "newer one"),
            List.of());
        expect("libcuda", Finding.State.BROKEN, "lacks the symbol cuInit", "newer one");
        expect("gpu", Finding.State.ABSENT, "no GPU", "newer one");
    }

    @Test
    void shouldNameTheFolderOfALibraryThatTheLoaderDoesNotFind() {
        expect("libcufile", Finding.State.ABSENT, "no libcufile.so.0", "install libcufile");
        machine.file("/usr/local/cuda-12.8/targets/x86_64-linux/lib/libcufile.so.0", "")
            .file("/usr/local/cuda-13.0/targets/x86_64-linux/lib/libcufile.so.0", "")
            .file("/usr/local/cuda-13.1/targets/x86_64-linux/lib/libcudart.so", "");
        expect("libcufile", Finding.State.BROKEN, "though /usr/local/cuda-13.0/targets/x86_64-linux/lib has one",
            "LD_LIBRARY_PATH=/usr/local/cuda-13.0/targets/x86_64-linux/lib");
        machine.gpuFiles = Probes.GpuFiles.untried(Availability.no("libcufile.so.0 is here, but no CUDA", "driver"));
        expect("libcufile", Finding.State.ABSENT, "no CUDA", "driver");
    }

    @Test
    void shouldTellWhichWayDataTakesAndWhy() {
        machine.withGpu();
        expect("libcufile", Finding.State.OK, "version 1.15", "");
        expect("gds_mode", Finding.State.LIMITED, "compatibility mode: data goes through host memory: the module"
            + " nvidia-fs is not loaded; use_pci_p2pdma is not on", "modprobe nvidia-fs");
        machine.environment.put("CUFILE_FORCE_COMPAT_MODE", "true");
        machine.volume = new Probes.Volume("btrfs", "/dev/vda", 0, 30, 1L << 40);
        expect("gds_mode", Finding.State.LIMITED, "force_compat_mode is on; the file system is btrfs; the disk"
            + " (/dev/vda) is not NVMe", "modprobe");
        machine.gpuFiles = MadeUpMachine.gpuFiles(CuFileMode.PCI_P2PDMA, "", 0);
        expect("gds_mode", Finding.State.OK, "peer-to-peer DMA", "");
        expect("posix_pool", Finding.State.OK, "not used", "");
        machine.gpuFiles = MadeUpMachine.gpuFiles(CuFileMode.UNKNOWN, "5030", 5030);
        expect("gds_mode", Finding.State.BROKEN, "reading a file into GPU memory failed: 5030", "see what cuFile says");
    }

    @Test
    void shouldNameError5027AndItsCure() {
        final String cure = "printf 'E:ID_FS_USAGE=filesystem\\nE:ID_FS_TYPE=ext4\\n' > /run/udev/data/b259:1";
        machine.without("/run/udev/data/b259:1");
        expect("udev", Finding.State.LIMITED, "error 5027 (udev property not found: ID_FS_USAGE)", cure);
        machine.withGpu().gpuFiles = MadeUpMachine.gpuFiles(CuFileMode.UNKNOWN, "cuFileHandleRegister: 5027", 5027);
        expect("udev", Finding.State.BROKEN, "no /run/udev/data/b259:1", cure);
        expect("gds_mode", Finding.State.BROKEN, "cuFileHandleRegister: 5027", cure);
        machine.file("/run/udev/data/b259:1", "E:ID_FS_TYPE=ext4\n");
        expect("udev", Finding.State.BROKEN, "does not say ID_FS_USAGE", "read-only");
    }

    @Test
    void shouldMeasureThePoolAgainstTheDepthOfABatch() {
        machine.withGpu();
        expect("posix_pool", Finding.State.LIMITED, "a batch of more than 64 entries of up to 1024 KiB never returns",
            "[128, 128, 128]");
        machine.gpuFiles = new Probes.GpuFiles(machine.gpuFiles.library(), CuFileMode.COMPATIBILITY, "", 0,
            List.of(new PoolSlabs(4, 128), new PoolSlabs(1024, 256)));
        expect("posix_pool", Finding.State.OK, "256 buffers of 1024 KiB: enough for batches of 128", "");
        machine.file("/etc/cufile.json", "{\"properties\": {\"io_batchsize\": \"0x20\"}}");
        expect("posix_pool", Finding.State.LIMITED, "io_batchsize is 32", "128");
    }

    @Test
    void shouldReadThePoolFromTheSettingsWhereTheLibraryIsNot() {
        machine.file("/etc/cufile.json", """
            {
                // sizes of the pool
                "properties": {
                    "posix_pool_slab_size_kb": [4, "0x400", 16384], /* KiB */
                    "posix_pool_slab_count": [128, "0x100", "128"],
                },
            }
            """);
        expect("cufile_json", Finding.State.OK, "/etc/cufile.json", "");
        expect("posix_pool", Finding.State.OK, "256 buffers of 1024 KiB", "");
        machine.file("/etc/cufile.json", "{\"properties\": {\"posix_pool_slab_count\": [128, 64]}}");
        expect("posix_pool", Finding.State.BROKEN, "3 usable sizes and 2 usable counts", "as many counts");
        machine.file("/etc/cufile.json", "{\"properties\": {\"posix_pool_slab_count\": [128, 0, 1]}}");
        expect("posix_pool", Finding.State.BROKEN, "0 of them", "above 0");
        machine.file("/etc/cufile.json", "{\"properties\": {\"posix_pool_slab_count\": [\"many\", 0, 1]}}");
        expect("posix_pool", Finding.State.BROKEN, "0 usable counts", "above 0");
    }

    @Test
    void shouldSayWhetherAStoreWouldGetTheGdsOffloadThatTheEnvironmentAsksFor() {
        final Path file = dir.resolve("kv.gds");
        expect("gds_offload", Finding.State.ABSENT, "MOONCAKE_GDS_OFFLOAD_ENABLED is not set", "OPERATIONS.md");
        machine.environment.put("MOONCAKE_GDS_OFFLOAD_ENABLED", "1");
        expect("gds_offload", Finding.State.BROKEN, "MOONCAKE_GDS_OFFLOAD_PATH is not set", "ENABLED to 0");
        machine.environment.put("MOONCAKE_GDS_OFFLOAD_PATH", file.toString());
        machine.environment.put("MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES", "1048576");
        expect("gds_offload", Finding.State.BROKEN, "'transports/gds/enable' is false",
            "TRANSPORT=io_uring (or posix)");
        machine.environment.put("MC_TENT_CONF", """
            {"transports": {"gds": {"enable": true, "io_batch_depth": 128}, "io_uring": {"enable": false}}}""");
        expect("gds_offload", Finding.State.BROKEN, "GPUDirect Storage cannot be used: no libcufile.so.0",
            "install libcufile; or set MOONCAKE_GDS_OFFLOAD_TRANSPORT=io_uring");
        machine.withGpu();
        expect("gds_offload", Finding.State.OK, file + ", 1.0 MiB, by gds: libcufile.so.0, version 1.15", "");
        machine.gpuFiles = MadeUpMachine.gpuFiles(CuFileMode.UNKNOWN, "cuFileHandleRegister: 5027", 5027);
        expect("gds_offload", Finding.State.BROKEN, "into GPU memory failed: cuFileHandleRegister: 5027", "udev");
        machine.environment.put("MC_USE_TENT", "0");
        expect("gds_offload", Finding.State.BROKEN, "MC_USE_TENT is '0'", "do without");
    }

    @Test
    void shouldSayWhetherGdsOffloadGoesWithoutGpuDirectStorage() {
        machine.environment.putAll(Map.of("MOONCAKE_GDS_OFFLOAD_ENABLED", "1", "MOONCAKE_GDS_OFFLOAD_PATH",
            dir.resolve("kv.gds").toString(), "MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES", "1048576",
            "MOONCAKE_GDS_OFFLOAD_TRANSPORT", "io_uring"));
        expect("gds_offload", Finding.State.OK, "kv.gds, 1.0 MiB, by io_uring: io_uring works", "");
        machine.uring = Availability.no("a seccomp filter forbids it", "change the profile");
        expect("gds_offload", Finding.State.BROKEN, "io_uring cannot be used: a seccomp filter forbids it",
            "change the profile; or set MOONCAKE_GDS_OFFLOAD_TRANSPORT=posix");
        machine.environment.put("MOONCAKE_GDS_OFFLOAD_TRANSPORT", "posix");
        expect("gds_offload", Finding.State.OK, "kv.gds, 1.0 MiB, by posix: ", "");
        machine.environment.put("MC_TENT_CONF", "{");
        expect("gds_offload", Finding.State.BROKEN, "MC_TENT_CONF: this is not JSON", "correct it");
    }

    @Test
    void shouldSayWhetherAStoreCouldUseTheSharedDiskThatTheEnvironmentAsksFor() throws IOException {
        expect("shared_disk", Finding.State.ABSENT, "MOONCAKE_DISTRIBUTED_PAGE_MODE is not set", "OPERATIONS.md");
        machine.environment.put("MOONCAKE_DISTRIBUTED_PAGE_MODE", "1");
        machine.environment.put("MOONCAKE_DISTRIBUTED_ROOT_DIR", "shared");
        expect("shared_disk", Finding.State.BROKEN, "MOONCAKE_DISTRIBUTED_ROOT_DIR is 'shared'", "PAGE_MODE to false");
        final Path shared = dir.resolve("shared");
        machine.environment.put("MOONCAKE_DISTRIBUTED_ROOT_DIR", shared.toString());
        machine.environment.put("MOONCAKE_DISTRIBUTED_BUCKET_SIZE", "65536");
        expect("shared_disk", Finding.State.BROKEN, "MOONCAKE_DISTRIBUTED_FS_TYPE is 'hf3fs'", "PAGE_MODE to false");
        machine.environment.put("MOONCAKE_DISTRIBUTED_FS_TYPE", "posix");
        expect("shared_disk_folder", Finding.State.BROKEN, "does not exist", "mkdir -p " + shared);
        Files.createDirectory(shared);
        expect("shared_disk_mount", Finding.State.LIMITED, "ext4, a file system of this host alone", "mount");
        for (final String name : List.of("folder", "writable", "cluster", "direct_io", "room", "open_files")) {
            expect("shared_disk_" + name, Finding.State.OK, "", "");
        }
        machine.environment.put("MOONCAKE_DISTRIBUTED_READ_ONLY", "1");
        expect("shared_disk_cluster", Finding.State.BROKEN, "a client that writes makes",
            "before those that only read");
        expect("shared_disk_direct_io", Finding.State.LIMITED, "no file of the shared disk is there", "that writes");
        final Set<String> names =
            MadeUpMachine.findings(machine.doctor("--json", "--dir", dir.toString())).keySet();
        assertFalse(names.contains("shared_disk_writable") || names.contains("shared_disk_room"), names::toString);
        machine.environment.remove("MOONCAKE_DISTRIBUTED_READ_ONLY");
        Files.writeString(shared.resolve("kvtier.cluster"), "?");
        expect("shared_disk_cluster", Finding.State.BROKEN, "kvtier.cluster", "another folder");
        machine.file("/proc/self/limits", MadeUpMachine.GOOD_LIMITS.replace("20000", "1000 "));
        expect("shared_disk_open_files", Finding.State.BROKEN, "1000", "ulimit -n");
        machine.missingFlags = List.of(FLAG);
        expect("shared_disk", Finding.State.BROKEN, "not looked at: this JVM lacks " + FLAG, "flags above");
    }

    @Test
    void shouldTakeTheSettingsThatTheEnvironmentNames() {
        machine.environment.put("CUFILE_ENV_PATH_JSON", "/opt/my.json");
        expect("cufile_json", Finding.State.BROKEN, "/opt/my.json (named by CUFILE_ENV_PATH_JSON) is not a file",
            "unset");
        machine.file("/opt/my.json", "{\"properties\": {");
        expect("cufile_json", Finding.State.BROKEN, "cannot be read", "JSON with // comments");
        machine.file("/opt/my.json", "[]");
        expect("cufile_json", Finding.State.BROKEN, "does not start with {", "correct it");
        machine.file("/opt/my.json", "{}").file("/etc/cufile.json", "broken");
        expect("cufile_json", Finding.State.OK, "/opt/my.json", "");
        expect("posix_pool", Finding.State.LIMITED, "64 buffers of 1024 KiB", "posix_pool_slab_count");
    }

    @Test
    void shouldSplitADeviceNumberAsTheCLibraryDoes() {
        assertEquals(259, SystemProbes.major(0x10301));
        assertEquals(1, SystemProbes.minor(0x10301));
        assertEquals(0xfffff123, SystemProbes.major(0xfffff00000012300L));
        assertEquals(0x12345, SystemProbes.minor(0x12300045L));
    }
}
