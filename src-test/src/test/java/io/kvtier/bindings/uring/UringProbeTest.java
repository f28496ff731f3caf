package io.kvtier.bindings.uring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(LeakCheck.class)
class UringProbeTest {
    private final SimulatedKernel kernel = new SimulatedKernel();

    private UringProbe probe(final String disabled) {
        final UringProbe probe = UringProbe.run(kernel, () -> disabled);
        assertEquals(0, kernel.openDescriptors());
        assertEquals(0, kernel.openMappings());
        return probe;
    }

    private void assertRefused(final String disabled, final String reason, final String remedy) {
        final UringProbe probe = probe(disabled);
        assertFalse(probe.availability().available());
        assertTrue(probe.availability().reason().contains(reason), probe.availability().toString());
        assertTrue(probe.availability().remedy().contains(remedy), probe.availability().toString());
        assertEquals(UringFeatures.NONE, probe.features());
    }

    @Test
    void shouldFindThisKernelsRing() {
        NotExercised.require("uring", Uring.availability().available(), Uring.availability().reason());

        final UringFeatures features = Uring.features();

        assertTrue(features.keepsOverflow() && features.timedWait());
        assertTrue(features.supports(UringLayout.OP_NOP) && features.supports(UringLayout.OP_READ));
        assertFalse(features.supports(-1) || features.supports(64));
        assertEquals("", Uring.availability().remedy());
    }

    @Test
    void shouldAnswerOnEveryMachine() {
        assertFalse(Uring.availability().reason().isEmpty());
        assertEquals(Uring.availability().available(), Uring.availability().remedy().isEmpty());
        assertTrue(Uring.lockedMemoryLimitBytes() >= -1);
    }

    /** Prints the availability, in a JVM of its own. */
    static final class Asker {
        private Asker() {
        }

        public static void main(final String[] arguments) {
            System.out.println(Uring.availability());
            System.out.println(Uring.features());
        }
    }

    @Test
    void shouldAnswerWhenNativeAccessIsDenied() throws InterruptedException {
        NotExercised.require("native-access-deny", Runtime.version().feature() >= 24,
            "--illegal-native-access came with JDK 24");
        final Commands.Result result = Commands.java(List.of("--illegal-native-access=deny"), Asker.class);

        assertEquals(0, result.code(), result.output());
        assertTrue(result.output().contains("available=false"), result.output());
        assertTrue(result.output().contains("remedy=--enable-native-access=ALL-UNNAMED"), result.output());
    }

    @Test
    void shouldTakeTheBestSetupFlagsThatTheKernelKnows() {
        final UringProbe best = probe("0");
        assertTrue(best.availability().available(), best.availability().toString());
        assertEquals(UringProbe.SETUP_FLAGS[0], best.features().setupFlags());
        assertTrue(best.features().deferredCompletion());

        kernel.unknownFlags = UringLayout.SETUP_SINGLE_ISSUER;
        assertEquals(UringProbe.SETUP_FLAGS[1], probe("0").features().setupFlags());
        kernel.unknownFlags |= UringLayout.SETUP_COOP_TASKRUN;
        assertEquals(UringProbe.SETUP_FLAGS[2], probe("0").features().setupFlags());
        kernel.unknownFlags = -1;
        final UringProbe oldest = probe("0");
        assertEquals(0, oldest.features().setupFlags());
        assertTrue(oldest.availability().available());
        assertFalse(oldest.features().deferredCompletion());
    }

    @Test
    void shouldSayThatTheSystemForbidsItWhenTheSettingDoes() {
        kernel.failSetup(Errno.EPERM);
        assertRefused("2\n", "kernel.io_uring_disabled is 2", "sysctl kernel.io_uring_disabled=0");
        kernel.failSetup(Errno.EPERM);
        assertRefused("1\n", "kernel.io_uring_disabled is 1", "that group");
    }

    @Test
    void shouldBlameAFilterWhenTheSettingAllowsIt() {
        kernel.failSetup(Errno.EPERM);
        assertRefused("0\n", "seccomp filter", "seccomp profile");
        kernel.failSetup(Errno.EACCES);
        assertRefused("", "security module", "seccomp profile");
    }

    @ParameterizedTest
    @CsvSource({"38, says that there is no io_uring, Linux 5.11", "12, lock the memory, ulimit -l",
        "24, descriptor, ulimit -n", "95, fails here, Linux 5.11"})
    void shouldSayWhatIsMissingWhenSetupFails(final int errno, final String reason, final String remedy) {
        kernel.failSetup(errno);
        assertRefused("0", reason, remedy);
    }

    @Test
    void shouldSayWhatIsMissingWhenTheQueuesCannotBeMapped() {
        kernel.failMap(Errno.ENOMEM);
        assertRefused("0", "lock the memory", "memlock");
    }

    @Test
    void shouldRefuseAKernelThatMapsTheQueuesApart() {
        kernel.features &= ~UringLayout.FEATURE_SINGLE_MMAP;
        assertRefused("0", "older than 5.4", "5.11");
    }

    @ParameterizedTest
    @ValueSource(ints = {UringLayout.FEATURE_NODROP, UringLayout.FEATURE_EXT_ARG})
    void shouldRefuseAKernelThatLacksAFeature(final int feature) {
        kernel.features &= ~feature;
        assertRefused("0", "lacks", "5.11");
    }

    @ParameterizedTest
    @ValueSource(ints = {UringLayout.OP_READ, UringLayout.OP_WRITE, UringLayout.OP_READ_FIXED,
        UringLayout.OP_WRITE_FIXED, UringLayout.OP_FSYNC, UringLayout.OP_ASYNC_CANCEL})
    void shouldRefuseAKernelThatLacksAnOperation(final int operation) {
        kernel.operations &= ~(1L << operation);
        assertRefused("0", "the operation", "5.11");
    }

    @Test
    void shouldRefuseAKernelThatCannotBeAskedForOperations() {
        kernel.failRegister(UringLayout.REGISTER_PROBE, Errno.EINVAL);
        assertRefused("0", "READ", "5.11");
    }

    @Test
    void shouldRefuseWhenAFilterForbidsTheOtherCalls() {
        kernel.failRegister(UringLayout.REGISTER_PROBE, Errno.EPERM);
        assertRefused("0", "io_uring_register: EPERM", "seccomp");
        kernel.failRegister(UringLayout.REGISTER_PROBE, 0);
        kernel.failEnter(Errno.EPERM, 1);
        assertRefused("0", "io_uring_enter: EPERM", "seccomp");
    }

    @Test
    void shouldRefuseAKernelWhoseRingDoesNotWork() {
        kernel.endWith(7);
        assertRefused("0", "did not come back as it should", "version");
    }

    @Test
    void shouldSayWhenBuffersCannotBeRegistered() {
        kernel.features &= ~UringLayout.FEATURE_RSRC_TAGS;
        final UringProbe probe = probe("0");
        assertTrue(probe.availability().available());
        assertTrue(probe.availability().reason().contains("without registered buffers"));
        assertFalse(probe.features().bufferUpdates());
    }

    @Test
    void shouldReadTheLimitOnLockedMemory() {
        assertEquals(8_388_608, Uring.lockedMemoryLimit(List.of("Limit                     Soft Limit",
            "Max locked memory         8388608              8388608              bytes")));
        assertEquals(Long.MAX_VALUE, Uring.lockedMemoryLimit(List.of(
            "Max locked memory         unlimited            unlimited            bytes")));
        assertEquals(-1, Uring.lockedMemoryLimit(List.of("nothing")));
    }
}
