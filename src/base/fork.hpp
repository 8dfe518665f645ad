// fork() while other threads are at work: in the child none of our locks is held, and nothing of ours is half changed.
#pragma once

#include <cstdint>
#include <mutex>

namespace dl4 {

// How many forks lie between the first process and this one.
uint32_t forks() noexcept;

// While one lives, a fork() by another thread waits. Never held while user functions are called or work is done.
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
