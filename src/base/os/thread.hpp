// The operating system's threads and thread-specific data.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace dl4::os {

// A started thread. It must be joined exactly once.
class Thread {
 public:
  using Body = void (*)(void *user);
  // False if the system has no more threads. The thread blocks all signals and has a stack of 1 MiB.
  bool start(Body body, void *user) noexcept;
  void join() noexcept;

 private:
  uintptr_t id_ = 0;
};

// Spin-wait hint to the processor.
void relax() noexcept;

// A futex: waits in the kernel while the word equals `old`. wake() ends the waiting of all, after the word was changed.
void wait(const std::atomic<uint32_t> &word, uint32_t old) noexcept;
void wake(std::atomic<uint32_t> &word) noexcept;

// A word per thread, initially 0. Not thread_local, which would prevent loading the library into a program with little
// static TLS left. If the host has used up all keys, known() is false and get() returns 0.
class Key {
 public:
  Key() noexcept;
  bool known() const noexcept { return known_; }
  intptr_t get() const noexcept;
  bool set(intptr_t word) const noexcept;  // false if the system has no memory for it

 private:
  uintptr_t key_ = 0;
  bool known_ = false;
};

}  // namespace dl4::os
