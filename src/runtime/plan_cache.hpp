// The plans of a session by input shapes, each with the frames that wait for a run.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/memory.hpp"
#include "plan/plan.hpp"

namespace dl4::runtime {

// One run in flight: arena, bound arguments, kernels' own objects.
struct Frame {
  Frame(std::atomic<int64_t> &all, int64_t bytes) : all_(all), bytes_(bytes) {
    all_.fetch_add(bytes_, std::memory_order_relaxed);
  }
  ~Frame() { all_.fetch_sub(bytes_, std::memory_order_relaxed); }
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

  Bytes arena;
  std::vector<void *> args;                            // of all steps, one after the other
  std::vector<std::unique_ptr<kernels::Bound>> bound;  // by step
  std::vector<Bytes> staging;                          // by input: where a strided one is made dense
  kernels::Report report;

 private:
  std::atomic<int64_t> &all_;
  const int64_t bytes_;
};

// Time of a step, summed over runs.
struct StepTime {
  std::atomic<int64_t> nanoseconds{0}, runs{0};
};

struct CachedPlan {
  static constexpr size_t max_idle_frames = 16;

  CachedPlan() = default;
  CachedPlan(const CachedPlan &) = delete;
  CachedPlan &operator=(const CachedPlan &) = delete;
  ~CachedPlan() { drop_frames(); }
  void drop_frames() {
    for (auto &slot : idle) delete slot.exchange(nullptr);
  }

  // Runs that look at or hold this entry; below zero while it is being changed, and then it is no one's.
  std::atomic<int64_t> users{0};
  std::unique_ptr<const plan::Plan> plan;
  std::vector<Shape> key;
  std::vector<size_t> first_arg;  // by step
  struct Outside {
    size_t arg;
    plan::Place::Region region;
    int32_t index;
    int64_t offset;
  };
  std::vector<Outside> outside;  // arguments that lie in the caller's or the owner's memory
  std::array<std::atomic<Frame *>, max_idle_frames> idle{};
  std::unique_ptr<StepTime[]> times;
  std::atomic<int64_t> last_used{0};
};

class PlanCache {
 public:
  // Keeps a cached plan from being changed, or owns one for which there was no room.
  class Use {
   public:
    explicit Use(CachedPlan &c) : cached_(&c), held_(c.users.fetch_add(1, std::memory_order_acquire) >= 0) {}
    explicit Use(std::unique_ptr<CachedPlan> own) : Use(*own) { own_ = std::move(own); }
    Use(Use &&o) noexcept : own_(std::move(o.own_)), cached_(o.cached_), held_(o.held_) { o.cached_ = nullptr; }
    ~Use() {
      if (cached_) cached_->users.fetch_sub(1, std::memory_order_release);
    }
    bool fits(std::span<const Shape> inputs) const {
      const auto &key = cached_->key;
      return held_ && cached_->plan && std::equal(inputs.begin(), inputs.end(), key.begin(), key.end());
    }
    CachedPlan *operator->() const { return cached_; }
    CachedPlan &operator*() const { return *cached_; }

   private:
    std::unique_ptr<CachedPlan> own_;
    CachedPlan *cached_;
    bool held_;
  };

  // bytes: of frames; past it the least recently used plans are let go.
  PlanCache(std::shared_ptr<const Memory> memory, int64_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}

  // ---- by any number of threads at once, without a lock

  std::optional<Use> find(std::span<const Shape> inputs) {
    for (size_t i = 0; i < max_plans; ++i) {
      Use u(plans_[i]);
      int64_t last = u->last_used.load(std::memory_order_relaxed);
      if (u.fits(inputs)) {
        // The clock ticks once a plan, not once a call: callers of one plan then write nothing that they share here.
        int64_t now = clock_.load(std::memory_order_relaxed);
        if (last != now) u->last_used.store(now, std::memory_order_relaxed);
        return u;
      }
      if (!last) return std::nullopt;  // entries are filled in order
    }
    return std::nullopt;
  }
  std::unique_ptr<Frame> take_frame(CachedPlan &c) {
    for (auto &slot : c.idle)
      if (Frame *f = slot.load(std::memory_order_relaxed) ? slot.exchange(nullptr, std::memory_order_acquire) : nullptr)
        return std::unique_ptr<Frame>(f);
    return make_frame(*c.plan, c.key.size());
  }
  void give_back(CachedPlan &c, std::unique_ptr<Frame> frame) {
    bool one_is_enough = frame_bytes() > bytes_;
    for (auto &slot : c.idle) {
      Frame *none = nullptr;
      if (one_is_enough && &slot != &c.idle[0]) return;
      if (slot.compare_exchange_strong(none, frame.get(), std::memory_order_release, std::memory_order_relaxed)) {
        (void)frame.release();
        return;
      }
    }
  }
  // What all frames take, idle or in use.
  int64_t frame_bytes() const { return frame_bytes_.load(std::memory_order_relaxed); }

  // ---- by one thread at a time, beside those above

  Use add(std::span<const Shape> inputs, std::unique_ptr<const plan::Plan> plan);
  template <class F>
  void each(F f) {
    for (size_t i = 0; i < max_plans; ++i)
      if (Use u(plans_[i]); u->plan) f(*u);
  }
  // Lets idle frames go, and plans that no run is using.
  void trim();

 private:
  static constexpr size_t max_plans = 64;

  std::unique_ptr<Frame> make_frame(const plan::Plan &plan, size_t inputs);
  CachedPlan *make_room();

  const std::shared_ptr<const Memory> memory_;
  const int64_t bytes_;
  std::atomic<int64_t> frame_bytes_{0};
  std::atomic<int64_t> clock_{0};
  const std::unique_ptr<CachedPlan[]> plans_ = std::make_unique<CachedPlan[]>(max_plans);
};

}  // namespace dl4::runtime
