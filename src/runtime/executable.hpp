// What runs: a Program with inputs, outputs and named state, a plan for each set of input shapes, frames for the runs
// in flight. A session is one whose state is constant, a stream runs one step by step, a trainer's step is one whose
// Program writes its state.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/crew.hpp"
#include "base/fork.hpp"
#include "base/json.hpp"
#include "base/memory.hpp"
#include "runtime/plan_cache.hpp"

namespace dl4::runtime {

class Executable;

// The live executables of a context, so that it can trim their caches.
class Executables {
 public:
  [[gnu::cold]] void add(const std::shared_ptr<Executable> &executable);
  [[gnu::cold]] void trim();

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<Executable>> all_;
};

struct Options {
  plan::Options plan;
  std::shared_ptr<Crew> crew;
  std::shared_ptr<const Memory> memory = std::make_shared<const Memory>();  // of arenas
  std::shared_ptr<Executables> executables;  // where Executable::make adds itself; may be null
  bool constant_states = false;              // no run changes a state: kernels may pack weights once
  bool fill_nan = false;  // for tests: memory is NaN before every run, and guard words are checked between its steps
  bool profile = false;
  bool ends_writes = false;        // a run that has begun to write states is no longer cancelled
  int64_t step_limit = INT64_MAX;  // steps of all loops of a run
  // The state, an int64, that holds the number of the run, counted from 0.
  std::optional<size_t> run_counter;
  // An input and an output that must have the same shape.
  struct Pair {
    size_t input, output;
  };
  std::vector<Pair> alike;
  int64_t plan_bytes = 256 << 20;  // limit of all frames: beyond it the least recently used plans are dropped
};

// Any number of threads may run it at once; only one at a time if the Program writes states.
class Executable {
 public:
  // states: one for each state of the program, or empty if bind() follows. Executables with the same states may share
  // their packs.
  // What is `cold`, here and in the other classes, no run calls once it has its plan: it is compiled small.
  [[gnu::cold]] Executable(ops::Program program, std::vector<Tensor> states, std::shared_ptr<plan::Packs> packs,
                           Options options);
  [[gnu::cold]] static std::shared_ptr<Executable> make(ops::Program program, std::vector<Tensor> states,
                                                        std::shared_ptr<plan::Packs> packs, const Options &options);

  // Refuses a wrong number of inputs and wrong dtypes.
  void check(std::span<const View> in) const;
  // The dtypes and shapes of all outputs for these input shapes. Makes the plan if there is none yet; fails with
  // CANCELLED when *cancel becomes non-zero meanwhile.
  std::vector<ops::Operand> outputs(std::span<const View> in, const std::atomic<int32_t> *cancel = nullptr);
  // The same without making a plan.
  [[gnu::cold]] std::vector<ops::Operand> outputs(std::span<const Shape> in) const;
  // Writes every output; the views' shapes must be those that outputs() gives. Refuses a wrong count, dtype or shape
  // and an output that is strided or overlaps another view. Fails with CANCELLED when *cancel becomes non-zero, also
  // within a step that takes long or while the plan is made. After a fault a state is unchanged unless an earlier step
  // wrote it.
  void run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel = nullptr);
  // The same in parts, for consecutive runs whose views differ only in their data pointers: views that are dense and do
  // not overlap in the first run must stay so in all of them. finish() is left out if a run failed. `apart`: the caller
  // knows which views may lie in the same memory.
  struct Ready {
    PlanCache::Use cached;
    std::unique_ptr<Frame> frame;
  };
  Ready prepare(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel,
                bool apart = false);
  void run(Ready &ready, std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel);
  void finish(Ready ready) { plans_.give_back(ready.cached, std::move(ready.frame)); }
  // The parts of that run. The frame's `in` and `out` say where the views lie.
  void place(Ready &ready, std::span<const View> in, std::span<const View> out);
  // Copies a strided input, which lies at `data`, to where its frame has it dense.
  void stage(Ready &ready, size_t i, const View &in, const void *data);
  // Consecutive runs need it once. They are inside of a FlushToZero and a SingleThreaded.
  void bind_states(Ready &ready);
  void run(Ready &ready, const std::atomic<int32_t> *cancel);

  // What one who runs again and again keeps in between: trim() may take it.
  class Kept {
   public:
    Kept() = default;
    Kept(const Kept &) = delete;
    Kept &operator=(const Kept &) = delete;
    // Nothing where trim() was, or is about it.
    std::optional<Ready> take() {
      auto is = Is::full;
      if (!is_.compare_exchange_strong(is, Is::changing, std::memory_order_acquire)) return std::nullopt;
      std::optional<Ready> taken(std::move(ready_));
      ready_.reset();
      is_.store(Is::empty, std::memory_order_release);
      return taken;
    }
    // By its owner alone; false, with nothing done, while trim() is about it.
    bool put(Ready &&ready) {
      if (is_.load(std::memory_order_acquire) != Is::empty) return false;
      ready_.emplace(std::move(ready));
      is_.store(Is::full, std::memory_order_release);
      return true;
    }

   private:
    enum class Is : int32_t { empty, full, changing };
    std::atomic<Is> is_{Is::empty};
    std::optional<Ready> ready_;
  };
  [[gnu::cold]] std::shared_ptr<Kept> make_kept();
  // Does memory allow to keep frames?
  bool keeps() const { return !plans_.is_full(); }

  // Refuses outputs whose bytes exceed the memory limit.
  void need_room(int64_t bytes) const;

  // Binds a state to a tensor, which runs read and, if the Program writes the state, change. No run may be under way.
  void set_state(size_t i, const Tensor &t) noexcept { states_[i] = t; }
  // Binds each state to tensor_of(its name). Allocates nothing.
  template <class F>
  void bind(F tensor_of) {
    for (size_t i = 0; i < states_.size(); ++i) set_state(i, tensor_of(program_[program_.states[i]].name));
  }

  // The same of one state.
  void bind(size_t i, const Tensor &t) noexcept { states_[i] = t; }

  const ops::Program &program() const { return program_; }
  // The Program, every cached plan and, with profile, its times.
  [[gnu::cold]] std::string describe();
  // The cached plans: input shapes, arena, steps with layer, kernel, slices and, with profile, times.
  [[gnu::cold]] Json plans();
  // Drops idle frames, and plans that no run is using.
  [[gnu::cold]] void trim();
  // Of its frames, idle or in use.
  int64_t cached_bytes() const { return plans_.frame_bytes(); }
  // Of weights in the layouts of kernels that live.
  int64_t packed_bytes() const { return packs_ ? packs_->bytes() : 0; }

 private:
  // The plan for these shapes, made if there is none. It is kept as long as the Use lives.
  PlanCache::Use use(std::span<const View> in, const std::atomic<int32_t> *cancel);
  [[gnu::cold]] void need_alike(std::span<const Shape> in, std::span<const ops::Operand> out) const;
  void refuse_overlap(const CachedPlan &cached, std::span<const View> in, std::span<const View> out) const;
  void step(const CachedPlan &cached, Frame &frame, size_t s);
  void watch(const CachedPlan &cached, Frame &frame);

  ops::Program program_;
  std::vector<Tensor> states_;
  std::shared_ptr<plan::Packs> packs_;
  Options options_;
  PlanCache plans_;
  std::atomic<int64_t> runs_{0};
  Mutex specialise_;  // held where plans_ is changed or listed
  Mutex kept_mutex_;
  std::vector<std::weak_ptr<Kept>> kept_;
};

}  // namespace dl4::runtime
