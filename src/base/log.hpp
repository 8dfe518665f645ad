// Messages for the user's logger: made on any thread, kept, and delivered on one of the user's threads.
#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace dl4 {

class Log {
 public:
  enum Level : int { trace, debug, info, warning, error };
  using Deliver = void (*)(void *user, int32_t level, const char *message);

  Log();
  ~Log();
  Log(const Log &) = delete;
  Log &operator=(const Log &) = delete;

  // Null: silence.
  void set(int32_t min_level, Deliver deliver, void *user);
  bool takes(Level level) const noexcept { return level >= least_.load(std::memory_order_relaxed); }
  // Never fails: a message for which there is no memory is lost.
  void write(Level level, const std::string &message) noexcept;
  // Delivers what has been kept so far, on the calling thread. What the logger throws is dropped.
  void deliver() {
    if (takes(error)) deliver(queue_);
  }
  struct Queue;
  static void deliver(std::shared_ptr<Queue> queue);  // which the logger may drop
  std::shared_ptr<Queue> queue() const { return takes(error) ? queue_ : nullptr; }

 private:
  std::shared_ptr<Queue> queue_;
  std::atomic<int> least_{1 + error};
};

}  // namespace dl4
