package io.kvtier.architecture;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import io.kvtier.architecture.fixture.Careless;
import io.kvtier.architecture.fixture.Impure;
import io.kvtier.architecture.fixture.Pure;
import io.kvtier.bindings.NativeLibrary;
import io.kvtier.bindings.posix.PosixFile;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.Timer;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.msgpack.core.MessagePack;
import org.msgpack.core.buffer.MessageBuffer;

/** The house's rules about who may use what; class files decide, not import lines. */
class ArchitectureTest {
    private static final String BINDINGS = "io.kvtier.bindings..";
    private static final String STATE = "io.kvtier.store.master.state..";
    private static final String COMMAND_LINE = "io.kvtier.store.cli..";
    private static final String ADMIN = "io.kvtier.store.admin..";
    private static final String GENERATED = "io.kvtier.bindings.*.gen..";
    private static final JavaClasses LIBRARY = new ClassFileImporter()
        .withImportOption(new ImportOption.DoNotIncludeTests()).importPackages("io.kvtier");

    private static void check(final ArchRule rule) {
        rule.allowEmptyShould(true).check(LIBRARY);
    }

    @Test
    void shouldSeeEveryModule() {
        final Set<String> packages = Set.of("io.kvtier.bindings.posix", "io.kvtier.alloc", "io.kvtier.transport",
            "io.kvtier.store");
        for (final String name : packages) {
            assertTrue(LIBRARY.containPackage(name), name);
        }
        assertTrue(LIBRARY.stream().noneMatch(one -> one.getPackageName().startsWith("io.kvtier.kit")));
    }

    @Test
    void shouldNotImportUpwards() {
        check(layeredArchitecture().consideringOnlyDependenciesInLayers().withOptionalLayers(true)
            .layer("bindings").definedBy(BINDINGS)
            .layer("alloc").definedBy("io.kvtier.alloc..")
            .layer("transport").definedBy("io.kvtier.transport..")
            .layer("store").definedBy("io.kvtier.store..")
            .whereLayer("bindings").mayNotAccessAnyLayer()
            .whereLayer("alloc").mayOnlyAccessLayers("bindings")
            .whereLayer("transport").mayOnlyAccessLayers("alloc", "bindings")
            .whereLayer("store").mayOnlyAccessLayers("transport", "alloc", "bindings"));
    }

    @Test
    void shouldHaveNoPackagesThatImportEachOther() {
        check(slices().matching("io.kvtier.(**)").should().beFreeOfCycles());
    }

    @Test
    void shouldCallNativeCodeFromTheBindingsOnly() {
        check(noClasses().that().resideOutsideOfPackage(BINDINGS)
            .should().dependOnClassesThat(type(Linker.class).or(type(SymbolLookup.class)))
            .orShould().callMethodWhere(describe("MemorySegment.reinterpret",
                call -> call.getTargetOwner().getFullName().equals("java.lang.foreign.MemorySegment")
                    && call.getName().equals("reinterpret")))
            .orShould().callMethodWhere(describe("System.load",
                call -> isOf(call, System.class, "load", "loadLibrary")
                    || isOf(call, Runtime.class, "load", "loadLibrary"))));
    }

    @Test
    void shouldMakeNoNativeCallCarelessly() {
        check(careful("io.kvtier.."));
        // Generated code has arenas of its own; its libraries were loaded for good before.
        check(noClasses().that().resideOutsideOfPackage(GENERATED)
            .and().doNotHaveFullyQualifiedName(NativeLibrary.class.getName())
            .should().callMethodWhere(describe("SymbolLookup.libraryLookup",
                call -> isOf(call, SymbolLookup.class, "libraryLookup"))));
        check(noClasses().that().haveFullyQualifiedName(NativeLibrary.class.getName())
            .should().callMethodWhere(describe("an arena that ends, and the library with it",
                call -> isOf(call, Arena.class, "ofAuto", "ofShared", "ofConfined"))));
    }

    @Test
    void shouldMakeNoArenaWhereBytesMove() {
        check(withoutArenas("io.kvtier.transport.."));
    }

    @Test
    void shouldNeverShortenAFileThatOthersMayShare() {
        check(unshortened("io.kvtier.transport..", "io.kvtier.alloc.."));
    }

    /** What power failures do to names is tested through {@code DirectoryEntries}: what goes past it is not. */
    @Test
    void shouldChangeNamesThroughOneSeamWhereTheyMustBeDurable() {
        check(seamless("io.kvtier.store.storage", "io.kvtier.store.snapshot.."));
    }

    @Test
    void shouldNoticeWhenNativeCodeIsUsedCarelessly() {
        final JavaClasses careless = new ClassFileImporter().importClasses(Careless.class);
        for (final ArchRule rule : List.of(careful("..fixture.."), withoutArenas("..fixture.."),
            unshortened("..fixture.."), seamless("..fixture.."))) {
            assertTrue(rule.evaluate(careless).hasViolation(), rule::getDescription);
        }
        final String found = careful("..fixture..").evaluate(careless).getFailureReport().toString();
        assertTrue(found.contains("Linker$Option.critical") && found.contains("reinterpret(long)"), found);
    }

    /** A critical call holds up every safepoint while it blocks; memory without an arena outlives its owner. */
    private static ArchRule careful(final String packages) {
        return noClasses().that().resideInAPackage(packages)
            .should().callMethodWhere(describe("Linker.Option.critical",
                call -> isOf(call, Linker.Option.class, "critical")))
            .orShould().callMethodWhere(describe("MemorySegment.reinterpret(long) but of a text of the C library",
                call -> isOf(call, MemorySegment.class, "reinterpret")
                    && call.getTarget().getRawParameterTypes().size() == 1
                    && !call.getOrigin().getFullName().endsWith(".posix.Libc.strerror(int)")));
    }

    /** Closing a shared arena stops every thread of the process for a moment. */
    private static ArchRule withoutArenas(final String packages) {
        return noClasses().that().resideInAPackage(packages).should().callMethodWhere(describe("a new arena",
            call -> isOf(call, Arena.class, "ofAuto", "ofShared", "ofConfined")));
    }

    private static ArchRule unshortened(final String... packages) {
        return noClasses().that().resideInAnyPackage(packages).should().callMethodWhere(describe("a file's new length",
            call -> isOf(call, PosixFile.class, "resize") || isOf(call, FileChannel.class, "truncate")
                || isOf(call, RandomAccessFile.class, "setLength")));
    }

    private static ArchRule seamless(final String... packages) {
        return noClasses().that().resideInAnyPackage(packages).should().callMethodWhere(describe("a change of names",
            call -> isOf(call, Files.class, "createDirectory", "createDirectories", "move", "copy", "delete",
                "deleteIfExists", "createLink", "createTempFile")));
    }

    @Test
    void shouldKeepTheMasterStateFreeOfTimeChanceAndThreads() {
        check(pure(STATE));
    }

    @Test
    void shouldNoticeWhenAStateMachineIsNotPure() {
        final ArchRule rule = pure(Impure.class.getPackageName() + "..");
        final List<String> found = rule.evaluate(new ClassFileImporter().importClasses(Impure.class))
            .getFailureReport().getDetails();

        for (final String breach : List.of("System.nanoTime()", "UUID.randomUUID()", "Math.random()",
            "java.util.concurrent.locks.ReentrantLock", "Thread.onSpinWait()", "java.lang.System.out")) {
            assertTrue(found.stream().anyMatch(line -> line.contains(breach)), breach + " in " + found);
        }
        assertEquals(List.of(), rule.evaluate(new ClassFileImporter().importClasses(Pure.class))
            .getFailureReport().getDetails());
    }

    private static ArchRule pure(final String packages) {
        final DescribedPredicate<JavaClass> forbidden = resideInAnyPackage("java.net..", "java.nio.channels..",
            "java.nio.file..", "java.time..", "java.util.random..", "java.util.concurrent",
            "java.util.concurrent.locks", "java.security..", "java.lang.foreign..", "java.util.logging..")
            .and(DescribedPredicate.not(type(Duration.class))).and(DescribedPredicate.not(type(TimeUnit.class)))
            .or(type(Thread.class)).or(type(ThreadLocal.class)).or(type(Random.class))
            .or(type(SplittableRandom.class)).or(type(Timer.class)).or(type(Date.class))
            .or(type(System.Logger.class)).or(type(File.class)).or(type(RandomAccessFile.class))
            .or(resideInAPackage("io.kvtier.transport..")).or(resideInAPackage("io.kvtier.bindings.posix.."));
        return noClasses().that().resideInAPackage(packages)
            .should().dependOnClassesThat(forbidden)
            .orShould().callMethodWhere(describe("a clock, chance or the environment",
                call -> isOf(call, System.class, "currentTimeMillis", "nanoTime", "getenv", "getProperty",
                    "identityHashCode", "getLogger")
                    || isOf(call, Math.class, "random") || isOf(call, UUID.class, "randomUUID")
                    || isOf(call, Collections.class, "shuffle")
                    || call.getTargetOwner().isEquivalentTo(Thread.class)))
            .orShould().accessField(System.class, "out").orShould().accessField(System.class, "err");
    }

    /** By position a pair of the same type can be swapped, and nobody sees it. */
    @Test
    void shouldNotMakeSettingsOfUsersByLongListsOfValues() {
        final int most = 7;
        final List<JavaClass> settings = LIBRARY.stream().filter(one -> one.getPackageName().equals("io.kvtier.store")
            && one.getSimpleName().endsWith("Config")).toList();
        assertTrue(settings.size() >= 4, settings.toString());
        for (final JavaClass one : settings) {
            one.getConstructors().stream().filter(made -> made.getModifiers().contains(JavaModifier.PUBLIC))
                .forEach(made -> assertTrue(made.getRawParameterTypes().size() <= most, made::getFullName));
        }
    }

    private static boolean isOf(final JavaMethodCall call, final Class<?> owner, final String... names) {
        return call.getTargetOwner().isEquivalentTo(owner) && List.of(names).contains(call.getName());
    }

    @Test
    void shouldNeverEndTheProcessOutsideTheLauncher() {
        check(noClasses().that().doNotHaveFullyQualifiedName("io.kvtier.store.cli.Main")
            .should().callMethodWhere(describe("an end of the process",
                call -> isOf(call, System.class, "exit") || isOf(call, Runtime.class, "exit", "halt"))));
    }

    @Test
    void shouldLogThroughTheSystemLoggerOnly() {
        check(noClasses().should().dependOnClassesThat(resideInAnyPackage("java.util.logging..", "org.slf4j..",
            "org.apache.logging..", "org.apache.commons.logging..", "ch.qos.logback..")));
        check(noClasses().that().resideOutsideOfPackages(COMMAND_LINE, GENERATED)
            .should().accessField(System.class, "out").orShould().accessField(System.class, "err")
            .orShould().callMethodWhere(describe("printStackTrace", call -> call.getName().equals("printStackTrace"))));
    }

    @Test
    void shouldKeepTheCommandLinesLibrariesOutOfTheLibrary() {
        check(noClasses().that().resideOutsideOfPackage(COMMAND_LINE)
            .should().dependOnClassesThat(resideInAnyPackage("picocli..", "org.HdrHistogram..", "me.tongfei..")));
        check(noClasses().that().resideOutsideOfPackages(COMMAND_LINE, ADMIN, "io.kvtier.store.config..",
            "io.kvtier.store.snapshot.files")
            .should().dependOnClassesThat(resideInAnyPackage("com.fasterxml.jackson..")));
        check(noClasses().that().doNotHaveFullyQualifiedName("io.kvtier.store.config.YamlDocument")
            .should().dependOnClassesThat(resideInAnyPackage("org.snakeyaml..")));
        check(noClasses().that().resideOutsideOfPackage("io.kvtier.store.metrics..")
            .should().dependOnClassesThat(resideInAnyPackage("io.prometheus..")));
        check(noClasses().that().resideOutsideOfPackage("io.kvtier.store.snapshot.s3")
            .should().dependOnClassesThat(resideInAnyPackage("java.net.http..", "javax.xml..")));
        check(noClasses().that().resideOutsideOfPackage(ADMIN)
            .should().dependOnClassesThat(resideInAnyPackage("com.sun.net.httpserver..")));
        check(classes().that().resideInAPackage(COMMAND_LINE).should().onlyHaveDependentClassesThat()
            .resideInAPackage(COMMAND_LINE));
    }

    /** Whoever loads the library first decides whether it uses {@code sun.misc.Unsafe}. */
    @Test
    void shouldLoadMessagePackInOnePlace() {
        final String rpc = "io.kvtier.transport.rpc";
        check(noClasses().that().resideOutsideOfPackage(rpc)
            .should().dependOnClassesThat(resideInAnyPackage("org.msgpack..")));
        check(noClasses().that().doNotHaveFullyQualifiedName(rpc + ".MessagePackLibrary")
            .should().dependOnClassesThat(type(MessagePack.class))
            .orShould().callMethodWhere(describe("a new buffer of MessagePack",
                call -> isOf(call, MessageBuffer.class, "wrap", "allocate"))));
    }

    @Test
    void shouldSayInEveryPackageWhatBelongsThere() throws IOException {
        final Path root = Path.of(System.getProperty("kvtier.root"));
        int packages = 0;
        for (final String module : List.of("bindings", "alloc", "transport", "store")) {
            final Path sources = root.resolve(module).resolve("src/main/java/io");
            for (final Path folder : foldersWithClasses(sources)) {
                packages++;
                final Path intent = folder.resolve("package-info.java");
                assertTrue(Files.exists(intent), "missing: " + intent);
                assertTrue(Files.readString(intent).startsWith("/**"), "says nothing: " + intent);
            }
        }
        assertTrue(packages >= 8, "only " + packages + " packages found under " + root);
    }

    private static List<Path> foldersWithClasses(final Path sources) throws IOException {
        try (Stream<Path> all = Files.walk(sources)) {
            return all.filter(path -> path.toString().endsWith(".java")).map(Path::getParent).distinct().toList();
        }
    }
}
