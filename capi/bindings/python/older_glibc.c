/* What the wheel's libraries ask of glibc and 2.28 lacks, for older_glibc.py. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
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
