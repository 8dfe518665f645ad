// Threads and what a thread keeps for itself, as the system has them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace dl4::os {

// A thread that was started. It is joined once, and never otherwise ended.
class Thread {
 public:
  using Body = void (*)(void *user);
  // Refuses nothing: false where the system has no more threads. The thread blocks all signals and has a stack of 1
  // MiB.
  bool start(Body body, void *user) noexcept;
  void join() noexcept;

 private:
  uintptr_t id_ = 0;
};

// Says to the processor that the calling thread waits actively.
void relax() noexcept;

// Waits in the system while the word is `old`, and ends the waiting of all who do, after the word was changed.
void wait(const std::atomic<uint32_t> &word, uint32_t old) noexcept;
void wake(std::atomic<uint32_t> &word) noexcept;

// A word for each thread, 0 at first. Not thread_local: that would make the library impossible to load for a program
// with little room for it. A host that has used up all keys leaves none: then known() is false, and get() gives 0.
class Key {
 public:
  Key() noexcept;
  bool known() const noexcept { return known_; }
  intptr_t get() const noexcept;
  bool set(intptr_t word) const noexcept;  // false where the system has no memory for it

 private:
  uintptr_t key_ = 0;
  bool known_ = false;
};

}  // namespace dl4::os
