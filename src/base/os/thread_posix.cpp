#include <pthread.h>
#include <signal.h>

#include "base/os/thread.hpp"

namespace dl4::os {
namespace {

constexpr size_t stack_bytes = size_t{1} << 20;

struct Start {
  Thread::Body body;
  void *user;
};

}  // namespace

static_assert(sizeof(pthread_t) <= sizeof(uintptr_t) && sizeof(pthread_key_t) <= sizeof(uintptr_t));

bool Thread::start(Body body, void *user) noexcept {
  auto *start = new (std::nothrow) Start{body, user};
  if (!start) return false;
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  bool started = pthread_attr_init(&attributes) == 0;
  if (started) {
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the new thread
    const auto run = [](void *p) -> void * {
      const Start s = *std::unique_ptr<Start>(static_cast<Start *>(p));
      s.body(s.user);
      return nullptr;
    };
    pthread_t id;
    started = pthread_create(&id, &attributes, run, start) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (started) id_ = (uintptr_t)id;  // a number on some systems, a pointer on others
  }
  if (!started) delete start;
  return started;
}

void Thread::join() noexcept { pthread_join((pthread_t)id_, nullptr); }

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void wait(const std::atomic<uint32_t> &word, uint32_t old) noexcept { word.wait(old, std::memory_order_acquire); }
void wake(std::atomic<uint32_t> &word) noexcept { word.notify_all(); }

Key::Key() noexcept {
  pthread_key_t key;
  known_ = pthread_key_create(&key, nullptr) == 0;
  if (known_) key_ = static_cast<uintptr_t>(key);
}

intptr_t Key::get() const noexcept {
  return known_ ? reinterpret_cast<intptr_t>(pthread_getspecific(static_cast<pthread_key_t>(key_))) : 0;
}

bool Key::set(intptr_t word) const noexcept {
  return known_ && pthread_setspecific(static_cast<pthread_key_t>(key_), reinterpret_cast<void *>(word)) == 0;
}

}  // namespace dl4::os
