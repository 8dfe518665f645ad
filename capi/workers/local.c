/* Reductions through shared memory: each worker writes its numbers into a slot, then adds up a part of all slots. */
#define _GNU_SOURCE
#include <dl4/local.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <dl4/dl4.h>

enum { most = 1024, line = 64, few = 1024, many = 1 << 19 }; /* of numbers: in one exchange, or in two */

typedef struct {
  _Atomic int64_t size;   /* of workers, once the first one has joined */
  _Atomic int32_t failed; /* the number of an error that ended all */
  _Alignas(line) struct { _Alignas(line) _Atomic int64_t step; } at[most]; /* what each worker has done */
} Head;

typedef struct {
  Head *head;
  size_t bytes;
  int fd;
  int64_t rank, size, step, turn;
  double seconds;
} Place;

/* Twice `few` numbers for each worker, then `many` of each, then `many` sums. */
static uint32_t *small_slot(const Place *p, int64_t rank) {
  return (uint32_t *)(p->head + 1) + (rank * 2 + p->turn % 2) * few;
}
static uint32_t *large_slot(const Place *p, int64_t rank) {
  return (uint32_t *)(p->head + 1) + p->size * 2 * few + rank * many;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A byte of the file is locked by each worker as long as it lives; the one behind them by who joins. */
static int lock(int fd, int command, short type, int64_t byte, int64_t n) {
  struct flock f = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = n};
  if (fcntl(fd, command, &f)) return -1;
  return command == F_OFD_GETLK ? f.l_type != F_UNLCK : 0;
}

static int fail(Place *p, int32_t code) {
  int32_t none = 0;
  atomic_compare_exchange_strong(&p->head->failed, &none, code);
  return code;
}

/* Until all have done as many steps. `joining`: those who are not there may yet come. */
static int wait_for_all(Place *p, int joining) {
  Head *h = p->head;
  double begin = 0, looked = 0;
  atomic_store_explicit(&h->at[p->rank].step, ++p->step, memory_order_release);
  for (int64_t r = 0, turns = 0; r < p->size;) {
    if (atomic_load_explicit(&h->at[r].step, memory_order_acquire) >= p->step) {
      ++r;
      continue;
    }
    if (++turns < 2000) continue;
    if (atomic_load(&h->failed)) return EPIPE;
    const double t = now();
    if (begin == 0) begin = looked = t;
    if (t - begin > p->seconds) return fail(p, ETIMEDOUT);
    if (t - looked > 0.02 && !joining) {
      looked = t;
      if (lock(p->fd, F_OFD_GETLK, F_WRLCK, r, 1) == 0 &&
          atomic_load_explicit(&h->at[r].step, memory_order_acquire) < p->step)
        return fail(p, EPIPE);
    }
    if (t - begin < 0.002)
      sched_yield();
    else
      nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
  }
  return atomic_load(&h->failed) ? EPIPE : 0;
}

static void add(void *to, const void *from, int64_t n, int32_t dtype) {
  if (dtype == DL4_FLOAT32)
    for (int64_t i = 0; i < n; ++i) ((float *)to)[i] += ((const float *)from)[i];
  else
    for (int64_t i = 0; i < n; ++i) ((uint32_t *)to)[i] += ((const uint32_t *)from)[i];
}

/* [begin, end) of the sums of all slots into `to`. */
static void add_all(const Place *p, uint32_t *(*slot)(const Place *, int64_t), uint32_t *to, int64_t begin, int64_t end,
                    int32_t dtype) {
  memcpy(to, slot(p, 0) + begin, (size_t)(end - begin) * 4);
  for (int64_t r = 1; r < p->size; ++r) add(to, slot(p, r) + begin, end - begin, dtype);
}

int32_t dl4_local_reduce(void *place, void *values, int64_t n, int32_t dtype) {
  Place *p = place;
  if (dtype != DL4_FLOAT32 && dtype != DL4_INT32) return -fail(p, EINVAL);
  int error = 0;
  for (uint32_t *v = values; n > 0 && !error;) {
    const int64_t some = n < many ? n : many;
    if (some <= few) { /* slots take turns: who is a step ahead writes into the other one */
      memcpy(small_slot(p, p->rank), v, (size_t)some * 4);
      error = wait_for_all(p, 0);
      if (!error) add_all(p, small_slot, v, 0, some, dtype);
      ++p->turn;
    } else {
      const int64_t begin = some * p->rank / p->size, end = some * (p->rank + 1) / p->size;
      uint32_t *sums = large_slot(p, p->size);
      memcpy(large_slot(p, p->rank), v, (size_t)some * 4);
      error = wait_for_all(p, 0);
      if (!error) add_all(p, large_slot, sums + begin, begin, end, dtype);
      if (!error) error = wait_for_all(p, 0);
      if (!error) memcpy(v, sums, (size_t)some * 4);
    }
    v += some;
    n -= some;
  }
  return -error;
}

/* The file of that name, its setup locked: another one where the last run has just removed it. */
static int open_alone(const char *name, double seconds) {
  const double begin = now();
  for (;;) {
    struct stat s;
    const int fd = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return -errno;
    while (lock(fd, F_OFD_SETLK, F_WRLCK, most, 1)) {
      if (now() - begin > seconds) return close(fd), -ETIMEDOUT;
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (fstat(fd, &s) == 0 && s.st_nlink > 0) return fd;
    close(fd);
  }
}

/* But for who asks. */
static int no_one(int fd) { return lock(fd, F_OFD_GETLK, F_WRLCK, 0, most) == 0; }

/* Of who could not join: the file goes with the last of them. */
static int give_up(const char *name, int fd, int error) {
  struct stat s;
  while (lock(fd, F_OFD_SETLKW, F_WRLCK, most, 1) && errno == EINTR) continue;
  /* Where it has no name any more, another run's file may have that. */
  if (no_one(fd) && fstat(fd, &s) == 0 && s.st_nlink > 0) shm_unlink(name);
  return close(fd), error;
}

int32_t dl4_local_join(const char *name, int64_t rank, int64_t size, double seconds, void **place) {
  if (!name || !place || size < 1 || size > most || rank < 0 || rank >= size || !(seconds > 0)) return EINVAL;
  *place = NULL;
  Place p = {.bytes = sizeof(Head) + (size_t)(size * 2 * few + (size + 1) * many) * 4,
             .rank = rank,
             .size = size,
             .seconds = seconds};
  p.fd = open_alone(name, seconds);
  if (p.fd < 0) return -p.fd;
  int error = 0;
  /* Who finds no one starts anew. */
  const int first = no_one(p.fd);
  if (first) error = ftruncate(p.fd, 0) ? errno : posix_fallocate(p.fd, 0, (off_t)p.bytes);
  p.head = error ? MAP_FAILED : mmap(NULL, p.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, 0);
  if (p.head == MAP_FAILED) return give_up(name, p.fd, error ? error : errno);
  if (first) atomic_store(&p.head->size, size);
  if (atomic_load(&p.head->size) != size) error = EINVAL;
  if (!error && lock(p.fd, F_OFD_SETLK, F_WRLCK, rank, 1)) error = EBUSY;
  lock(p.fd, F_OFD_SETLK, F_UNLCK, most, 1);
  if (!error) error = wait_for_all(&p, 1);
  if (!error && rank == 0) shm_unlink(name);
  if (!error && !(*place = malloc(sizeof p))) error = ENOMEM;
  if (error) return munmap(p.head, p.bytes), give_up(name, p.fd, error);
  memcpy(*place, &p, sizeof p);
  return 0;
}

void dl4_local_leave(void *place) {
  Place *p = place;
  if (!p) return;
  munmap(p->head, p->bytes);
  close(p->fd);
  free(p);
}

/* For who could not join: the trainer's own refusal. */
static int32_t fails(void *error, void *values, int64_t n, int32_t dtype) {
  (void)values, (void)n, (void)dtype;
  return -*(int32_t *)error;
}

dl4_error *dl4_local_attach(dl4_trainer *t, const char *name, int64_t rank, int64_t size, double seconds) {
  void *place;
  int32_t error = dl4_local_join(name, rank, size, seconds, &place);
  if (error) return dl4_trainer_set_workers(t, 0, 2, fails, &error, NULL);
  dl4_error *e = dl4_trainer_set_workers(t, rank, size, dl4_local_reduce, place, dl4_local_leave);
  if (e) dl4_local_leave(place);
  return e;
}
