// The kernel of a step: made once for known shapes, cut into slices that any thread may run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bound.hpp"

namespace dl4::kernels {

using dl4::Bound;

enum class Fault : int32_t { none, index_out_of_range, not_finite, library, callback, too_many_steps, refused };

// Shared state of a run and its kernels: cancellation, and the first fault. Slices may report concurrently; the first
// report is kept.
struct Report {
  std::atomic<Fault> fault{Fault::none};
  std::atomic<int64_t> value{0}, end{0};         // end: exclusive bound of an index
  std::atomic<const char *> why{nullptr};        // reason of a refusal; lives as long as the kernel
  const std::atomic<int32_t> *cancel = nullptr;  // cancels the run when non-zero; nullptr: none
  int64_t most_steps = INT64_MAX;                // over all loops of the run
  std::atomic<int64_t> steps{0};                 // begun so far

  void raise(Fault f, int64_t v, int64_t below = 0, const char *text = nullptr) noexcept {
    Fault none = Fault::none;
    if (!fault.compare_exchange_strong(none, f, std::memory_order_relaxed)) return;
    value.store(v, std::memory_order_relaxed);
    end.store(below, std::memory_order_relaxed);
    why.store(text, std::memory_order_relaxed);
  }
  // Whether the result of the run is no longer wanted, so that a kernel may leave its destinations unfinished.
  // Long-running kernels check it between steps.
  bool ends() const noexcept {
    return (cancel && cancel->load(std::memory_order_relaxed) != 0) ||
           fault.load(std::memory_order_relaxed) != Fault::none;
  }
  // Accounts for n steps before a loop takes them; false, and a fault, if the limit is exceeded. Loops of a run are
  // sequential: no two threads call it at once.
  bool take_steps(int64_t n) noexcept {
    const int64_t taken = steps.load(std::memory_order_relaxed);
    if (n > most_steps - taken) return raise(Fault::too_many_steps, most_steps), false;
    steps.store(taken + n, std::memory_order_relaxed);
    return true;
  }
};

// args: the step's sources in order, then its destinations; nullptr for absent sources and unread destinations.
struct Run {
  void *const *args;
  int sources;    // number of sources in args
  void *scratch;  // Kernel::scratch bytes, 64-byte aligned, undefined contents
  Bound *bound;   // made by bind() for this frame
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

// Immutable, shared by all frames of a plan.
class Kernel {
 public:
  Kernel(std::string name, int64_t slices, int64_t scratch = 0, int64_t phases = 1)
      : name(std::move(name)), slices(slices), scratch(scratch), phases(phases) {}
  virtual ~Kernel() = default;
  virtual std::unique_ptr<Bound> bind() const { return nullptr; }
  // slice: in [0, slices * phases); slices of a phase (slice / slices) run after all of the phase before. Does not
  // throw, unless it calls the host.
  virtual void run(int64_t slice, const Run &r) const = 0;
  // Whether it calls a function of the host. Then it has one slice, which runs on the calling thread.
  virtual bool calls_host() const { return false; }

  const std::string name;
  const int64_t slices;   // per phase; 0: nothing to do
  const int64_t scratch;  // bytes for all slices together
  const int64_t phases;
  // The equivalent operation on few channels, if it may be joined with its neighbours (rows/rows.hpp). Set by the
  // factory.
  std::shared_ptr<const RowStep> rows;
};

// Makes a kernel from a function (int64_t slice, const Run &). Factories run once per plan: `cold` makes the compiler
// optimise them for size.
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

// The range [first, second) of n items for slice i of count: whole blocks of `block`, as even as possible.
inline std::pair<int64_t, int64_t> part(int64_t n, int64_t count, int64_t i, int64_t block = 1) {
  if (count == 1) return {0, n};  // divisions would be a good part of a small step
  int64_t blocks = (n + block - 1) / block;
  // bounded: of at most 2^40 blocks, and slices are as few as threads
  int64_t begin = blocks * i / count * block, end = blocks * (i + 1) / count * block;
  return {begin < n ? begin : n, end < n ? end : n};
}
// Into how many pieces to cut each of n items for so many slices: with whole items some would have over an eighth more
// than on average.
inline int64_t even_pieces(int64_t n, int64_t slices) {
  int64_t pieces = std::max<int64_t>(1, slices / std::max<int64_t>(1, n));
  const auto uneven = [&](int64_t all) { return (all + slices - 1) / slices * slices * 8 > all * 9; };
  while (pieces < slices && n >= slices && uneven(n * pieces)) ++pieces;  // bounded: items in memory
  return pieces;
}

}  // namespace dl4::kernels
