package io.kvtier.bindings.cufile;

import io.kvtier.bindings.cufile.gen.CuFileTypes;
import java.util.Map;

/**
 * Names and meanings of cuFile's error codes.
 *
 * <p><b>Threading:</b> immutable.
 */
final class CuFileCode {
    private static final Map<Integer, Meaning> MEANINGS = Map.ofEntries(
        text(CuFileTypes.CU_FILE_DRIVER_NOT_INITIALIZED(), "CU_FILE_DRIVER_NOT_INITIALIZED",
            "the nvidia-fs driver is not loaded and compatibility mode is off"),
        text(CuFileTypes.CU_FILE_DRIVER_INVALID_PROPS(), "CU_FILE_DRIVER_INVALID_PROPS", "a property is not valid"),
        text(CuFileTypes.CU_FILE_DRIVER_UNSUPPORTED_LIMIT(), "CU_FILE_DRIVER_UNSUPPORTED_LIMIT",
            "a property is out of range"),
        text(CuFileTypes.CU_FILE_DRIVER_VERSION_MISMATCH(), "CU_FILE_DRIVER_VERSION_MISMATCH",
            "nvidia-fs and the library are of different versions"),
        text(CuFileTypes.CU_FILE_DRIVER_VERSION_READ_ERROR(), "CU_FILE_DRIVER_VERSION_READ_ERROR",
            "the version of nvidia-fs cannot be read"),
        text(CuFileTypes.CU_FILE_DRIVER_CLOSING(), "CU_FILE_DRIVER_CLOSING", "the driver is being closed"),
        text(CuFileTypes.CU_FILE_PLATFORM_NOT_SUPPORTED(), "CU_FILE_PLATFORM_NOT_SUPPORTED",
            "this platform has no GPUDirect Storage"),
        text(CuFileTypes.CU_FILE_IO_NOT_SUPPORTED(), "CU_FILE_IO_NOT_SUPPORTED",
            "this file cannot be used for GPUDirect Storage"),
        text(CuFileTypes.CU_FILE_DEVICE_NOT_SUPPORTED(), "CU_FILE_DEVICE_NOT_SUPPORTED",
            "this GPU cannot be used for GPUDirect Storage"),
        text(CuFileTypes.CU_FILE_NVFS_DRIVER_ERROR(), "CU_FILE_NVFS_DRIVER_ERROR", "nvidia-fs refused a request"),
        text(CuFileTypes.CU_FILE_CUDA_DRIVER_ERROR(), "CU_FILE_CUDA_DRIVER_ERROR", "the CUDA driver failed"),
        text(CuFileTypes.CU_FILE_CUDA_POINTER_INVALID(), "CU_FILE_CUDA_POINTER_INVALID",
            "no device memory at this address"),
        text(CuFileTypes.CU_FILE_CUDA_MEMORY_TYPE_INVALID(), "CU_FILE_CUDA_MEMORY_TYPE_INVALID",
            "memory of a kind that cannot be used"),
        text(CuFileTypes.CU_FILE_CUDA_POINTER_RANGE_ERROR(), "CU_FILE_CUDA_POINTER_RANGE_ERROR",
            "the range reaches past its allocation"),
        text(CuFileTypes.CU_FILE_CUDA_CONTEXT_MISMATCH(), "CU_FILE_CUDA_CONTEXT_MISMATCH",
            "the memory belongs to another CUDA context"),
        text(CuFileTypes.CU_FILE_INVALID_MAPPING_SIZE(), "CU_FILE_INVALID_MAPPING_SIZE", "more than may be pinned"),
        text(CuFileTypes.CU_FILE_INVALID_MAPPING_RANGE(), "CU_FILE_INVALID_MAPPING_RANGE",
            "the range reaches past what is registered"),
        text(CuFileTypes.CU_FILE_INVALID_FILE_TYPE(), "CU_FILE_INVALID_FILE_TYPE",
            "not a regular file or block device"),
        text(CuFileTypes.CU_FILE_INVALID_FILE_OPEN_FLAG(), "CU_FILE_INVALID_FILE_OPEN_FLAG",
            "opened with flags that cannot be used"),
        text(CuFileTypes.CU_FILE_DIO_NOT_SET(), "CU_FILE_DIO_NOT_SET", "not opened with O_DIRECT"),
        text(CuFileTypes.CU_FILE_INVALID_VALUE(), "CU_FILE_INVALID_VALUE", "an argument was refused"),
        text(CuFileTypes.CU_FILE_MEMORY_ALREADY_REGISTERED(), "CU_FILE_MEMORY_ALREADY_REGISTERED",
            "memory with this base is registered already"),
        text(CuFileTypes.CU_FILE_MEMORY_NOT_REGISTERED(), "CU_FILE_MEMORY_NOT_REGISTERED",
            "no memory with this base is registered"),
        text(CuFileTypes.CU_FILE_PERMISSION_DENIED(), "CU_FILE_PERMISSION_DENIED",
            "no access to the driver or the file"),
        text(CuFileTypes.CU_FILE_DRIVER_ALREADY_OPEN(), "CU_FILE_DRIVER_ALREADY_OPEN", "the driver is open already"),
        text(CuFileTypes.CU_FILE_HANDLE_NOT_REGISTERED(), "CU_FILE_HANDLE_NOT_REGISTERED",
            "the file could not be registered"),
        text(CuFileTypes.CU_FILE_HANDLE_ALREADY_REGISTERED(), "CU_FILE_HANDLE_ALREADY_REGISTERED",
            "the descriptor is registered already"),
        text(CuFileTypes.CU_FILE_DEVICE_NOT_FOUND(), "CU_FILE_DEVICE_NOT_FOUND", "no GPU was found"),
        text(CuFileTypes.CU_FILE_INTERNAL_ERROR(), "CU_FILE_INTERNAL_ERROR", "something inside the library failed"),
        text(CuFileTypes.CU_FILE_GETNEWFD_FAILED(), "CU_FILE_GETNEWFD_FAILED", "no further descriptor could be had"),
        text(CuFileTypes.CU_FILE_NVFS_SETUP_ERROR(), "CU_FILE_NVFS_SETUP_ERROR", "nvidia-fs could not be set up"),
        text(CuFileTypes.CU_FILE_IO_DISABLED(), "CU_FILE_IO_DISABLED", "the configuration excludes this file"),
        text(CuFileTypes.CU_FILE_BATCH_SUBMIT_FAILED(), "CU_FILE_BATCH_SUBMIT_FAILED", "the batch was not accepted"),
        text(CuFileTypes.CU_FILE_GPU_MEMORY_PINNING_FAILED(), "CU_FILE_GPU_MEMORY_PINNING_FAILED",
            "GPU memory could not be pinned"),
        text(CuFileTypes.CU_FILE_BATCH_FULL(), "CU_FILE_BATCH_FULL", "the batch is full"),
        text(CuFileTypes.CU_FILE_ASYNC_NOT_SUPPORTED(), "CU_FILE_ASYNC_NOT_SUPPORTED",
            "stream transfers are not supported"),
        text(CuFileTypes.CU_FILE_INTERNAL_BATCH_SETUP_ERROR(), "CU_FILE_INTERNAL_BATCH_SETUP_ERROR",
            "setting up a batch failed this time"),
        text(CuFileTypes.CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR(), "CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR",
            "submitting a batch failed this time"),
        text(CuFileTypes.CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR(), "CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR",
            "asking for a batch's status failed this time"),
        text(CuFileTypes.CU_FILE_INTERNAL_BATCH_CANCEL_ERROR(), "CU_FILE_INTERNAL_BATCH_CANCEL_ERROR",
            "cancelling a batch failed this time"),
        text(CuFileTypes.CU_FILE_NOMEM_ERROR(), "CU_FILE_NOMEM_ERROR", "memory is short at the moment"),
        text(CuFileTypes.CU_FILE_IO_ERROR(), "CU_FILE_IO_ERROR", "the transfer failed"),
        text(CuFileTypes.CU_FILE_INTERNAL_BUF_REGISTER_ERROR(), "CU_FILE_INTERNAL_BUF_REGISTER_ERROR",
            "registering memory failed inside the library"),
        text(CuFileTypes.CU_FILE_HASH_OPR_ERROR(), "CU_FILE_HASH_OPR_ERROR", "a table inside the library failed"),
        text(CuFileTypes.CU_FILE_INVALID_CONTEXT_ERROR(), "CU_FILE_INVALID_CONTEXT_ERROR",
            "no valid CUDA context is current"),
        text(CuFileTypes.CU_FILE_NVFS_INTERNAL_DRIVER_ERROR(), "CU_FILE_NVFS_INTERNAL_DRIVER_ERROR",
            "something inside nvidia-fs failed"),
        text(CuFileTypes.CU_FILE_BATCH_NOCOMPAT_ERROR(), "CU_FILE_BATCH_NOCOMPAT_ERROR",
            "batches need compatibility mode here, and it is off"));

    private CuFileCode() {
    }

    private record Meaning(String name, String text) {
    }

    static String name(final int code) {
        final Meaning meaning = MEANINGS.get(code);
        return meaning == null ? "cuFile code " + code : meaning.name();
    }

    static String text(final int code) {
        final Meaning meaning = MEANINGS.get(code);
        return meaning == null ? "not a code of the header these bindings were made from" : meaning.text();
    }

    /** The header says of these that the call may be tried again later. */
    static boolean retryable(final int code) {
        return code >= CuFileTypes.CU_FILE_INTERNAL_BATCH_SETUP_ERROR() && code <= CuFileTypes.CU_FILE_NOMEM_ERROR();
    }

    private static Map.Entry<Integer, Meaning> text(final int code, final String name, final String text) {
        return Map.entry(code, new Meaning(name, text));
    }
}
