package io.kvtier.bindings.uring;

import io.kvtier.kit.CompiledNumbers;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Numbers of io_uring typed in by hand, against a C compiler and the kernel's header. */
class UringLayoutTest {
    @TempDir
    private Path directory;

    private CompiledNumbers numbers() throws IOException, InterruptedException {
        return CompiledNumbers.of(directory, "limits.h", "sys/syscall.h", "sys/uio.h", "sys/mman.h", "sys/eventfd.h",
            "fcntl.h", "poll.h", "linux/time_types.h", "linux/io_uring.h");
    }

    @Test
    void shouldMatchTheQueueEntriesOfTheCompiler() throws IOException, InterruptedException {
        numbers()
            .add("sizeof(struct io_uring_sqe)", UringLayout.SQE_BYTES)
            .add("offsetof(struct io_uring_sqe, opcode)", UringLayout.SQE_OPCODE)
            .add("offsetof(struct io_uring_sqe, flags)", UringLayout.SQE_FLAGS)
            .add("offsetof(struct io_uring_sqe, ioprio)", UringLayout.SQE_IOPRIO)
            .add("sizeof(((struct io_uring_sqe *) 0)->ioprio)", Short.BYTES)
            .add("offsetof(struct io_uring_sqe, fd)", UringLayout.SQE_FD)
            .add("offsetof(struct io_uring_sqe, off)", UringLayout.SQE_OFFSET)
            .add("offsetof(struct io_uring_sqe, addr)", UringLayout.SQE_ADDRESS)
            .add("offsetof(struct io_uring_sqe, len)", UringLayout.SQE_LENGTH)
            .add("sizeof(((struct io_uring_sqe *) 0)->len)", Integer.BYTES)
            .add("offsetof(struct io_uring_sqe, rw_flags)", UringLayout.SQE_OP_FLAGS)
            .add("offsetof(struct io_uring_sqe, fsync_flags)", UringLayout.SQE_OP_FLAGS)
            .add("offsetof(struct io_uring_sqe, user_data)", UringLayout.SQE_USER_DATA)
            .add("offsetof(struct io_uring_sqe, buf_index)", UringLayout.SQE_BUFFER_INDEX)
            .add("sizeof(((struct io_uring_sqe *) 0)->buf_index)", Short.BYTES)
            .add("offsetof(struct io_uring_sqe, addr3)", UringLayout.SQE_REST_2)
            .add("offsetof(struct io_uring_sqe, addr3) - 8", UringLayout.SQE_REST_1)
            .add("offsetof(struct io_uring_sqe, addr3) + 8", UringLayout.SQE_REST_3)
            .add("sizeof(struct io_uring_cqe)", UringLayout.CQE_BYTES)
            .add("offsetof(struct io_uring_cqe, user_data)", UringLayout.CQE_USER_DATA)
            .add("offsetof(struct io_uring_cqe, res)", UringLayout.CQE_RESULT)
            .compare(directory);
    }

    @Test
    void shouldMatchTheSetupStructsOfTheCompiler() throws IOException, InterruptedException {
        numbers()
            .add("sizeof(struct io_uring_params)", UringLayout.PARAMS_BYTES)
            .add("offsetof(struct io_uring_params, sq_entries)", UringLayout.PARAMS_SQ_ENTRIES)
            .add("offsetof(struct io_uring_params, cq_entries)", UringLayout.PARAMS_CQ_ENTRIES)
            .add("offsetof(struct io_uring_params, flags)", UringLayout.PARAMS_FLAGS)
            .add("offsetof(struct io_uring_params, features)", UringLayout.PARAMS_FEATURES)
            .add("offsetof(struct io_uring_params, sq_off)", UringLayout.PARAMS_SQ_OFFSETS)
            .add("offsetof(struct io_uring_params, cq_off)", UringLayout.PARAMS_CQ_OFFSETS)
            .add("offsetof(struct io_sqring_offsets, head)", UringLayout.SQ_HEAD)
            .add("offsetof(struct io_sqring_offsets, tail)", UringLayout.SQ_TAIL)
            .add("offsetof(struct io_sqring_offsets, ring_mask)", UringLayout.SQ_MASK)
            .add("offsetof(struct io_sqring_offsets, flags)", UringLayout.SQ_FLAGS)
            .add("offsetof(struct io_sqring_offsets, array)", UringLayout.SQ_ARRAY)
            .add("offsetof(struct io_cqring_offsets, head)", UringLayout.CQ_HEAD)
            .add("offsetof(struct io_cqring_offsets, tail)", UringLayout.CQ_TAIL)
            .add("offsetof(struct io_cqring_offsets, ring_mask)", UringLayout.CQ_MASK)
            .add("offsetof(struct io_cqring_offsets, cqes)", UringLayout.CQ_ENTRIES)
            .add("IORING_OFF_SQ_RING", UringLayout.MAP_RINGS)
            .add("IORING_OFF_SQES", UringLayout.MAP_ENTRIES)
            .compare(directory);
    }

    @Test
    void shouldMatchTheRegistrationStructsOfTheCompiler() throws IOException, InterruptedException {
        numbers()
            .add("sizeof(struct io_uring_rsrc_update2)", UringLayout.UPDATE_BYTES)
            .add("offsetof(struct io_uring_rsrc_update2, offset)", UringLayout.UPDATE_OFFSET)
            .add("offsetof(struct io_uring_rsrc_update2, data)", UringLayout.UPDATE_DATA)
            .add("offsetof(struct io_uring_rsrc_update2, nr)", UringLayout.UPDATE_COUNT)
            .add("offsetof(struct io_uring_rsrc_update, offset)", UringLayout.UPDATE_OFFSET)
            .add("offsetof(struct io_uring_rsrc_update, data)", UringLayout.UPDATE_DATA)
            .add("offsetof(struct io_uring_files_update, fds)", UringLayout.UPDATE_DATA)
            .add("sizeof(struct iovec)", UringLayout.IOVEC_BYTES)
            .add("offsetof(struct iovec, iov_base)", UringLayout.IOVEC_BASE)
            .add("offsetof(struct iovec, iov_len)", UringLayout.IOVEC_LENGTH)
            .add("sizeof(((struct iovec *) 0)->iov_base)", Long.BYTES)
            .add("sizeof(((struct iovec *) 0)->iov_len)", Long.BYTES)
            .add("IOV_MAX", SegmentVector.MAX_SEGMENTS)
            .add("sizeof(struct io_uring_probe)", UringLayout.PROBE_BYTES)
            .add("offsetof(struct io_uring_probe, ops_len)", UringLayout.PROBE_LENGTH)
            .add("sizeof(struct io_uring_probe_op)", UringLayout.PROBE_OP_BYTES)
            .add("offsetof(struct io_uring_probe_op, flags)", UringLayout.PROBE_OP_FLAGS)
            .add("IO_URING_OP_SUPPORTED", UringLayout.PROBE_OP_SUPPORTED)
            .add("sizeof(struct io_uring_getevents_arg)", UringLayout.WAIT_ARG_BYTES)
            .add("offsetof(struct io_uring_getevents_arg, ts)", UringLayout.WAIT_ARG_TIMESPEC)
            .add("sizeof(struct __kernel_timespec)", UringLayout.TIMESPEC_BYTES)
            .add("offsetof(struct __kernel_timespec, tv_sec)", UringLayout.TIMESPEC_SECONDS)
            .add("offsetof(struct __kernel_timespec, tv_nsec)", UringLayout.TIMESPEC_NANOS)
            .compare(directory);
    }

    @Test
    void shouldMatchTheNumbersOfCallsAndOperations() throws IOException, InterruptedException {
        numbers()
            .add("__NR_io_uring_setup", UringLayout.SYS_SETUP)
            .add("__NR_io_uring_enter", UringLayout.SYS_ENTER)
            .add("__NR_io_uring_register", UringLayout.SYS_REGISTER)
            .add("IORING_OP_NOP", UringLayout.OP_NOP)
            .add("IORING_OP_READV", UringLayout.OP_READV)
            .add("IORING_OP_WRITEV", UringLayout.OP_WRITEV)
            .add("IORING_OP_FSYNC", UringLayout.OP_FSYNC)
            .add("IORING_OP_READ_FIXED", UringLayout.OP_READ_FIXED)
            .add("IORING_OP_WRITE_FIXED", UringLayout.OP_WRITE_FIXED)
            .add("IORING_OP_ASYNC_CANCEL", UringLayout.OP_ASYNC_CANCEL)
            .add("IORING_OP_READ", UringLayout.OP_READ)
            .add("IORING_OP_WRITE", UringLayout.OP_WRITE)
            .add("IORING_REGISTER_BUFFERS", UringLayout.REGISTER_BUFFERS)
            .add("IORING_UNREGISTER_BUFFERS", UringLayout.UNREGISTER_BUFFERS)
            .add("IORING_REGISTER_FILES", UringLayout.REGISTER_FILES)
            .add("IORING_REGISTER_FILES_UPDATE", UringLayout.REGISTER_FILES_UPDATE)
            .add("IORING_REGISTER_PROBE", UringLayout.REGISTER_PROBE)
            .add("IORING_REGISTER_BUFFERS_UPDATE", UringLayout.REGISTER_BUFFERS_UPDATE)
            .compare(directory);
    }

    @Test
    void shouldMatchTheFlagsOfTheHeaders() throws IOException, InterruptedException {
        numbers()
            .add("IOSQE_FIXED_FILE", UringLayout.SQE_FIXED_FILE)
            .add("IORING_FSYNC_DATASYNC", UringLayout.FSYNC_DATASYNC)
            .add("IORING_SETUP_SUBMIT_ALL", UringLayout.SETUP_SUBMIT_ALL)
            .add("IORING_SETUP_COOP_TASKRUN", UringLayout.SETUP_COOP_TASKRUN)
            .add("IORING_SETUP_TASKRUN_FLAG", UringLayout.SETUP_TASKRUN_FLAG)
            .add("IORING_SETUP_SINGLE_ISSUER", UringLayout.SETUP_SINGLE_ISSUER)
            .add("IORING_SETUP_DEFER_TASKRUN", UringLayout.SETUP_DEFER_TASKRUN)
            .add("IORING_FEAT_SINGLE_MMAP", UringLayout.FEATURE_SINGLE_MMAP)
            .add("IORING_FEAT_NODROP", UringLayout.FEATURE_NODROP)
            .add("IORING_FEAT_EXT_ARG", UringLayout.FEATURE_EXT_ARG)
            .add("IORING_FEAT_RSRC_TAGS", UringLayout.FEATURE_RSRC_TAGS)
            .add("IORING_SQ_CQ_OVERFLOW", UringLayout.SQ_FLAG_CQ_OVERFLOW)
            .add("IORING_SQ_TASKRUN", UringLayout.SQ_FLAG_TASKRUN)
            .add("IORING_ENTER_GETEVENTS", UringLayout.ENTER_GETEVENTS)
            .add("IORING_ENTER_EXT_ARG", UringLayout.ENTER_EXT_ARG)
            .add("PROT_READ | PROT_WRITE", LinuxKernel.PROT_READ_WRITE)
            .add("MAP_SHARED | MAP_POPULATE", LinuxKernel.MAP_SHARED_POPULATE)
            .add("EFD_CLOEXEC", LinuxKernel.EFD_CLOEXEC)
            .add("O_CLOEXEC", LinuxKernel.O_CLOEXEC)
            .add("POLLHUP", LinuxKernel.POLLHUP)
            .add("sizeof(struct pollfd)", LinuxKernel.POLL_BYTES)
            .add("offsetof(struct pollfd, fd)", LinuxKernel.POLL_DESCRIPTOR)
            .add("offsetof(struct pollfd, events)", LinuxKernel.POLL_EVENTS)
            .add("offsetof(struct pollfd, revents)", LinuxKernel.POLL_RETURNED)
            .add("sizeof(nfds_t)", Long.BYTES)
            .compare(directory);
    }
}
