// What a step runs: a kernel made once for known shapes, cut into slices that any thread may run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bound.hpp"

namespace dl4::kernels {

using dl4::Bound;

enum class Fault : int32_t { none, index_out_of_range, not_finite, library, callback, too_many_steps, refused };

// What a run and its kernels tell each other: when to end early, and the first fault. Slices may report at once: the
// first one stays.
struct Report {
  std::atomic<Fault> fault{Fault::none};
  std::atomic<int64_t> value{0}, end{0};   // end: what an index must be below
  std::atomic<const char *> why{nullptr};  // it is refused; as long as the kernel lives
  const std::atomic<int32_t> *cancel = nullptr;  // becomes non-zero; null: nothing cancels the run
  int64_t most_steps = INT64_MAX;                // of all loops of the run
  std::atomic<int64_t> steps{0};                 // that they have begun

  void raise(Fault f, int64_t v, int64_t below = 0, const char *text = nullptr) noexcept {
    Fault none = Fault::none;
    if (!fault.compare_exchange_strong(none, f, std::memory_order_relaxed)) return;
    value.store(v, std::memory_order_relaxed);
    end.store(below, std::memory_order_relaxed);
    why.store(text, std::memory_order_relaxed);
  }
  // Is the result of the run no longer wanted? Then a kernel may leave its destinations unfinished. Whatever takes long
  // asks it between its steps.
  bool ends() const noexcept {
    return (cancel && cancel->load(std::memory_order_relaxed) != 0) ||
           fault.load(std::memory_order_relaxed) != Fault::none;
  }
  // Before a loop takes n steps. False if these are too many, which is a fault. Loops of a run take turns: no two
  // threads call it at once.
  bool take_steps(int64_t n) noexcept {
    const int64_t taken = steps.load(std::memory_order_relaxed);
    if (n > most_steps - taken) return raise(Fault::too_many_steps, most_steps), false;
    steps.store(taken + n, std::memory_order_relaxed);
    return true;
  }
};

// args: the step's sources in order, then its destinations; nullptr for one that is absent or that no one reads.
struct Run {
  void *const *args;
  int sources;    // of args
  void *scratch;  // Kernel::scratch bytes, 64-byte aligned, contents undefined
  Bound *bound;   // what bind() made for this frame
  Report *report;

  template <class T>
  const T *in(int i) const noexcept {
    return static_cast<const T *>(args[i]);
  }
  template <class T>
  T *out(int i) const noexcept {
    return static_cast<T *>(args[sources + i]);
  }
};

struct RowStep;

// Immutable once made, shared by every frame of a plan.
class Kernel {
 public:
  Kernel(std::string name, int64_t slices, int64_t scratch = 0, int64_t phases = 1)
      : name(std::move(name)), slices(slices), scratch(scratch), phases(phases) {}
  virtual ~Kernel() = default;
  virtual std::unique_ptr<Bound> bind() const { return nullptr; }
  // slice: in [0, slices * phases), those of a phase (slice / slices) after all of the phase before. Noexcept, but of
  // one that calls the host.
  virtual void run(int64_t slice, const Run &r) const = 0;
  // Does it run a function of the host's? Then it is of one slice, and the thread that runs it is the caller's.
  virtual bool calls_host() const { return false; }

  const std::string name;
  const int64_t slices;   // of a phase; 0 = nothing to do
  const int64_t scratch;  // bytes for all slices together
  const int64_t phases;
  // The same with few channels, if it may be joined with its neighbours (rows/rows.hpp). Set by what makes it.
  std::shared_ptr<const RowStep> rows;
};

// A kernel from a function (int64_t slice, const Run &). Functions that make kernels run once a plan: being `cold`,
// they are compiled small.
template <class F>
[[gnu::cold]] std::unique_ptr<Kernel> make_kernel(std::string name, int64_t slices, F f, int64_t scratch = 0,
                                                  int64_t phases = 1) {
  struct Function final : Kernel {
    Function(std::string n, int64_t s, int64_t bytes, int64_t p, F g)
        : Kernel(std::move(n), s, bytes, p), f(std::move(g)) {}
    void run(int64_t slice, const Run &r) const noexcept override { f(slice, r); }
    F f;
  };
  return std::make_unique<Function>(std::move(name), slices, scratch, phases, std::move(f));
}

// The part [first, second) of n items that slice i of count takes: whole blocks of `block`, as even as can be.
inline std::pair<int64_t, int64_t> part(int64_t n, int64_t count, int64_t i, int64_t block = 1) {
  if (count == 1) return {0, n};  // divisions are a good part of a step of few numbers
  int64_t blocks = (n + block - 1) / block;
  // bounded: of at most 2^40 blocks, and slices are as few as threads
  int64_t begin = blocks * i / count * block, end = blocks * (i + 1) / count * block;
  return {begin < n ? begin : n, end < n ? end : n};
}

}  // namespace dl4::kernels
