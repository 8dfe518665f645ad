// An Executable that is run step by step along a sequence, and the state it carries from one step to the next.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "runtime/executable.hpp"

namespace dl4::runtime {

// The Executable's Program has states behind its inputs and, in the same order, what becomes of them behind its
// outputs. An input or output before these whose second axis is free is a sequence: each step sees its part; any other
// is the same at all steps, or is that of the last one. One thread at a time.
class Stream {
 public:
  Stream(std::shared_ptr<Executable> executable, size_t states, int64_t batch);

  // A second one that goes on from here, with states of its own.
  Stream fork() const;

  void reset();  // to zeros
  void reset(int64_t row);
  size_t inputs() const { return executable_->program().inputs.size() - now_.size(); }
  size_t outputs_count() const { return executable_->program().outputs.size() - now_.size(); }
  // Refuses a wrong number of inputs, wrong dtypes, shapes, batch, and sequences of different lengths.
  void check(std::span<const View> in) const { check(in, batch_); }
  void check(std::span<const View> in, int64_t batch) const;
  // Dtypes and shapes of all outputs for these inputs.
  std::vector<ops::Operand> outputs(std::span<const View> in, const std::atomic<int32_t> *cancel = nullptr);
  void need_room(int64_t bytes) const { executable_->need_room(bytes); }
  // All steps of the inputs. After an error the states are as before the call. Allocates nothing after the first call
  // with these shapes.
  void run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel = nullptr);

  // The states are again as before the last run, which did not fail.
  void undo() { std::swap(now_, ran_many_ ? before_ : next_); }

  // Of streams of one Executable that run as the rows of one: the states of `from`, of batch 1, become those of a row;
  // those of a row wait in `to` until it takes its turn.
  void take_row(int64_t row, const Stream &from);
  void give_row(int64_t row, Stream &to) const;
  void turn() { std::swap(now_, next_); }

  int64_t batch() const { return batch_; }

  // By state, its name, and its value, which may be written.
  const std::string &name(size_t i) const;
  const std::vector<Tensor> &states() const { return now_; }

 private:
  friend class StreamBlock;
  // Of an input or output: from one step to the next, in bytes; 0 where there is nothing to move.
  struct Steps {
    bool is_sequence = false;
    int64_t advance = 0;
  };
  int64_t steps(std::span<const View> in) const;
  void bind(std::span<const View> in);
  void bind_outputs(std::span<const View> out, int64_t steps);
  void advance();
  void write_back(std::span<const View> out, int64_t step);
  void refuse_overlap(std::span<const View> in, std::span<const View> out) const;

  std::shared_ptr<Executable> executable_;
  int64_t batch_;
  std::vector<Tensor> now_, next_, before_;                // states: of this step, of the next, of before the run
  std::vector<View> in_, out_;                             // of one step
  std::vector<Steps> in_steps_, out_steps_;                // without the states
  std::vector<std::array<int64_t, max_rank>> in_strides_;  // of a step's part
  bool ran_many_ = false;                                  // steps, in the last run
  std::vector<Tensor> parts_;                              // steps of outputs whose batch does not lie together
};

}  // namespace dl4::runtime
