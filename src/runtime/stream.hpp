// An Executable that takes sequences a few steps at a time, and the state it carries from one tick to the next.
#pragma once

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/ticks/tick.hpp"
#include "runtime/executable.hpp"

namespace dl4::runtime {

// What runs is a tick: so many steps of each sequence. Inputs or outputs that are no sequences are the same in all
// ticks, or those of the last one. Steps that make no whole tick wait for the next call. One thread at a time.
class Stream {
 public:
  // The Executable's Program is the tick's.
  Stream(std::shared_ptr<Executable> executable, std::shared_ptr<const plan::Tick> tick, int64_t batch);

  Stream(Stream &&) = default;
  Stream &operator=(Stream &&) = delete;
  ~Stream();

  // A second one that goes on from here, with states of its own.
  Stream fork() const;

  void reset();
  void reset(int64_t row);  // refused where rows may not be at different ticks
  size_t inputs() const { return in_steps_.size(); }
  size_t outputs_count() const { return tick_->outputs.size(); }
  // Refuses a wrong number of inputs, wrong dtypes, shapes, batch, and sequences of different lengths.
  void check(std::span<const View> in) const { check(in, batch_); }
  void check(std::span<const View> in, int64_t batch) const;
  // Dtypes and shapes of all outputs for these inputs.
  std::vector<ops::Operand> outputs(std::span<const View> in, const std::atomic<int32_t> *cancel = nullptr);
  void need_room(int64_t bytes) const { executable_->need_room(bytes); }
  // All steps of the inputs, inside of a FlushToZero. After an error the states are as before the call. Allocates
  // nothing after the first call with these shapes.
  void run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel = nullptr);

  // The states are again as before the last run, which did not fail.
  void undo() { put_back(); }

  // Of streams of one Executable that run as the rows of one, where rows may be at different ticks: the states of
  // `from`, of batch 1, become those of a row; those of a row wait in `to` until it takes its turn.
  void take_row(int64_t row, const Stream &from);
  void give_row(int64_t row, Stream &to) const;
  void turn();
  // Of many streams most lie in no cache: reads what those functions need ahead, each depth what the one before finds.
  static constexpr int depths = 3;
  void read_ahead(int depth) const noexcept;

  int64_t batch() const { return batch_; }

  // What goes on from call to call by name: the values may be written.
  std::vector<std::pair<std::string, Tensor>> states() const;

 private:
  friend class StreamBlock;
  // Of an input.
  struct Steps {
    bool is_sequence = false;
    int64_t advance = 0;  // from one step to the next, in bytes; 0 where there is nothing to move
    int64_t bytes = 0;    // of a call's, dense
  };
  // Of an output.
  struct Given {
    int64_t bytes = 0;     // of a call's
    int64_t row = 0;       // of a step of it, in bytes
    int64_t next = 0;      // of the call's steps
    bool is_whole = true;  // does a tick's part lie together?
  };
  // A state: of this tick, of the next, of before the run. A ring is changed where it lies, and has what a run is about
  // to write over.
  struct Kept {
    Tensor now, next, before;
    std::vector<std::byte> undo;
    Tensor spare;                // of a ring, what it becomes by its turn
    int64_t outer = 0, row = 0;  // of a ring, in bytes
    int batch_axis = 0;
  };
  // What is kept of a call beside the states, and what it was before the run.
  struct Held {
    Tensor now, before;
  };
  int64_t comes(size_t output, int64_t n) const {  // steps of an output that n more steps of the inputs give
    return tick_->given(output, taken() + n) - tick_->given(output, taken());
  }
  int64_t &taken() { return *taken_.as<int64_t>(); }  // steps, since the beginning
  int64_t taken() const { return *taken_.as<int64_t>(); }
  int64_t steps(std::span<const View> in) const;
  bool waits() const { return tick_->steps > 1; }
  bool is_as_before(std::span<const View> in, std::span<const View> out) const;
  void need_steps(std::span<const View> out, int64_t steps) const;
  void bind(std::span<const View> in);
  void bind_outputs(std::span<const View> out);
  void run_ticks(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel);
  void take(std::span<const View> in, int64_t from, int64_t to, int64_t steps) noexcept;
  void begin_states();
  void aim_states(Frame &frame) noexcept;
  void aim(std::span<const View> out, Frame &frame) noexcept;
  void collect(std::span<const View> out, const Frame &frame) noexcept;
  void finish_outputs(std::span<const View> out, int64_t ticks);
  void refuse_overlap(std::span<const View> in, std::span<const View> out) const;
  bool overlaps(std::span<const View> in, std::span<const View> out) const noexcept;
  void keep(int64_t ticks);
  void put_back();
  void need_rows_apart() const;
  int64_t first_place(size_t state, int64_t steps) const noexcept;  // of a ring, that the tick behind those writes
  template <class F>
  void each_row(size_t state, int64_t ticks, F f) noexcept;

  std::shared_ptr<Executable> executable_;
  std::shared_ptr<const plan::Tick> tick_;
  int64_t batch_, last_begin_ = 0;
  Tensor taken_;
  int64_t number_ = 0;                  // of the tick
  int64_t ran_ = 0, taken_before_ = 0;  // ticks of the last run, steps before it
  int64_t turns_ = 0;                   // steps that the next turn takes
  std::vector<Kept> kept_;
  std::vector<View> in_, out_;                             // of a tick
  std::vector<View> last_in_, last_out_;                   // of the call that these are made from; none: of no call
  std::shared_ptr<Executable::Kept> kept_frame_;           // for them
  std::vector<Steps> in_steps_;                            // without the states
  std::vector<std::array<int64_t, max_rank>> in_strides_;  // of a tick's part
  std::vector<Held> waiting_;                              // by input: steps of a tick that is not whole
  std::vector<Tensor> parts_;                              // a tick's steps of outputs that do not go where they belong
  std::vector<Held> last_;                                 // outputs that are no sequences, where a call may be no tick
  std::vector<Given> given_;                               // by output
  bool is_steady_ = false;                                 // do calls of these shapes give as many steps each time?
};

}  // namespace dl4::runtime
