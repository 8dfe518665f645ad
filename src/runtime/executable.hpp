// An executable Program: inputs, outputs and named state, a plan for each set of input shapes, and frames for runs in
// flight. A session is one with constant state, a stream runs one step by step, a trainer's step is one that writes its
// state.
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

// The live executables of a context, whose caches it can trim.
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
  std::shared_ptr<Executables> executables;  // Executable::make registers with it; may be null
  bool constant_states = false;              // states never change: kernels may pack weights once
  bool fill_nan = false;  // for tests: fills memory with NaN before every run and checks guard words between steps
  bool profile = false;
  bool ends_writes = false;        // once a run has begun to write states it can't be cancelled
  int64_t step_limit = INT64_MAX;  // limit of a run's loop steps
  // The int64 state that holds the run's number, from 0.
  std::optional<size_t> run_counter;
  // Input and output whose shapes must be equal.
  struct Pair {
    size_t input, output;
  };
  std::vector<Pair> alike;
  int64_t plan_bytes = 256 << 20;  // limit of all frames; beyond it the least recently used plans are dropped
};

// Thread-safe, unless the Program writes states: then one run at a time.
class Executable {
 public:
  // states: one per state of the program, or empty if bind() follows. Executables with the same states may share their
  // packs.
  // Functions marked `cold`, here and in other classes, are not called by runs that have a plan, and are optimised for
  // size.
  [[gnu::cold]] Executable(ops::Program program, std::vector<Tensor> states, std::shared_ptr<plan::Packs> packs,
                           Options options);
  [[gnu::cold]] static std::shared_ptr<Executable> make(ops::Program program, std::vector<Tensor> states,
                                                        std::shared_ptr<plan::Packs> packs, const Options &options);

  // Refuses a wrong number of inputs and wrong dtypes.
  void check(std::span<const View> in) const;
  // The dtypes and shapes of all outputs for these inputs. Makes the plan if necessary; fails with CANCELLED when
  // *cancel becomes non-zero meanwhile.
  std::vector<ops::Operand> outputs(std::span<const View> in, const std::atomic<int32_t> *cancel = nullptr);
  // The same without making a plan.
  [[gnu::cold]] std::vector<ops::Operand> outputs(std::span<const Shape> in) const;
  // Writes every output; the views must have the shapes that outputs() returns. Refuses a wrong count, dtype or shape,
  // and an output that is strided or overlaps another view. Fails with CANCELLED when *cancel becomes non-zero, also
  // during planning or a long step. After a fault, a state is unchanged unless an earlier step wrote it.
  // Returns what keeps the strings among the outputs that the run made.
  MadeStrings run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel = nullptr);
  // The same in parts, for consecutive runs whose views differ only in their data pointers: views that are dense and
  // don't overlap in the first run must stay so. Call finish() only after success. `apart`: the caller checks for
  // overlap.
  struct Ready {
    PlanCache::Use cached;
    std::unique_ptr<Frame> frame;
  };
  Ready prepare(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel,
                bool apart = false);
  void run(Ready &ready, std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel);
  void finish(Ready ready) { plans_.give_back(ready.cached, std::move(ready.frame)); }
  // The parts of such a run. The frame's `in` and `out` hold the views' addresses.
  void place(Ready &ready, std::span<const View> in, std::span<const View> out);
  // Copies a strided input at `data` to its dense buffer in the frame.
  void stage(Ready &ready, size_t i, const View &in, const void *data);
  // Once before consecutive runs, which need a FlushToZero and a SingleThreaded around them.
  void bind_states(Ready &ready);
  void run(Ready &ready, const std::atomic<int32_t> *cancel);

  // A frame kept between runs by a repeated caller; trim() may take it.
  class Kept {
   public:
    Kept() = default;
    Kept(const Kept &) = delete;
    Kept &operator=(const Kept &) = delete;
    // Empty if trim() has taken it or is doing so.
    std::optional<Ready> take() {
      auto is = Is::full;
      if (!is_.compare_exchange_strong(is, Is::changing, std::memory_order_acquire)) return std::nullopt;
      std::optional<Ready> taken(std::move(ready_));
      ready_.reset();
      is_.store(Is::empty, std::memory_order_release);
      return taken;
    }
    // Called by the owner only. False, with nothing done, while trim() accesses it.
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
  // Whether memory allows keeping frames.
  bool keeps() const { return !plans_.is_full(); }

  // Refuses outputs whose bytes exceed the memory limit.
  void need_room(int64_t bytes) const;

  // Binds a state to a tensor, which runs read and, if the Program writes the state, change. No run may be in flight.
  void set_state(size_t i, const Tensor &t) noexcept { states_[i] = t; }
  // Binds each state to tensor_of(its name). Allocates nothing.
  template <class F>
  void bind(F tensor_of) {
    for (size_t i = 0; i < states_.size(); ++i) set_state(i, tensor_of(program_[program_.states[i]].name));
  }

  // Binds one state.
  void bind(size_t i, const Tensor &t) noexcept { states_[i] = t; }

  const ops::Program &program() const { return program_; }
  // The Program and all cached plans, with times when profiling.
  [[gnu::cold]] std::string describe();
  // The cached plans: input shapes, arena, steps with layer, kernel and slices, with times when profiling.
  [[gnu::cold]] Json plans();
  // Frees idle frames, and plans not in use by a run.
  [[gnu::cold]] void trim();
  // Bytes of its frames, idle or in use.
  int64_t cached_bytes() const { return plans_.frame_bytes(); }
  // Bytes of live packed weights.
  int64_t packed_bytes() const { return packs_ ? packs_->bytes() : 0; }

 private:
  // The plan for these shapes, made if necessary. It is kept while the Use lives.
  PlanCache::Use use(std::span<const View> in, const std::atomic<int32_t> *cancel);
  [[gnu::cold]] void need_alike(std::span<const Shape> in, std::span<const ops::Operand> out) const;
  void refuse_overlap(const CachedPlan &cached, std::span<const View> in, std::span<const View> out) const;
  void step(const CachedPlan &cached, Frame &frame, size_t s, bool helped);
  void watch(const CachedPlan &cached, Frame &frame);

  ops::Program program_;
  std::vector<Tensor> states_;
  std::shared_ptr<plan::Packs> packs_;
  Options options_;
  PlanCache plans_;
  std::atomic<int64_t> runs_{0};
  Mutex specialise_;  // held while plans_ is changed or listed
  Mutex kept_mutex_;
  std::vector<std::weak_ptr<Kept>> kept_;
};

}  // namespace dl4::runtime
