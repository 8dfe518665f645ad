// Many streams of one Executable that take their next steps together, as rows of a batch.
#pragma once

#include "runtime/stream.hpp"

namespace dl4::runtime {

// What a run of many is asked for. Row i of the inputs and outputs is that of streams[i].
struct Many {
  std::span<Stream *const> streams;  // of batch 1
  std::span<const int64_t> steps;    // of each; none: all of them take every step
};

// One thread at a time. The batch is always the same, so that a stream's bits do not depend on how many others run.
class StreamBlock {
 public:
  explicit StreamBlock(const Ticks &ticks) : block_(ticks, rows) {}

  void check(const Many &many, std::span<const View> in) const;
  std::vector<ops::Operand> outputs(const Many &many, std::span<const View> in, const std::atomic<int32_t> *cancel);
  void need_room(int64_t bytes) const { block_.need_room(bytes); }
  // Inside of a FlushToZero. After an error all streams are where they were.
  void run(const Many &many, std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel);

 private:
  static constexpr int64_t rows = 32;
  struct Run;
  // f(row, where a part of the state lies in the block, at what place in a stream, bytes) for rows [first, last).
  template <class F>
  void each_part(const Run &run, size_t state, size_t first, size_t last, F f);
  template <class F>
  void each_held(const Run &run, std::span<const size_t> ids, F f);
  void take_states(const Run &run, std::span<const size_t> ids);
  bool all_steps_of(const Run &run, std::span<const size_t> ids) const;
  void give_states(const Run &run, std::span<const size_t> ids, size_t first);
  void gather(const Run &run, std::span<const size_t> ids);
  void run_as_they_lie(const Run &run, std::span<const size_t> ids, const std::atomic<int32_t> *cancel);
  void run_rows(const Run &run, std::span<const size_t> ids, const std::atomic<int32_t> *cancel);
  void scatter(const Run &run, std::span<const size_t> ids, int64_t begin, int64_t end);

  Stream block_;
  int64_t begin_ = 0;             // steps that the block has taken before a run
  std::vector<Tensor> in_, out_;  // of the block
  std::vector<View> in_views_, out_views_;
  std::vector<size_t> order_;
};

}  // namespace dl4::runtime
