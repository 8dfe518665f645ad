// Runs the next steps of many streams of one Executable as rows of a batch.
#pragma once

#include "runtime/stream.hpp"

namespace dl4::runtime {

// The arguments of such a run. Row i of inputs and outputs belongs to streams[i].
struct Many {
  std::span<Stream *const> streams;  // of batch 1
  std::span<const int64_t> steps;    // of each; empty: all steps for all
};

// One thread at a time. The batch size is constant, so a stream's bits don't depend on how many others run.
class StreamBlock {
 public:
  explicit StreamBlock(const Ticks &ticks) : block_(ticks, rows) {}

  void check(const Many &many, std::span<const View> in) const;
  std::vector<ops::Operand> outputs(const Many &many, std::span<const View> in, const std::atomic<int32_t> *cancel);
  void need_room(int64_t bytes) const { block_.need_room(bytes); }
  // Inside a FlushToZero. After an error all streams are unchanged.
  void run(const Many &many, std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel);

 private:
  static constexpr int64_t rows = 32;
  struct Run;
  // Calls f(row, address of a part of the state in the block, offset in a stream, bytes) for rows [first, last).
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
  int64_t begin_ = 0;             // steps the block has taken before a run
  std::vector<Tensor> in_, out_;  // of the block
  std::vector<View> in_views_, out_views_;
  std::vector<size_t> order_;
};

}  // namespace dl4::runtime
