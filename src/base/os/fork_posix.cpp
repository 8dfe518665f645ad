// NoFork holds the lock as a reader, fork() as the writer. Readers have priority: a reader that waits for another one
// must not queue behind the writer.
#include "base/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/os/thread.hpp"

namespace dl4 {
namespace {

std::atomic<uint32_t> count{0};
pthread_rwlock_t inside = PTHREAD_RWLOCK_INITIALIZER;

// The calling thread's nesting depth in NoFork. A signal handler may fork there. Without a key, each level takes the
// lock again, as readers may, and only a fork from a signal handler inside NoFork is unprotected.
const os::Key &depth() {
  static const os::Key d;
  return d;
}

void prepare() {
  if (!depth().get()) pthread_rwlock_wrlock(&inside);
}
void in_parent() {
  if (!depth().get()) pthread_rwlock_unlock(&inside);
}
void in_child() {
  inside = PTHREAD_RWLOCK_INITIALIZER;  // can't be unlocked: this thread has another id in the child
  if (depth().get()) pthread_rwlock_rdlock(&inside);
  count.fetch_add(1, std::memory_order_relaxed);
}

void watch() {
  static const int registered = pthread_atfork(prepare, in_parent, in_child);
  (void)registered;
}

}  // namespace

uint32_t forks() noexcept {
  watch();
  return count.load(std::memory_order_relaxed);
}

void NoFork::enter() noexcept {
  watch();
  intptr_t n = depth().get();
  if (!n) pthread_rwlock_rdlock(&inside);
  depth().set(n + 1);
}

void NoFork::leave() noexcept {
  intptr_t n = depth().get();  // 0 if it could not be stored
  depth().set(n > 1 ? n - 1 : 0);
  if (n <= 1) pthread_rwlock_unlock(&inside);
}

}  // namespace dl4
