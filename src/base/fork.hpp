// fork() while other threads are working: in the child no lock of the library is held and none of its data is half
// changed.
#pragma once

#include <cstdint>
#include <mutex>

namespace dl4 {

// Number of forks between the first process and this one.
uint32_t forks() noexcept;

// Delays a fork() by another thread within a scope. Never held during user functions or computation.
class NoFork {
 public:
  NoFork() noexcept { enter(); }
  ~NoFork() { leave(); }
  NoFork(const NoFork &) = delete;
  NoFork &operator=(const NoFork &) = delete;

  static void enter() noexcept;
  static void leave() noexcept;
};

// A mutex that no other thread holds across a fork.
class Mutex {
 public:
  void lock() {
    NoFork::enter();
    mutex_.lock();
  }
  void unlock() {
    mutex_.unlock();
    NoFork::leave();
  }

 private:
  std::mutex mutex_;
};

}  // namespace dl4
