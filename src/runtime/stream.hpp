// An Executable that takes sequences a few steps at a time, and the state it carries from one tick to the next.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/ticks/tick.hpp"
#include "runtime/executable.hpp"

namespace dl4::runtime {

// What streams run: the Executables of a tick, and of several in one as how->together has them.
struct Ticks {
  std::shared_ptr<Executable> one;
  std::vector<std::shared_ptr<Executable>> together;
  std::shared_ptr<const plan::Tick> how;
};

// What runs is a tick: so many steps of each sequence. Inputs or outputs that are no sequences are the same in all
// ticks, or those of the last one. Steps that make no whole tick wait for the next call. One thread at a time.
class Stream {
 public:
  [[gnu::cold]] Stream(const Ticks &ticks, int64_t batch);

  Stream(Stream &&) = default;
  Stream &operator=(Stream &&) = delete;
  ~Stream();

  // A second one that goes on from here. Both share the memory of the states until own().
  Stream fork() const;
  // Before its states are written: they are in memory of its own. Refuses with OUT_OF_MEMORY, and nothing has changed.
  void own() {
    if (lease_) stop_sharing();
  }

  void reset();
  void reset(int64_t row);  // refused where rows may not be at different ticks
  size_t inputs() const { return inputs_; }
  size_t outputs_count() const { return tick_->outputs.size(); }
  // Refuses a wrong number of inputs, wrong dtypes, shapes, batch, and sequences of different lengths.
  void check(std::span<const View> in) const { check(in, batch_); }
  void check(std::span<const View> in, int64_t batch) const;
  // Dtypes and shapes of all outputs for these inputs.
  std::vector<ops::Operand> outputs(std::span<const View> in, const std::atomic<int32_t> *cancel = nullptr);
  void need_room(int64_t bytes) const { ticks_.one->need_room(bytes); }
  // All steps of the inputs, inside of a FlushToZero. After an error the states are as before the call. Allocates
  // nothing after the first call with these shapes.
  void run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel = nullptr) {
    alone();
    run(in, out, cancel, is_as_before(in, out));
  }

  // The states are again as before the last run, which did not fail.
  void undo() { put_back(); }

  // Of many streams most lie in no cache: reads what StreamBlock needs ahead, each depth what the one before finds.
  static constexpr int depths = 2;
  void read_ahead(int depth) const noexcept {
    constexpr int64_t line = 64, most = 1024;
    if (depth == 0) return __builtin_prefetch(&now_, 1), __builtin_prefetch(&turns_rings_, 1);
    // bounded: of a piece of memory
    for (int64_t at = 0; at < std::min(most, half_); at += line)
      __builtin_prefetch(now_ + at), __builtin_prefetch(next_ + at, 1);
  }

  int64_t batch() const { return batch_; }

  // What goes on from call to call by name: the values may be written after own().
  [[gnu::cold]] std::vector<std::pair<std::string, Tensor>> states() const;
  // The same to be saved: what no later tick reads has its initial value, whatever runs left there, also one that
  // failed.
  [[gnu::cold]] std::vector<std::pair<std::string, Tensor>> saved() const;

 private:
  // as_before: what is_as_before() said of it. Such a run makes nothing.
  void run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel, bool as_before);
  bool is_as_before(std::span<const View> in, std::span<const View> out) const;

  friend class StreamBlock;
  // Of an input.
  struct Steps {
    int64_t advance = 0;  // from one step to the next, in bytes; 0 where all are the same
    int64_t bytes = 0;    // of a call's, dense
  };
  // Of an output.
  struct Given {
    int64_t bytes = 0;  // of a call's
    int64_t row = 0;    // of a step of it, in bytes
    int64_t next = 0;   // of the call's steps
  };
  // Runs of one Executable for the views of a call: of a tick each, or of many.
  struct Pace {
    std::shared_ptr<Executable> executable;
    int64_t ticks = 1, steps = 0;                        // of a run
    std::vector<View> in, out;                           // of a run
    std::vector<std::array<int64_t, max_rank>> strides;  // of `in`
    std::vector<bool> whole;                             // by output: does a run's part lie together?
    std::vector<Tensor> parts;                           // a run's steps of outputs that do not go where they belong
    std::shared_ptr<Executable::Kept> frame;             // for these views
  };
  // What it needs to run by itself: many of those that StreamBlock runs have none.
  struct Alone {
    Pace one;
    std::vector<Pace> together;
    std::vector<View> last_in, last_out;       // of the call that the views of a run are made from; none: of no call
    std::vector<Steps> in_steps;               // without the states
    std::vector<Given> given;                  // by output
    bool is_steady = false;                    // do calls of these shapes give as many steps each time?
    int64_t number = 0;                        // of the next tick
    int64_t ran = 0, taken_before = 0;         // ticks of the last run, steps before it
    Bytes before;                              // what a run of several ticks began with
    std::vector<std::vector<std::byte>> undo;  // by state, of a ring what a run is about to write over
  };
  // Memory that forks share: one of its holders, or nothing. The last one may write it.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease &&) = default;
    Lease &operator=(Lease &&) = delete;
    ~Lease() { end(); }
    explicit operator bool() const { return holders_ != nullptr; }
    Lease share() {
      if (!holders_) holders_ = std::make_shared<std::atomic<int64_t>>(1);
      holders_->fetch_add(1, std::memory_order_relaxed);
      Lease other;
      other.holders_ = holders_;
      return other;
    }
    // What the others have read of the memory is behind them.
    bool is_last() const { return holders_->load(std::memory_order_acquire) == 1; }
    void end() {
      if (holders_) holders_->fetch_sub(1, std::memory_order_release);
      holders_ = nullptr;
    }

   private:
    std::shared_ptr<std::atomic<int64_t>> holders_;
  };
  // How far a run has come: the steps that wait, the steps of the inputs that have been taken.
  struct Place {
    int64_t wait, at;
  };
  // A state, and where it lies: in a half of the memory or, of a ring, among the rings.
  struct Kept {
    DType dtype;
    Shape shape;
    int64_t at = 0, bytes = 0;
    int64_t outer = 0, row = 0;  // of a ring, in bytes
    int batch_axis = 0;          // -1: it is one for all rows
  };
  // What is kept of a call beside the states, and what it was before the run.
  struct Held {
    Tensor now, before;
  };
  int64_t comes(size_t output, int64_t n) const {  // steps of an output that n more steps of the inputs give
    return tick_->given(output, taken_ + n) - tick_->given(output, taken_);
  }
  std::byte *now(size_t state) const { return (tick_->states[state].is_ring ? rings_ : now_) + kept_[state].at; }
  [[gnu::cold]] Stream(const Stream &other, Lease lease);
  [[gnu::cold]] void lay_out();
  [[gnu::cold]] void stop_sharing();
  void point_into(Bytes memory) noexcept;
  Alone &alone();
  int64_t steps(std::span<const View> in) const;
  bool waits() const { return tick_->steps > 1; }
  void need_steps(std::span<const View> out, int64_t steps) const;
  void bind(std::span<const View> in);
  void bind(Pace &pace, std::span<const View> in);
  void bind_outputs(std::span<const View> out);
  void get_ready(Pace &pace, const std::atomic<int32_t> *cancel);
  // f(pace) for all of them.
  template <class F>
  void each_pace(F f) {
    f(alone_->one);
    for (Pace &pace : alone_->together) f(pace);
  }
  void run_ticks(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel);
  void run_ticks(Pace &pace, int64_t runs, Place &place, std::span<const View> in, std::span<const View> out,
                 const std::atomic<int32_t> *cancel);
  void take(std::span<const View> in, int64_t from, int64_t to, int64_t steps) noexcept;
  void begin_states();
  void aim_states(Frame &frame) noexcept;
  void aim(const Pace &pace, std::span<const View> out, Frame &frame) noexcept;
  void collect(const Pace &pace, std::span<const View> out, const Frame &frame) noexcept;
  void finish_outputs(std::span<const View> out, int64_t ticks);
  void refuse_overlap(std::span<const View> in, std::span<const View> out) const;
  bool overlaps(std::span<const View> in, std::span<const View> out) const noexcept;
  // Of a ring: do so many ticks write over what the first of them reads?
  bool writes_over(const plan::Tick::State &ring, int64_t ticks) const noexcept {
    return ticks > ring.free / std::max<int64_t>(1, ring.rows);
  }
  void keep(int64_t ticks);
  void put_back();
  void need_rows_apart() const;
  // Where streams of as many steps may run as rows of one batch: so many steps stand for them.
  int64_t phase() const;
  int64_t first_place(size_t state, int64_t steps) const noexcept;  // of a ring, that the tick behind those writes
  template <class F>
  void each_row(size_t state, int64_t ticks, F f) noexcept;

  // What StreamBlock reads and writes of each, side by side. All states are in one piece: what a tick finds, what
  // becomes of it, and rings, which are changed where they lie.
  std::byte *now_ = nullptr, *next_ = nullptr, *rings_ = nullptr;
  int64_t taken_ = 0;  // steps, since the beginning
  int64_t half_ = 0, batch_;
  int64_t turns_ = 0;                 // steps that StreamBlock's next turn takes
  std::byte *spare_rings_ = nullptr;  // as they will be after the turn; made when they are first needed
  bool turns_rings_ = false;
  mutable Lease lease_;  // of memory_ and spare_

  Bytes memory_, spare_;
  int64_t rings_bytes_ = 0;
  Ticks ticks_;
  const plan::Tick *tick_;
  size_t inputs_ = 0;
  int64_t last_begin_ = 0;
  int64_t steady_ = 0;  // the first tick that begins no state and gives no late step
  std::vector<Kept> kept_;
  // Where a tick has several steps: by input those of one that is not whole, and outputs that are no sequences.
  std::vector<Held> waiting_, last_;
  std::unique_ptr<Alone> alone_;
};

}  // namespace dl4::runtime
