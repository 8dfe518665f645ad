// Readers are those that a fork must wait for, the writer is the fork. Readers go first: one that waits for another
// would wait for ever behind the writer.
#include "base/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace dl4 {
namespace {

std::atomic<uint32_t> count{0};
pthread_rwlock_t inside = PTHREAD_RWLOCK_INITIALIZER;

// How often the calling thread is inside: it may fork there, from a signal handler. Not thread_local: that would make
// the library impossible to load for a program with little room for it.
class Depth {
 public:
  // A host that has used up all keys leaves none: then each level takes the lock anew, as readers may, and only a fork
  // from a signal handler inside is not looked after.
  Depth() : known_(pthread_key_create(&key_, nullptr) == 0) {}
  intptr_t get() const noexcept { return known_ ? reinterpret_cast<intptr_t>(pthread_getspecific(key_)) : 0; }
  void set(intptr_t n) const noexcept {
    if (known_) pthread_setspecific(key_, reinterpret_cast<void *>(n));
  }

 private:
  pthread_key_t key_ = 0;
  bool known_;
};

const Depth &depth() {
  static const Depth d;
  return d;
}

void prepare() {
  if (!depth().get()) pthread_rwlock_wrlock(&inside);
}
void in_parent() {
  if (!depth().get()) pthread_rwlock_unlock(&inside);
}
void in_child() {
  inside = PTHREAD_RWLOCK_INITIALIZER;  // it can't be unlocked: this thread has another number now
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
  intptr_t n = depth().get();  // 0 where it could not be kept
  depth().set(n > 1 ? n - 1 : 0);
  if (n <= 1) pthread_rwlock_unlock(&inside);
}

}  // namespace dl4
