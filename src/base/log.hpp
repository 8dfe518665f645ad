// Messages about what the library does: for the user's logger, on stderr, or in a file. They are made on any thread;
// those for the logger are kept, and delivered on one of the user's threads.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

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

  // Messages from `level` on also go to `to`: "stderr", or the end of a file, which is rotated. Refuses a file that
  // cannot be opened. Before other threads know this log.
  void open(Level level, const std::string &to);
  // The user's logger; null: none.
  void set(int32_t min_level, Deliver deliver, void *user);
  bool takes(Level level) const noexcept { return level >= least_.load(std::memory_order_relaxed); }
  // The parts make one line, if anyone wants it. Never fails: a message for which there is no memory is lost.
  template <class... Parts>
  void write(Level level, const Parts &...parts) const noexcept {
    if (!takes(level)) return;
    try {
      write(*queue_, level, text(parts...));
    } catch (...) {
    }
  }
  // Delivers what has been kept so far, on the calling thread. What the logger throws is dropped.
  void deliver() const {
    if (takes(error)) deliver(queue_);
  }
  // The same of what outlives the log, which the logger may drop; null where no one listens.
  struct Queue;
  std::shared_ptr<Queue> queue() const { return takes(error) ? queue_ : nullptr; }
  static void write(Queue &queue, Level level, const std::string &message);
  static void deliver(std::shared_ptr<Queue> queue);

 private:
  std::shared_ptr<Queue> queue_;
  std::atomic<int> least_{off};
  int opened_ = off;  // the level of stderr or the file
};

// What messages say of time: "12.3 ms" since it was made.
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
