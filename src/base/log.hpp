// Log messages for the user's logger, stderr or a file. Any thread may write them; those for the logger are queued and
// delivered on one of the user's threads.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "base/error.hpp"

namespace dl4 {

class Log {
 public:
  enum Level : int { trace, debug, info, warning, error, off };
  using Deliver = void (*)(void *user, int32_t level, const char *message);

  Log();
  ~Log();
  Log(const Log &) = delete;
  Log &operator=(const Log &) = delete;

  // Also writes messages of at least `level` to `to`: "stderr", or a file that is appended to and rotated. Refuses a
  // file that cannot be opened. Must be called before other threads use this log.
  void open(Level level, const std::string &to);
  // Sets the user's logger; null removes it.
  void set(int32_t min_level, Deliver deliver, void *user);
  bool takes(Level level) const noexcept { return level >= least_.load(std::memory_order_relaxed); }
  // Concatenates the parts to one line if the level is enabled. Never fails: without memory the message is lost.
  template <class... Parts>
  void write(Level level, const Parts &...parts) const noexcept {
    if (!takes(level)) return;
    try {
      write(*queue_, level, text(parts...));
    } catch (...) {
    }
  }
  // Delivers the queued messages on the calling thread. Exceptions of the logger are dropped.
  void deliver() const {
    if (takes(error)) deliver(queue_);
  }
  // The queue, for objects that outlive the log. Null if there is no logger.
  struct Queue;
  std::shared_ptr<Queue> queue() const { return takes(error) ? queue_ : nullptr; }
  static void write(Queue &queue, Level level, const std::string &message);
  static void deliver(std::shared_ptr<Queue> queue);

 private:
  std::shared_ptr<Queue> queue_;
  std::atomic<int> least_{off};
  int opened_ = off;  // level of stderr or the file
};

// Elapsed time since construction, as messages show it: "12.3 ms".
class Stopwatch {
 public:
  std::string told() const {
    const auto taken = std::chrono::steady_clock::now() - begin_;
    const int64_t tenths = std::chrono::duration_cast<std::chrono::microseconds>(taken).count() / 100;
    return text(tenths / 10, '.', tenths % 10, " ms");
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace dl4
