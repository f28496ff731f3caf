/*
 * The calls of GdsThroughput, made from C: what cuFile gives without a JVM in between. One line a round:
 * "c ENTRIES x KIB write|read GB/s".
 *
 *   gcc -O2 -o batch batch.c -I"$CUDA/include" -L"$CUDA/lib" -lcufile -lcuda && ./batch FILE ROUNDS
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <cufile.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MAX_ENTRIES 128

static void check(int failed, const char *what, long code) {
    if (failed) {
        fprintf(stderr, "%s failed: %ld\n", what, code);
        exit(1);
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static double run(CUfileBatchHandle_t batch, CUfileHandle_t file, CUdeviceptr memory, int entries, size_t bytes,
                  CUfileOpcode_t opcode) {
    CUfileIOParams_t params[MAX_ENTRIES] = {0};
    CUfileIOEvents_t events[MAX_ENTRIES];
    double start = seconds();
    for (int i = 0; i < entries; i++) {
        params[i].mode = CUFILE_BATCH;
        params[i].fh = file;
        params[i].opcode = opcode;
        params[i].cookie = (void *) (long) (i + 1);
        params[i].u.batch.devPtr_base = (void *) memory;
        params[i].u.batch.devPtr_offset = i * bytes;
        params[i].u.batch.file_offset = i * bytes;
        params[i].u.batch.size = bytes;
    }
    CUfileError_t status = cuFileBatchIOSubmit(batch, entries, params, 0);
    check(status.err != CU_FILE_SUCCESS, "submit", status.err);
    for (int done = 0; done < entries;) {
        unsigned count = entries;
        struct timespec wait = {0, 10000000};
        status = cuFileBatchIOGetStatus(batch, 1, &count, events, &wait);
        check(status.err != CU_FILE_SUCCESS, "status", status.err);
        for (unsigned i = 0; i < count; i++) {
            check(events[i].status != CUFILE_COMPLETE || events[i].ret != bytes, "entry", events[i].status);
        }
        done += count;
    }
    return entries * bytes / (seconds() - start) / 1e9;
}

int main(int argc, char **argv) {
    static const struct { int entries; size_t kib; } cases[] = {{128, 64}, {64, 1024}, {128, 1024}, {64, 4096}, {16, 16384}};
    size_t sizes[] = {4, 1024, 16384};
    size_t counts[] = {128, 256, 64};
    size_t total = 256UL << 20;
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    check(argc != 3, "usage: batch FILE ROUNDS", argc);
    check(cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device)
              || cuCtxSetCurrent(context) || cuMemAlloc(&memory, total), "CUDA", 0);
    char *host = malloc(total);
    for (size_t i = 0; i < total; i += sizeof(long)) {
        *(long *) (host + i) = random() * 0x9E3779B97F4A7C15L;
    }
    check(cuMemcpyHtoD(memory, host, total), "copy", 0);
    CUfileError_t status = cuFileSetParameterPosixPoolSlabArray(sizes, counts, 3);
    check(status.err != CU_FILE_SUCCESS, "pool", status.err);
    status = cuFileDriverOpen();
    check(status.err != CU_FILE_SUCCESS, "open", status.err);
    int fd = open(argv[1], O_RDWR | O_CREAT | O_DIRECT, 0600);
    check(fd < 0 || fallocate(fd, 0, 0, total) != 0, "file", fd);
    CUfileDescr_t descr = {.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = fd};
    CUfileHandle_t file;
    status = cuFileHandleRegister(&file, &descr);
    check(status.err != CU_FILE_SUCCESS, "handle", status.err);
    status = cuFileBufRegister((void *) memory, total, 0);
    check(status.err != CU_FILE_SUCCESS, "buffer", status.err);
    /* Not counted, as in GdsThroughput. */
    for (int round = 0; round < 100; round++) {
        CUfileBatchHandle_t batch;
        status = cuFileBatchIOSetUp(&batch, MAX_ENTRIES);
        check(status.err != CU_FILE_SUCCESS, "setup", status.err);
        run(batch, file, memory, MAX_ENTRIES, 4096, CUFILE_WRITE);
        run(batch, file, memory, MAX_ENTRIES, 4096, CUFILE_READ);
        cuFileBatchIODestroy(batch);
    }
    for (int round = 0; round < atoi(argv[2]); round++) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            CUfileBatchHandle_t batch;
            status = cuFileBatchIOSetUp(&batch, cases[i].entries);
            check(status.err != CU_FILE_SUCCESS, "setup", status.err);
            for (int opcode = CUFILE_WRITE; opcode >= CUFILE_READ; opcode--) {
                double rate = run(batch, file, memory, cases[i].entries, cases[i].kib << 10, opcode);
                printf("c %d x %zu %s %.3f\n", cases[i].entries, cases[i].kib,
                       opcode == CUFILE_WRITE ? "write" : "read", rate);
            }
            cuFileBatchIODestroy(batch);
        }
    }
    cuFileBufDeregister((void *) memory);
    cuFileHandleDeregister(file);
    close(fd);
    cuFileDriverClose();
    return 0;
}
