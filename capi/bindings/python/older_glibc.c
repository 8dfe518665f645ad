/* What the wheel's libraries ask of glibc and 2.28 lacks, for older_glibc.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

struct stat;

int stat(const char *path, struct stat *to) { return (int)syscall(SYS_newfstatat, AT_FDCWD, path, to, 0); }
int lstat(const char *path, struct stat *to) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, to, AT_SYMLINK_NOFOLLOW);
}
int fstat(int fd, struct stat *to) { return (int)syscall(SYS_fstat, fd, to); }
int stat64(const char *path, struct stat *to) __attribute__((alias("stat")));
int lstat64(const char *path, struct stat *to) __attribute__((alias("lstat")));
int fstat64(int fd, struct stat *to) __attribute__((alias("fstat")));

/* Always right: counts of references are then kept by atomic operations. */
char __libc_single_threaded = 0;

uint32_t arc4random(void) {
  uint32_t v;
  while (getrandom(&v, sizeof v, 0) != sizeof v)
    ;
  return v;
}

static int holds(struct dl_phdr_info *info, size_t size, void *data) {
  struct dl_find_object *found = data;
  const ElfW(Addr) at = (ElfW(Addr))found->dlfo_map_start;
  ElfW(Addr) begin = ~(ElfW(Addr))0, end = 0;
  void *frames = NULL;
  int inside = 0;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    const ElfW(Addr) from = info->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
    if (part->p_type == PT_GNU_EH_FRAME) frames = (void *)from;
    if (part->p_type != PT_LOAD) continue;
    if (from < begin) begin = from;
    if (to > end) end = to;
    inside |= at >= from && at < to;
  }
  if (!inside || !frames) return 0;
  found->dlfo_map_start = (void *)begin;
  found->dlfo_map_end = (void *)end;
  found->dlfo_eh_frame = frames;
  return 1;
}

/* The frames of the object that holds this address, for libgcc as it unwinds an exception. */
int _dl_find_object(void *at, struct dl_find_object *to) {
  to->dlfo_flags = 0;
  to->dlfo_link_map = NULL;
  to->dlfo_map_start = at;
  return dl_iterate_phdr(holds, to) ? 0 : -1;
}

#ifdef __x86_64__ /* where their first versions took other arguments */
int third_get(pthread_t, size_t, cpu_set_t *);
int third_set(pthread_t, size_t, const cpu_set_t *);
int third_attr(pthread_attr_t *, size_t, const cpu_set_t *);
__asm__(".symver third_get, pthread_getaffinity_np@GLIBC_2.3.4");
__asm__(".symver third_set, pthread_setaffinity_np@GLIBC_2.3.4");
__asm__(".symver third_attr, pthread_attr_setaffinity_np@GLIBC_2.3.4");
int pthread_getaffinity_np(pthread_t t, size_t size, cpu_set_t *to) { return third_get(t, size, to); }
int pthread_setaffinity_np(pthread_t t, size_t size, const cpu_set_t *to) { return third_set(t, size, to); }
int pthread_attr_setaffinity_np(pthread_attr_t *a, size_t size, const cpu_set_t *to) { return third_attr(a, size, to); }
#endif
