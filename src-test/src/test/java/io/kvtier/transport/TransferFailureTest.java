package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaException;
import io.kvtier.bindings.cufile.CuFileException;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import io.kvtier.transport.TransferFailure.Kind;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a failure says as data, whatever was thrown under a slice. */
@ExtendWith(LeakCheck.class)
class TransferFailureTest {
    private static final int OFFSET = 12_288;
    private static final int LENGTH = 100;

    private final HostRegion memory = HostRegion.allocate(NativeTag.TEST, LENGTH);
    private final HeldTransport files = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
    private final TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(files));
    private final Segment segment = engine.openSegment("file:///data");

    @AfterEach
    void close() {
        engine.close();
        memory.close();
    }

    private TransferFailure of(final Throwable thrown) {
        final Transfer transfer = engine.submit(List.of(
            TransferRequest.read(memory.slice(0, LENGTH), segment, OFFSET)));
        files.slices().getLast().failed(thrown);
        return transfer.failure();
    }

    private static TransferFailure expected(final String domain, final int code, final boolean retryable,
        final Throwable thrown) {
        return new TransferFailure(Kind.FAILED, domain, code, retryable, "file:///data", OFFSET, LENGTH,
            thrown.getMessage());
    }

    @Test
    void shouldTellCodeAndNameAsOfWhoeverNumbersThem() {
        final ErrnoException passing = new ErrnoException("pread", 5, "data");
        final ErrnoException lasting = new ErrnoException("pwrite", 28, "data");
        final CuFileException own = CuFileException.ofResult("cuFileRead", -5027, 0, "data");
        final CuFileException kernels = CuFileException.ofResult("cuFileRead", -1, 5, "data");
        final CuFileException drivers = CuFileException.ofStatus("cuFileBufRegister", 5011 | 2L << 32, "memory");
        final CudaException cuda = new CudaException("cuMemcpyDtoH", 2, "100 bytes");

        assertEquals(expected("errno", 5, true, passing), of(passing));
        assertEquals("EIO", of(passing).codeName());
        assertEquals(expected("errno", 28, false, lasting), of(lasting));
        assertEquals("ENOSPC", of(lasting).codeName());
        assertEquals(expected("cufile", 5027, true, own), of(own));
        assertEquals("CU_FILE_HANDLE_NOT_REGISTERED", of(own).codeName());
        assertEquals(expected("errno", 5, true, kernels), of(kernels), "cuFile passes on a number of the kernel");
        assertEquals("EIO", of(kernels).codeName());
        assertEquals(expected("cuda", 2, true, drivers), of(drivers), "cuFile passes on a number of the driver");
        assertEquals(expected("cuda", 2, false, cuda), of(cuda));
        assertEquals(Cuda.availability().available() ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUresult 2",
            of(cuda).codeName());
    }

    @Test
    void shouldHaveNoCodeWhereNoneWasGiven() {
        final IllegalStateException thrown = new IllegalStateException("gone");

        assertEquals(expected("", 0, false, thrown), of(thrown));
        assertEquals("", of(thrown).codeName());
    }

    @Test
    void shouldTellWhatIsWorseByTheOrderOfItsKinds() {
        final List<Kind> named = List.of(Kind.INVALID, Kind.CANCELED, Kind.TIMEOUT, Kind.FAILED);

        assertEquals(named, named.reversed().stream().sorted().toList());
    }
}
