/* A library with USRBIO's functions that checks what each was called with, and gives results that differ. */
#include "usrbio.h"
#include <stdio.h>
#include <string.h>

static char wrong[4096];

#define CHECK(what) \
  do { \
    if (!(what)) { \
      strncat(wrong, #what "; ", sizeof(wrong) - strlen(wrong) - 1); \
    } \
  } while (0)

const char *echo_wrong(void) { return wrong; }

bool hf3fs_is_hf3fs(int fd) {
  CHECK(fd == 7 || fd == 8);
  return fd == 7;
}

int hf3fs_extract_mount_point(char *mp, int size, const char *path) {
  CHECK(size == 5 && !strcmp(path, "/a/b"));
  strcpy(mp, "/abc");
  return -2;
}

int hf3fs_iovcreate(struct hf3fs_iov *iov, const char *mp, size_t size, size_t block_size, int numa) {
  CHECK(!strcmp(mp, "/mount") && size == 0x100000001 && block_size == 0x100000002 && numa == -1);
  iov->base = (uint8_t *)0x1111222233334444;
  memcpy(iov->id, "0123456789abcdef", 16);
  iov->size = size;
  iov->block_size = block_size;
  iov->numa = numa;
  return -3;
}

int hf3fs_iovopen(struct hf3fs_iov *iov, const uint8_t id[16], const char *mp, size_t size, size_t block_size,
                  int numa) {
  CHECK(!memcmp(id, "0123456789abcdef", 16) && !strcmp(mp, "/mount") && size == 11 && block_size == 12 && numa == 13);
  iov->numa = 14;
  return -4;
}

void hf3fs_iovdestroy(struct hf3fs_iov *iov) { iov->base = (uint8_t *)5; }

size_t hf3fs_ior_size(int entries) {
  CHECK(entries == 16);
  return 0x600000006;
}

int hf3fs_iorcreate4(struct hf3fs_ior *ior, const char *mp, int entries, bool for_read, int io_depth, int timeout,
                     int numa, uint64_t flags) {
  CHECK(!strcmp(mp, "/mount") && entries == 21 && for_read && io_depth == -22 && timeout == 23 && numa == -1 &&
        flags == 0x700000003);
  memcpy(ior->iov.id, "fedcba9876543210", 16);
  ior->iov.size = 24;
  ior->for_read = for_read;
  ior->io_depth = io_depth;
  ior->timeout = timeout;
  ior->flags = flags;
  return -7;
}

void hf3fs_iordestroy(struct hf3fs_ior *ior) { ior->priority = 8; }

int hf3fs_reg_fd(int fd, uint64_t flags) {
  CHECK(fd == 9 && flags == 0);
  return -9;
}

void hf3fs_dereg_fd(int fd) { CHECK(fd == 10); }

int hf3fs_io_entries(const struct hf3fs_ior *ior) { return (int)ior->iov.size; }

int hf3fs_prep_io(const struct hf3fs_ior *ior, const struct hf3fs_iov *iov, bool read, void *ptr, int fd, size_t off,
                  uint64_t len, const void *userdata) {
  CHECK(ior->iov.size == 24 && iov->numa == 14 && !read && ptr == (void *)0x5555666677778888 && fd == 31 &&
        off == 0x3200000032 && len == 0x3300000033 && userdata == (void *)0x7fffffffffffffff);
  return 34;
}

int hf3fs_submit_ios(const struct hf3fs_ior *ior) {
  CHECK(ior->iov.size == 24);
  return -11;
}

int hf3fs_wait_for_ios(const struct hf3fs_ior *ior, struct hf3fs_cqe *cqes, int cqec, int min_results,
                       const struct timespec *abs_timeout) {
  CHECK(ior->iov.size == 24 && cqec == 2 && min_results == 1 && abs_timeout->tv_sec == 1800000000 &&
        abs_timeout->tv_nsec == 999000000);
  for (int i = 0; i < cqec; ++i) {
    cqes[i].index = 40 + i;
    cqes[i].result = -0x100000000 - i;
    cqes[i].userdata = (void *)(0x4200000042 + i);
  }
  return 2;
}
