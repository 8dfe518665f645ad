// A session's plans by input shapes, each with its idle frames.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cpu.hpp"
#include "base/memory.hpp"
#include "base/strings.hpp"
#include "plan/plan.hpp"
#include "runtime/handover.hpp"
#include "runtime/view.hpp"

namespace dl4::runtime {

// The memory of a run: arena, bound arguments, kernels' own objects.
struct Frame {
  Frame(std::atomic<int64_t> &all, int64_t bytes) : all_(all), bytes_(bytes) {
    all_.fetch_add(bytes_, std::memory_order_relaxed);
  }
  ~Frame() { all_.fetch_sub(bytes_, std::memory_order_relaxed); }
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

  // A step ready to run.
  struct Call {
    const kernels::Kernel *kernel;
    kernels::Run run;
    bool alone;  // one slice: runs without the crew
  };

  Bytes arena;
  std::vector<void *> args;                            // of all steps, consecutively
  std::vector<Call> calls;                             // by step
  std::vector<std::byte *> in, out;                    // addresses of the run's inputs and outputs
  int64_t number = 0;                                  // of the run
  std::vector<std::unique_ptr<kernels::Bound>> bound;  // by step
  std::vector<StringRoom *> rooms;                     // among these
  int64_t strings_left = 0;                            // bytes of strings that the run may still make
  std::vector<Handover> handover;                      // by step
  Handover together;                                   // of all steps
  double cut = 0;                                      // number of steps with several slices
  std::vector<Bytes> staging;                          // by input: dense copy of a strided one
  kernels::Report report;

 private:
  std::atomic<int64_t> &all_;
  const int64_t bytes_;
};

// Time of a step, summed over runs.
struct StepTime {
  std::atomic<int64_t> nanoseconds{0}, runs{0};
};

// A cache entry. `empty`: no plan. `idle`: a plan without runs. `in_use`: runs read it, so it must not change.
// `changing`: seized by one thread, from empty or idle; runs skip it.
struct CachedPlan {
  enum class State { empty, idle, in_use, changing };

  // What runs write. Each core has its own seat, up to 8, so that cores do not share cache lines.
  struct alignas(64) Seat {
    std::atomic<int64_t> users{0};  // runs here; negative while the entry is changing
    std::atomic<Frame *> idle{nullptr};
  };
  static constexpr size_t seat_count = 8;
  using Seats = std::array<Seat, seat_count>;

  CachedPlan() = default;
  CachedPlan(const CachedPlan &) = delete;
  CachedPlan &operator=(const CachedPlan &) = delete;
  ~CachedPlan() {
    drop_frames();
    delete seats.load();
  }
  void drop_frames() {
    if (Seats *all = seats.load())
      for (Seat &seat : *all) delete seat.idle.exchange(nullptr);
  }

  // The three below are called by the one thread that may change entries.
  State state() const;
  // To `changing`; false, with nothing done, if in use.
  bool seize();
  // From `changing`; only the seats below `first`.
  void release(size_t first = seat_count);

  std::atomic<Seats *> seats{nullptr};  // allocated with the first plan and kept for later ones
  std::atomic<int64_t> last_used{0};
  std::unique_ptr<const plan::Plan> plan;
  std::vector<Shape> key;
  std::vector<int64_t> in_elements, out_elements;
  std::vector<size_t> first_arg;  // by step
  struct Outside {
    size_t arg;
    plan::Place::Region region;
    int32_t index;
    int64_t offset;
  };
  std::vector<Outside> outside;  // arguments in the caller's memory, then those in the owner's
  size_t callers = 0;            // number of the former
  std::unique_ptr<StepTime[]> times;
};

class PlanCache {
 public:
  // Keeps a cached plan from changing, or owns a plan that did not fit the cache.
  class Use {
   public:
    // c has seats.
    Use(CachedPlan &c, size_t core)
        : cached_(&c),
          first_(core % CachedPlan::seat_count),
          held_(seat(0).users.fetch_add(1, std::memory_order_acquire) >= 0) {}
    Use(std::unique_ptr<CachedPlan> own, size_t core) : Use(*own, core) { own_ = std::move(own); }
    Use(Use &&o) noexcept : own_(std::move(o.own_)), cached_(o.cached_), first_(o.first_), held_(o.held_) {
      o.cached_ = nullptr;
    }
    ~Use() {
      if (cached_) seat(0).users.fetch_sub(1, std::memory_order_release);
    }
    // The caller's own seat, then the others.
    CachedPlan::Seat &seat(size_t i) const {
      return (*cached_->seats.load(std::memory_order_acquire))[(first_ + i) % CachedPlan::seat_count];
    }
    bool fits(std::span<const View> inputs) const {
      if (!held_ || !cached_->plan || inputs.size() != cached_->key.size()) return false;
      for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].shape != cached_->key[i]) return false;
      return true;
    }
    CachedPlan *operator->() const { return cached_; }
    CachedPlan &operator*() const { return *cached_; }

   private:
    std::unique_ptr<CachedPlan> own_;
    CachedPlan *cached_;
    size_t first_;
    bool held_;
  };

  // bytes: limit of all frames; beyond it the least recently used plans are dropped.
  PlanCache(std::shared_ptr<const Memory> memory, int64_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}

  // ---- thread-safe and lock-free

  std::optional<Use> find(std::span<const View> inputs) {
    const size_t core = cpu::current();
    for (size_t i = 0; i < max_plans; ++i) {
      if (!plans_[i].seats.load(std::memory_order_relaxed)) return std::nullopt;  // entries are filled in order
      Use u(plans_[i], core);
      if (!u.fits(inputs)) continue;
      // The clock advances per new plan, not per call, so that callers of one plan write nothing shared here.
      int64_t now = clock_.load(std::memory_order_relaxed);
      if (u->last_used.load(std::memory_order_relaxed) != now) u->last_used.store(now, std::memory_order_relaxed);
      return u;
    }
    return std::nullopt;
  }
  std::unique_ptr<Frame> take_frame(const Use &c) {
    for (size_t i = 0; i < CachedPlan::seat_count; ++i) {
      auto &idle = c.seat(i).idle;
      if (Frame *f = idle.load(std::memory_order_relaxed) ? idle.exchange(nullptr, std::memory_order_acquire) : nullptr)
        return std::unique_ptr<Frame>(f);
    }
    return make_frame(*c);
  }
  void give_back(const Use &c, std::unique_ptr<Frame> frame) {
    if (is_full()) c->drop_frames();
    for (size_t i = 0; i < CachedPlan::seat_count; ++i) {
      Frame *none = nullptr;
      if (c.seat(i).idle.compare_exchange_strong(none, frame.get(), std::memory_order_release,
                                                 std::memory_order_relaxed)) {
        (void)frame.release();
        return;
      }
    }
  }
  // Bytes of all frames, idle or in use.
  int64_t frame_bytes() const { return frame_bytes_.load(std::memory_order_relaxed); }
  bool is_full() const { return frame_bytes() > bytes_; }

  // ---- one thread at a time, concurrently with those above

  [[gnu::cold]] Use add(std::vector<Shape> key, std::unique_ptr<const plan::Plan> plan);
  template <class F>
  void each(F f) {
    for (size_t i = 0; i < max_plans && plans_[i].seats.load(); ++i)
      if (Use u(plans_[i], 0); u->plan) f(*u);
  }
  // Frees idle frames, and plans not in use by a run.
  [[gnu::cold]] void trim();

 private:
  static constexpr size_t max_plans = 64;

  [[gnu::cold]] std::unique_ptr<Frame> make_frame(const CachedPlan &cached);
  [[gnu::cold]] CachedPlan *make_room();

  const std::shared_ptr<const Memory> memory_;
  const int64_t bytes_;
  std::atomic<int64_t> frame_bytes_{0};
  std::atomic<int64_t> clock_{0};
  const std::unique_ptr<CachedPlan[]> plans_ = std::make_unique<CachedPlan[]>(max_plans);
};

}  // namespace dl4::runtime
