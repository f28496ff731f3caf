package io.kvtier.bindings.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.cuda.gen.CUuuid_st;
import io.kvtier.bindings.cuda.gen.CudaTypes;
import io.kvtier.bindings.cufile.gen.CUfileDescr_t;
import io.kvtier.bindings.cufile.gen.CUfileDrvProps;
import io.kvtier.bindings.cufile.gen.CUfileError;
import io.kvtier.bindings.cufile.gen.CUfileIOEvents;
import io.kvtier.bindings.cufile.gen.CUfileIOParams;
import io.kvtier.bindings.cufile.gen.CUfileOpCounter;
import io.kvtier.bindings.cufile.gen.CUfilePerGpuStats;
import io.kvtier.bindings.cufile.gen.CUfileStatsLevel1;
import io.kvtier.bindings.cufile.gen.CUfileStatsLevel2;
import io.kvtier.bindings.cufile.gen.CUfileStatsLevel3;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.kit.Commands;
import io.kvtier.kit.NotExercised;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Everything that is passed to cuFile or comes back from it: against the C compiler where the vendor's headers are
 * ({@code CUDA_HOME}, or {@code -Dcuda.include=DIR}), and against the numbers of CUDA 13.0 on x86-64 anywhere.
 */
class CuFileLayoutTest {
    private static final long[] NUMBERS = {8, 0, 4, 24, 0, 8, 16, 56, 8, 16, 24, 28, 32, 36, 40, 44, 48, 52, 64, 0, 8,
        16, 24, 32, 40, 48, 56, 24, 0, 8, 16, 16, 0, 8, 512, 0, 16, 96, 104, 288, 304, 1024, 0, 5000, 0, 1024, 1032,
        248, 56, 64, 72, 80, 160, 168, 176, 184, 16, 0, 1, 1, 1, 2, 4, 8, 16, 32, 64, 1, 1, 11, 1, 2, 5000, 5001, 5011,
        1, 2, 4, 8, 1, 2, 8, 12, 2, 5050};

    @TempDir
    private Path directory;

    private static Map<String, Long> ours() {
        final Map<String, Long> ours = new LinkedHashMap<>();
        structs(ours);
        statistics(ours);
        constants(ours);
        return ours;
    }

    private static void structs(final Map<String, Long> ours) {
        ours.put("sizeof(CUfileError_t)", CUfileError.layout().byteSize());
        ours.put("offsetof(CUfileError_t, err)", CUfileError.err$offset());
        ours.put("offsetof(CUfileError_t, cu_err)", CUfileError.cu_err$offset());
        ours.put("sizeof(CUfileDescr_t)", CUfileDescr_t.layout().byteSize());
        ours.put("offsetof(CUfileDescr_t, type)", CUfileDescr_t.type$offset());
        ours.put("offsetof(CUfileDescr_t, handle.fd)",
            CUfileDescr_t.handle$offset() + CUfileDescr_t.handle.fd$offset());
        ours.put("offsetof(CUfileDescr_t, fs_ops)", CUfileDescr_t.fs_ops$offset());
        ours.put("sizeof(CUfileDrvProps_t)", CUfileDrvProps.layout().byteSize());
        ours.put("offsetof(CUfileDrvProps_t, nvfs.poll_thresh_size)", CUfileDrvProps.nvfs.poll_thresh_size$offset());
        ours.put("offsetof(CUfileDrvProps_t, nvfs.max_direct_io_size)",
            CUfileDrvProps.nvfs.max_direct_io_size$offset());
        ours.put("offsetof(CUfileDrvProps_t, nvfs.dstatusflags)", CUfileDrvProps.nvfs.dstatusflags$offset());
        ours.put("offsetof(CUfileDrvProps_t, nvfs.dcontrolflags)", CUfileDrvProps.nvfs.dcontrolflags$offset());
        ours.put("offsetof(CUfileDrvProps_t, fflags)", CUfileDrvProps.fflags$offset());
        ours.put("offsetof(CUfileDrvProps_t, max_device_cache_size)", CUfileDrvProps.max_device_cache_size$offset());
        ours.put("offsetof(CUfileDrvProps_t, per_buffer_cache_size)", CUfileDrvProps.per_buffer_cache_size$offset());
        ours.put("offsetof(CUfileDrvProps_t, max_device_pinned_mem_size)",
            CUfileDrvProps.max_device_pinned_mem_size$offset());
        ours.put("offsetof(CUfileDrvProps_t, max_batch_io_size)", CUfileDrvProps.max_batch_io_size$offset());
        ours.put("offsetof(CUfileDrvProps_t, max_batch_io_timeout_msecs)",
            CUfileDrvProps.max_batch_io_timeout_msecs$offset());
        final long batch = CUfileIOParams.u$offset() + CUfileIOParams.u.batch$offset();
        ours.put("sizeof(CUfileIOParams_t)", CUfileIOParams.layout().byteSize());
        ours.put("offsetof(CUfileIOParams_t, mode)", CUfileIOParams.mode$offset());
        ours.put("offsetof(CUfileIOParams_t, u.batch.devPtr_base)",
            batch + CUfileIOParams.u.batch.devPtr_base$offset());
        ours.put("offsetof(CUfileIOParams_t, u.batch.file_offset)",
            batch + CUfileIOParams.u.batch.file_offset$offset());
        ours.put("offsetof(CUfileIOParams_t, u.batch.devPtr_offset)",
            batch + CUfileIOParams.u.batch.devPtr_offset$offset());
        ours.put("offsetof(CUfileIOParams_t, u.batch.size)", batch + CUfileIOParams.u.batch.size$offset());
        ours.put("offsetof(CUfileIOParams_t, fh)", CUfileIOParams.fh$offset());
        ours.put("offsetof(CUfileIOParams_t, opcode)", CUfileIOParams.opcode$offset());
        ours.put("offsetof(CUfileIOParams_t, cookie)", CUfileIOParams.cookie$offset());
        ours.put("sizeof(CUfileIOEvents_t)", CUfileIOEvents.layout().byteSize());
        ours.put("offsetof(CUfileIOEvents_t, cookie)", CUfileIOEvents.cookie$offset());
        ours.put("offsetof(CUfileIOEvents_t, status)", CUfileIOEvents.status$offset());
        ours.put("offsetof(CUfileIOEvents_t, ret)", CUfileIOEvents.ret$offset());
    }

    private static void statistics(final Map<String, Long> ours) {
        ours.put("sizeof(CUfileOpCounter_t)", CUfileOpCounter.layout().byteSize());
        ours.put("offsetof(CUfileOpCounter_t, ok)", CUfileOpCounter.ok$offset());
        ours.put("offsetof(CUfileOpCounter_t, err)", CUfileOpCounter.err$offset());
        ours.put("sizeof(CUfileStatsLevel1_t)", CUfileStatsLevel1.layout().byteSize());
        ours.put("offsetof(CUfileStatsLevel1_t, read_ops)", CUfileStatsLevel1.read_ops$offset());
        ours.put("offsetof(CUfileStatsLevel1_t, write_ops)", CUfileStatsLevel1.write_ops$offset());
        ours.put("offsetof(CUfileStatsLevel1_t, read_bytes)", CUfileStatsLevel1.read_bytes$offset());
        ours.put("offsetof(CUfileStatsLevel1_t, write_bytes)", CUfileStatsLevel1.write_bytes$offset());
        ours.put("offsetof(CUfileStatsLevel1_t, batch_processed_ops)", CUfileStatsLevel1.batch_processed_ops$offset());
        ours.put("offsetof(CUfileStatsLevel1_t, batch_posix_processed_ops)",
            CUfileStatsLevel1.batch_posix_processed_ops$offset());
        ours.put("sizeof(CUfileStatsLevel2_t)", CUfileStatsLevel2.layout().byteSize());
        ours.put("offsetof(CUfileStatsLevel2_t, basic)", CUfileStatsLevel2.basic$offset());
        ours.put("sizeof(CUfileStatsLevel3_t)", CUfileStatsLevel3.layout().byteSize());
        ours.put("offsetof(CUfileStatsLevel3_t, detailed)", CUfileStatsLevel3.detailed$offset());
        ours.put("offsetof(CUfileStatsLevel3_t, num_gpus)", CUfileStatsLevel3.num_gpus$offset());
        ours.put("offsetof(CUfileStatsLevel3_t, per_gpu_stats)", CUfileStatsLevel3.per_gpu_stats$offset());
        ours.put("sizeof(CUfilePerGpuStats_t)", CUfilePerGpuStats.layout().byteSize());
        ours.put("offsetof(CUfilePerGpuStats_t, n_p2p_reads)", CUfilePerGpuStats.n_p2p_reads$offset());
        ours.put("offsetof(CUfilePerGpuStats_t, n_nvfs_reads)", CUfilePerGpuStats.n_nvfs_reads$offset());
        ours.put("offsetof(CUfilePerGpuStats_t, n_posix_reads)", CUfilePerGpuStats.n_posix_reads$offset());
        ours.put("offsetof(CUfilePerGpuStats_t, n_unaligned_reads)", CUfilePerGpuStats.n_unaligned_reads$offset());
        ours.put("offsetof(CUfilePerGpuStats_t, n_p2p_writes)", CUfilePerGpuStats.n_p2p_writes$offset());
        ours.put("offsetof(CUfilePerGpuStats_t, n_nvfs_writes)", CUfilePerGpuStats.n_nvfs_writes$offset());
        ours.put("offsetof(CUfilePerGpuStats_t, n_posix_writes)", CUfilePerGpuStats.n_posix_writes$offset());
        ours.put("offsetof(CUfilePerGpuStats_t, n_unaligned_writes)", CUfilePerGpuStats.n_unaligned_writes$offset());
        ours.put("sizeof(CUuuid)", CUuuid_st.layout().byteSize());
    }

    private static void constants(final Map<String, Long> ours) {
        ours.put("CUFILE_READ", (long) CuFileTypes.CUFILE_READ());
        ours.put("CUFILE_WRITE", (long) CuFileTypes.CUFILE_WRITE());
        ours.put("CUFILE_BATCH", (long) CuFileTypes.CUFILE_BATCH());
        ours.put("CUFILE_WAITING", (long) CuFileTypes.CUFILE_WAITING());
        ours.put("CUFILE_PENDING", (long) CuFileTypes.CUFILE_PENDING());
        ours.put("CUFILE_INVALID", (long) CuFileTypes.CUFILE_INVALID());
        ours.put("CUFILE_CANCELED", (long) CuFileTypes.CUFILE_CANCELED());
        ours.put("CUFILE_COMPLETE", (long) CuFileTypes.CUFILE_COMPLETE());
        ours.put("CUFILE_TIMEOUT", (long) CuFileTypes.CUFILE_TIMEOUT());
        ours.put("CUFILE_FAILED", (long) CuFileTypes.CUFILE_FAILED());
        ours.put("CU_FILE_HANDLE_TYPE_OPAQUE_FD", (long) CuFileTypes.CU_FILE_HANDLE_TYPE_OPAQUE_FD());
        ours.put("CU_FILE_ALLOW_COMPAT_MODE", (long) CuFileTypes.CU_FILE_ALLOW_COMPAT_MODE());
        ours.put("CU_FILE_NVME_P2P_SUPPORTED", (long) CuFileTypes.CU_FILE_NVME_P2P_SUPPORTED());
        ours.put("CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE",
            (long) CuFileTypes.CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE());
        ours.put("CUFILE_PARAM_FORCE_COMPAT_MODE", (long) CuFileTypes.CUFILE_PARAM_FORCE_COMPAT_MODE());
        ours.put("CUFILEOP_BASE_ERR", (long) CuFileTypes.CUFILEOP_BASE_ERR());
        ours.put("CU_FILE_DRIVER_NOT_INITIALIZED", (long) CuFileTypes.CU_FILE_DRIVER_NOT_INITIALIZED());
        ours.put("CU_FILE_CUDA_DRIVER_ERROR", (long) CuFileTypes.CU_FILE_CUDA_DRIVER_ERROR());
        ours.put("CU_FILE_STREAM_FIXED_BUF_OFFSET", (long) CuFileTypes.CU_FILE_STREAM_FIXED_BUF_OFFSET());
        ours.put("CU_FILE_STREAM_FIXED_FILE_OFFSET", (long) CuFileTypes.CU_FILE_STREAM_FIXED_FILE_OFFSET());
        ours.put("CU_FILE_STREAM_FIXED_FILE_SIZE", (long) CuFileTypes.CU_FILE_STREAM_FIXED_FILE_SIZE());
        ours.put("CU_FILE_STREAM_PAGE_ALIGNED_INPUTS", (long) CuFileTypes.CU_FILE_STREAM_PAGE_ALIGNED_INPUTS());
        ours.put("CUFILE_PARAM_ENV_LOGFILE_PATH", (long) CuFileTypes.CUFILE_PARAM_ENV_LOGFILE_PATH());
        ours.put("CU_POINTER_ATTRIBUTE_MEMORY_TYPE", (long) CudaTypes.CU_POINTER_ATTRIBUTE_MEMORY_TYPE());
        ours.put("CU_POINTER_ATTRIBUTE_IS_MANAGED", (long) CudaTypes.CU_POINTER_ATTRIBUTE_IS_MANAGED());
        ours.put("CU_POINTER_ATTRIBUTE_RANGE_SIZE", (long) CudaTypes.CU_POINTER_ATTRIBUTE_RANGE_SIZE());
        ours.put("CU_MEMORYTYPE_DEVICE", (long) CudaTypes.CU_MEMORYTYPE_DEVICE());
        ours.put("CU_FILE_IO_MAX_ERROR", (long) CuFileTypes.CU_FILE_IO_MAX_ERROR());
    }

    /** The folder with both headers, or null. */
    private static Path headers() throws IOException {
        final String given = System.getProperty("cuda.include");
        if (given != null) {
            return Path.of(given);
        }
        final String home = System.getenv("CUDA_HOME");
        if (home == null) {
            return null;
        }
        try (Stream<Path> files = Files.find(Path.of(home), 4, (path, kind) -> path.endsWith("cufile.h"))) {
            return files.findFirst().map(Path::getParent).orElse(null);
        }
    }

    @Test
    void shouldMatchTheVendorsHeadersByTheCompiler() throws IOException, InterruptedException {
        final Path headers = headers();
        NotExercised.require("cufile-headers", headers != null && Files.exists(headers.resolve("cuda.h")),
            "no cuda.h and cufile.h under CUDA_HOME or -Dcuda.include");
        NotExercised.require("gcc", Commands.run("gcc", "--version").code() == 0, "no C compiler");
        final Map<String, Long> ours = ours();
        final String prints = ours.keySet().stream()
            .map(expression -> "    printf(\"%lld\\n\", (long long) (" + expression + "));\n")
            .collect(Collectors.joining());
        final Path source = Files.writeString(directory.resolve("layout.c"), "#include <stddef.h>\n#include <stdio.h>\n"
            + "#include <sys/types.h>\n#include <cufile.h>\nint main(void) {\n" + prints + "    return 0;\n}\n");
        final Path program = directory.resolve("layout");
        final Commands.Result compiled = Commands.run("gcc", "-D_GNU_SOURCE", "-I" + headers, "-o", program.toString(),
            source.toString());
        assertEquals(0, compiled.code(), compiled.output());
        final String[] theirs = Commands.run(program.toString()).output().strip().split("\n");
        final Map<String, Long> expected = new LinkedHashMap<>();
        int i = 0;
        for (final String expression : ours.keySet()) {
            expected.put(expression, Long.valueOf(theirs[i++]));
        }
        assertEquals(expected, ours);
    }

    @Test
    void shouldMatchTheRecordedNumbers() {
        final Map<String, Long> expected = new LinkedHashMap<>();
        int i = 0;
        for (final String expression : ours().keySet()) {
            expected.put(expression, NUMBERS[i++]);
        }
        assertEquals(NUMBERS.length, i);
        assertEquals(expected, ours());
    }

    @Test
    void shouldReadTheCountersOfAGpuWhereTheyLie() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment statistics = arena.allocate(CUfileStatsLevel3.layout());
            statistics.set(ValueLayout.JAVA_INT, 1024, 2);
            // The second GPU's reads in compatibility mode, its direct writes, and all of both GPUs' unaligned ones.
            statistics.set(ValueLayout.JAVA_LONG, 1032 + 248 + 72, 7);
            statistics.set(ValueLayout.JAVA_LONG, 1032 + 248 + 168, 5);
            statistics.set(ValueLayout.JAVA_LONG, 1032 + 160, 3);
            statistics.set(ValueLayout.JAVA_LONG, 1032 + 80, 1);
            statistics.set(ValueLayout.JAVA_LONG, 1032 + 248 + 184, 2);
            statistics.set(ValueLayout.JAVA_LONG, 304, 9);
            assertEquals(new CuFileStatistics(0, 0, 0, 0, 0, 0, 9, 5, 3, 7, 3), CuFileStatistics.of(statistics));
        }
    }

    @Test
    void shouldNameEveryCodeOfTheHeader() throws ReflectiveOperationException {
        int codes = 0;
        for (final Method method : CuFileTypes.class.getMethods()) {
            if (method.getName().startsWith("CU_FILE_") && method.getReturnType() == int.class) {
                final int code = (int) method.invoke(null);
                if (code > 5000 && code < 5050) {
                    codes++;
                    assertEquals(method.getName(), CuFileCode.name(code));
                    assertTrue(CuFileCode.text(code).length() > 10);
                }
            }
        }
        assertEquals(47, codes);
        assertEquals("cuFile code 5021", CuFileCode.name(5021));
        assertTrue(CuFileCode.text(5021).contains("header"));
    }
}
