// fork() amid the work of other threads: the child finds no lock of ours held and nothing of ours half changed.
#pragma once

#include <cstdint>
#include <mutex>

namespace dl4 {

// How many forks lie between the first process and this one.
uint32_t forks() noexcept;

// While one lives, a fork() by another thread waits. Not around calls of the user's functions, nor where work is done.
class NoFork {
 public:
  NoFork() noexcept { enter(); }
  ~NoFork() { leave(); }
  NoFork(const NoFork &) = delete;
  NoFork &operator=(const NoFork &) = delete;

  static void enter() noexcept;
  static void leave() noexcept;
};

// A mutex that no other thread holds at a fork.
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
