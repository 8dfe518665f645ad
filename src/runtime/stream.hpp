// Runs an Executable over sequences, a few steps at a time, and keeps the state between ticks.
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

// A stream's Executables: for one tick, and for several combined, in the order of how->together.
struct Ticks {
  std::shared_ptr<Executable> one;
  std::vector<std::shared_ptr<Executable>> together;
  std::shared_ptr<const plan::Tick> how;
};
// With the states of the tick's Programs, which are constant. Streams run on audio threads, so kernels of other
// libraries are excluded.
[[gnu::cold]] Ticks ticks_of(plan::Tick tick, const std::vector<Tensor> &states, Options options);

// A tick takes so many steps of each sequence. Other inputs are the same in all ticks; other outputs are those of the
// last one. Steps short of a whole tick wait for the next call. One thread at a time.
class Stream {
 public:
  [[gnu::cold]] Stream(const Ticks &ticks, int64_t batch);

  Stream(Stream &&) = default;
  Stream &operator=(Stream &&) = delete;
  ~Stream();

  // A copy that continues independently. Both share the states' memory until own().
  Stream fork() const { return *this; }
  // Before writing states: makes their memory private. Refuses with OUT_OF_MEMORY, with nothing changed.
  void own() {
    if (lease_) stop_sharing();
  }

  void reset();
  void reset(int64_t row);  // refused if rows can't be at different ticks
  size_t inputs() const { return inputs_; }
  size_t outputs_count() const { return tick_->outputs.size(); }
  // Refuses a wrong number of inputs, wrong dtypes, shapes or batch, and sequences of different lengths.
  void check(std::span<const View> in) const { check(in, batch_); }
  void check(std::span<const View> in, int64_t batch) const;
  // Dtypes and shapes of all outputs for these inputs.
  std::vector<ops::Operand> outputs(std::span<const View> in, const std::atomic<int32_t> *cancel = nullptr);
  void need_room(int64_t bytes) const { ticks_.one->need_room(bytes); }
  // Processes all steps of the inputs, inside a FlushToZero. After an error the states are as before the call.
  // Allocates nothing after the first call with these shapes.
  void run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel = nullptr) {
    alone();
    run(in, out, cancel, is_as_before(in, out));
  }

  // Restores the states from before the last run, which must have succeeded.
  void undo() { put_back(); }

  // With many streams most are not in cache: prefetches what StreamBlock needs. Each depth follows pointers that the
  // previous one loaded.
  static constexpr int depths = 2;
  void read_ahead(int depth) const noexcept {
    constexpr int64_t line = 64, most = 1024;
    if (depth == 0) return __builtin_prefetch(&now_, 1), __builtin_prefetch(&turns_rings_, 1);
    // bounded: of a piece of memory
    for (int64_t at = 0; at < std::min(most, half_); at += line)
      __builtin_prefetch(now_ + at), __builtin_prefetch(next_ + at, 1);
  }

  int64_t batch() const { return batch_; }

  // Named states; the values may be written after own().
  [[gnu::cold]] std::vector<std::pair<std::string, Tensor>> states() const;
  // The same for saving: values no later tick reads are reset to their initial value, whatever runs, including failed
  // ones, left there.
  [[gnu::cold]] std::vector<std::pair<std::string, Tensor>> saved() const;

 private:
  // as_before: result of is_as_before(); such a run allocates nothing.
  void run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel, bool as_before);
  bool is_as_before(std::span<const View> in, std::span<const View> out) const;

  friend class StreamBlock;
  // An input.
  struct Steps {
    int64_t advance = 0;  // bytes between steps; 0: no sequence
    int64_t bytes = 0;    // of a call's, dense
  };
  // An output.
  struct Given {
    int64_t bytes = 0;  // per call
    int64_t row = 0;    // bytes of one step
    int64_t next = 0;   // next of the call's steps
  };
  // Runs of one Executable on a call's views, for one tick each or for several.
  struct Pace {
    std::shared_ptr<Executable> executable;
    int64_t ticks = 1, steps = 0;                        // per run
    std::vector<View> in, out;                           // of a run
    std::vector<std::array<int64_t, max_rank>> strides;  // of `in`
    std::vector<bool> whole;                             // by output: whether a run's part is contiguous
    std::vector<Tensor> parts;                           // buffers for outputs that can't be written in place
    std::shared_ptr<Executable::Kept> frame;             // for these views
  };
  // What a stream needs to run by itself; most of those in a StreamBlock have none.
  struct Alone {
    Pace one;
    std::vector<Pace> together;
    std::vector<View> last_in, last_out;       // of the call from which a run's views were made; empty: none
    std::vector<Steps> in_steps;               // without the states
    std::vector<Given> given;                  // by output
    bool is_steady = false;                    // do calls of these shapes always give the same number of steps?
    int64_t number = 0;                        // of the next tick
    int64_t ran = 0, taken_before = 0;         // ticks of the last run, steps before it
    Bytes before;                              // states before a run of several ticks
    std::vector<std::vector<std::byte>> undo;  // by state: the part of a ring that a run overwrites
  };
  // Reference to memory that forks share; may be empty. The last holder may write it.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease &&) = default;
    Lease(const Lease &other) {
      if (!other.holders_) other.holders_ = std::make_shared<std::atomic<int64_t>>(1);
      holders_ = other.holders_;
      holders_->fetch_add(1, std::memory_order_relaxed);
    }
    Lease &operator=(Lease &&) = delete;
    ~Lease() { end(); }
    explicit operator bool() const { return holders_ != nullptr; }
    // Acquires the others' reads of the memory.
    bool is_last() const { return holders_->load(std::memory_order_acquire) == 1; }
    void end() {
      if (holders_) holders_->fetch_sub(1, std::memory_order_release);
      holders_ = nullptr;
    }

   private:
    mutable std::shared_ptr<std::atomic<int64_t>> holders_;
  };
  // Progress of a run: waiting steps, and input steps taken.
  struct Place {
    int64_t wait, at;
  };
  // A state and its location: in a half of the memory, or for a ring among the rings.
  struct Kept {
    DType dtype;
    Shape shape;
    int64_t at = 0, bytes = 0;
    int64_t outer = 0, row = 0;  // of a ring, in bytes
    int batch_axis = 0;          // -1: shared by all rows
  };
  // Data of a call kept besides the states, and its value before the run.
  struct Held {
    Tensor now, before;

    Held() = default;
    Held(Held &&) = default;
    Held(const Held &other) {
      if (!other.now.data) return;
      now = clone(other.now);
      before = make_zeros(now.dtype, now.shape);
    }
  };
  // A copy is empty.
  struct Own : std::unique_ptr<Alone> {
    Own() = default;
    Own(Own &&) = default;
    Own(const Own &) : unique_ptr() {}
    using unique_ptr::operator=;
  };
  int64_t comes(size_t output, int64_t n) const {  // output steps produced by n more input steps
    return tick_->given(output, taken_ + n) - tick_->given(output, taken_);
  }
  std::byte *now(size_t state) const { return (tick_->states[state].is_ring ? rings_ : now_) + kept_[state].at; }
  [[gnu::cold]] Stream(const Stream &) = default;
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
  // Calls f(pace) for each.
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
  // Whether so many ticks overwrite positions of the ring that the first of them reads.
  bool writes_over(const plan::Tick::State &ring, int64_t ticks) const noexcept {
    return ticks > ring.free / std::max<int64_t>(1, ring.rows);
  }
  void keep(int64_t ticks);
  void put_back();
  void need_rows_apart() const;
  // Streams with equal phases may run as rows of one batch. A phase is a number of steps.
  int64_t phase() const;
  int64_t first_place(size_t state, int64_t steps) const noexcept;  // of a ring: written by the tick after those
  template <class F>
  void each_row(size_t state, int64_t ticks, F f) noexcept;

  // Data that StreamBlock accesses, adjacent. All states are in one block: the current ones, the next ones, and the
  // rings, which are updated in place.
  std::byte *now_ = nullptr, *next_ = nullptr, *rings_ = nullptr;
  int64_t taken_ = 0;  // steps since the beginning
  int64_t half_ = 0, batch_;
  int64_t turns_ = 0;                 // steps in StreamBlock's next turn
  std::byte *spare_rings_ = nullptr;  // rings after the turn; allocated on first use
  bool turns_rings_ = false;
  Lease lease_;  // of memory_ and spare_

  Bytes memory_, spare_;
  int64_t rings_bytes_ = 0;
  Ticks ticks_;
  const plan::Tick *tick_;
  size_t inputs_ = 0;
  int64_t last_begin_ = 0;
  int64_t steady_ = 0;  // first tick without starting states and late steps
  std::vector<Kept> kept_;
  // If a tick has several steps: by input the steps of an incomplete one, and outputs that are no sequences.
  std::vector<Held> waiting_, last_;
  Own alone_;
};

}  // namespace dl4::runtime
