package io.kvtier.bindings.cufile;

import io.kvtier.bindings.cufile.gen.CUfileOpCounter;
import io.kvtier.bindings.cufile.gen.CUfilePerGpuStats;
import io.kvtier.bindings.cufile.gen.CUfileStatsLevel1;
import io.kvtier.bindings.cufile.gen.CUfileStatsLevel2;
import io.kvtier.bindings.cufile.gen.CUfileStatsLevel3;
import java.lang.foreign.MemorySegment;

/**
 * The driver's own counts since it was opened, at statistics level 3.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param reads        reads that succeeded, as the library counts: version 1.15 counts each twice.
 * @param writes       writes that succeeded, likewise.
 * @param errors       reads and writes that failed.
 * @param readBytes    bytes of synchronous reads.
 * @param writeBytes   bytes of synchronous writes.
 * @param batchEntries entries of batches that were processed, those in compatibility mode included.
 * @param batchPosix   entries of batches that were processed in compatibility mode.
 * @param nvidiaFs     transfers of all GPUs through nvidia-fs.
 * @param pciP2p       transfers of all GPUs through PCI P2PDMA.
 * @param posix        transfers of all GPUs in compatibility mode.
 * @param unaligned    transfers of all GPUs that were not aligned to 4 KiB.
 */
public record CuFileStatistics(long reads, long writes, long errors, long readBytes, long writeBytes,
                               long batchEntries, long batchPosix, long nvidiaFs, long pciP2p, long posix,
                               long unaligned) {
    private static final int MAX_GPUS = 16;

    static CuFileStatistics of(final MemorySegment statistics) {
        final MemorySegment basic = CUfileStatsLevel2.basic(CUfileStatsLevel3.detailed(statistics));
        final int gpus = Math.clamp(CUfileStatsLevel3.num_gpus(statistics), 0, MAX_GPUS);
        long nvidiaFs = 0;
        long pciP2p = 0;
        long posix = 0;
        long unaligned = 0;
        // Not the indexed accessor: jextract 22 generates it without the field's own offset.
        final MemorySegment all = CUfileStatsLevel3.per_gpu_stats(statistics);
        for (int gpu = 0; gpu < gpus; gpu++) {
            final MemorySegment one = CUfilePerGpuStats.asSlice(all, gpu);
            nvidiaFs += CUfilePerGpuStats.n_nvfs_reads(one) + CUfilePerGpuStats.n_nvfs_writes(one);
            pciP2p += CUfilePerGpuStats.n_p2p_reads(one) + CUfilePerGpuStats.n_p2p_writes(one);
            posix += CUfilePerGpuStats.n_posix_reads(one) + CUfilePerGpuStats.n_posix_writes(one);
            unaligned += CUfilePerGpuStats.n_unaligned_reads(one) + CUfilePerGpuStats.n_unaligned_writes(one);
        }
        final MemorySegment read = CUfileStatsLevel1.read_ops(basic);
        final MemorySegment write = CUfileStatsLevel1.write_ops(basic);
        return new CuFileStatistics(CUfileOpCounter.ok(read), CUfileOpCounter.ok(write),
            CUfileOpCounter.err(read) + CUfileOpCounter.err(write), CUfileStatsLevel1.read_bytes(basic),
            CUfileStatsLevel1.write_bytes(basic), CUfileOpCounter.ok(CUfileStatsLevel1.batch_processed_ops(basic)),
            CUfileOpCounter.ok(CUfileStatsLevel1.batch_posix_processed_ops(basic)), nvidiaFs, pciP2p, posix,
            unaligned);
    }
}
