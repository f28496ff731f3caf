package io.kvtier.bindings.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.cuda.gen.CudaFunctions;
import io.kvtier.bindings.cuda.gen.CudaTypes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * What the CUDA driver knows of an address at one moment. Whoever is given an address by somebody else asks before it
 * is passed to a library that trusts it: cuFile was seen never to end a batch entry whose address was no memory, and to
 * end the process.
 *
 * <p>The answer says nothing of the next moment: the memory's owner keeps it open for as long as it is used.
 *
 * <p><b>Threading:</b> immutable. <b>Blocking:</b> asking is one call of the driver, which reads its own tables.
 *
 * @param address   what was asked about.
 * @param kind      what is there.
 * @param device    ordinal of the device it belongs to; -1 when it belongs to none.
 * @param start     where the allocation starts that it lies in; 0 when the driver does not say.
 * @param byteSize  the length of that allocation; 0 when the driver does not say.
 */
public record CudaAddress(long address, Kind kind, int device, long start, long byteSize) {
    /** What is at an address. */
    public enum Kind {
        /** Nothing that the driver allocated or registered in this process: freed, ordinary host memory, or nothing. */
        UNKNOWN,
        /** Host memory that the driver allocated or pinned. */
        HOST,
        /** Memory of a device. */
        DEVICE,
        /** Managed memory, which moves between host and device. */
        MANAGED
    }

    /** Refuses what is not memory of a device; for libraries that are given addresses by somebody else. */
    @FunctionalInterface
    public interface Check {
        /**
         * Goes on only with live memory of a device.
         *
         * @param address  where a range starts.
         * @param byteSize its length.
         * @throws IllegalArgumentException with address, what was found and remedy.
         */
        void require(long address, long byteSize);
    }

    private static final String REMEDY = "; pass memory of a live DeviceMemory, or an address whose owner keeps it"
        + " allocated until the transfer has ended";

    /** What is asked, and room for the answers, which the driver writes through pointers. One a thread. */
    private static final class Query {
        private static final int KIND = 0;
        private static final int MANAGED = 1;
        private static final int DEVICE = 2;
        private static final int START = 3;
        private static final int SIZE = 4;
        private static final int COUNT = 5;

        private final MemorySegment attributes = Arena.ofAuto().allocateFrom(JAVA_INT,
            CudaTypes.CU_POINTER_ATTRIBUTE_MEMORY_TYPE(), CudaTypes.CU_POINTER_ATTRIBUTE_IS_MANAGED(),
            CudaTypes.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL(), CudaTypes.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR(),
            CudaTypes.CU_POINTER_ATTRIBUTE_RANGE_SIZE());
        private final MemorySegment answers = Arena.ofAuto().allocate(JAVA_LONG, COUNT);
        private final MemorySegment places = Arena.ofAuto().allocate(ADDRESS, COUNT);

        Query() {
            for (int i = 0; i < COUNT; i++) {
                places.setAtIndex(ADDRESS, i, answers.asSlice(i * Long.BYTES, Long.BYTES));
            }
        }

        /** Unlike the call for one attribute, this one gives no error for an address that is nothing, but zeros. */
        void ask(final long address) {
            answers.fill((byte) 0);
            final int result = CudaFunctions.cuPointerGetAttributes(COUNT, attributes, places, address);
            if (result != CudaTypes.CUDA_SUCCESS()) {
                throw new CudaException("cuPointerGetAttributes", result, "0x" + Long.toHexString(address));
            }
        }

        Kind kind() {
            final int type = answers.getAtIndex(JAVA_INT, 2 * KIND);
            if (answers.getAtIndex(JAVA_LONG, MANAGED) != 0) {
                return Kind.MANAGED;
            }
            return type == CudaTypes.CU_MEMORYTYPE_DEVICE() ? Kind.DEVICE
                : type == CudaTypes.CU_MEMORYTYPE_HOST() ? Kind.HOST : Kind.UNKNOWN;
        }

        int device() {
            return answers.getAtIndex(JAVA_INT, 2 * DEVICE);
        }

        long start() {
            return answers.getAtIndex(JAVA_LONG, START);
        }

        long size() {
            return answers.getAtIndex(JAVA_LONG, SIZE);
        }
    }

    private static final ThreadLocal<Query> QUERY = ThreadLocal.withInitial(Query::new);

    /**
     * Asks the driver.
     *
     * @param address any number.
     * @return what it knows.
     * @throws IllegalStateException when CUDA is not available.
     */
    public static CudaAddress of(final long address) {
        Cuda.require();
        final Query query = QUERY.get();
        query.ask(address);
        final Kind kind = query.kind();
        return new CudaAddress(address, kind, kind == Kind.UNKNOWN ? -1 : query.device(), query.start(), query.size());
    }

    /**
     * Goes on only with live memory of a device, all of it in one allocation. Allocates nothing on the heap when it is.
     * Memory that was mapped piece by piece counts as one allocation a piece.
     *
     * @param address  where a range starts.
     * @param byteSize its length.
     * @throws IllegalArgumentException with address, what was found and remedy.
     * @throws IllegalStateException    when CUDA is not available.
     */
    public static void requireDeviceMemory(final long address, final long byteSize) {
        Cuda.require();
        final Query query = QUERY.get();
        query.ask(address);
        if (query.kind() != Kind.DEVICE || !covers(query.start(), query.size(), address, byteSize)) {
            of(address).require(byteSize);
        }
    }

    /**
     * Goes on only when a range from this address on is memory of a device and within one allocation.
     *
     * @param length bytes.
     * @throws IllegalArgumentException with address, what was found and remedy.
     */
    public void require(final long length) {
        final String range = "0x" + Long.toHexString(address) + "+" + length;
        switch (kind) {
            case UNKNOWN -> throw new IllegalArgumentException(range + " is no device memory: CUDA knows no allocation"
                + " of this process there (it was freed, never allocated, or is ordinary host memory)" + REMEDY);
            case HOST -> throw new IllegalArgumentException(range + " is pinned host memory, not device memory"
                + REMEDY);
            case MANAGED -> throw new IllegalArgumentException(range + " is managed memory, which may lie in the host"
                + " and cannot be the end of a transfer by the device" + REMEDY);
            case DEVICE -> {
                if (!covers(start, byteSize, address, length)) {
                    throw new IllegalArgumentException(range + " reaches " + (address - start + length - byteSize)
                        + " bytes past its allocation, 0x" + Long.toHexString(start) + "+" + byteSize + " of device "
                        + device + "; pass a range within one allocation, and memory that was mapped in pieces piece"
                        + " by piece");
                }
            }
        }
    }

    /** A driver that does not say how far the allocation reaches is believed: the memory is there at least. */
    private static boolean covers(final long start, final long size, final long address, final long length) {
        return size == 0 || length <= size - (address - start);
    }
}
