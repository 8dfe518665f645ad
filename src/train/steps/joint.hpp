// Steps on parts of batches: the gradients of each part are computed alone and added up, and one update is made by the
// sum. The parts of a batch are those of several workers, or shards that one worker computes one behind the other.
#pragma once

#include <array>
#include <optional>

#include "train/steps/exchange.hpp"
#include "train/steps/steps.hpp"
#include "train/steps/workers.hpp"

namespace dl4::train {

// Where this worker's part of a batch stands.
Workers::Word word_at(const Training &t, Workers::Place place, const Batch *b = nullptr);

class Joint final : public Steps {
 public:
  Joint(Training &t, Workers &workers);
  const Sums &run(Task task, const Batch &b, const std::atomic<int32_t> *cancel) override;

 private:
  // Of n numbers for each part, with one more, within the memory limit.
  void make_room(int64_t n);
  // Of the batch under way, of which this worker has so many rows: how it is cut, or, before the workers met, as if
  // they were all.
  void cut(int64_t rows, bool met);
  // Parts that this worker computes, and the rows of one in its own.
  int64_t count() const { return workers_.shards() / std::min(workers_.shards(), workers_.size()); }
  std::pair<int64_t, int64_t> rows(int64_t part) const;
  int64_t losses() const { return static_cast<int64_t>(divisors_.size()) - 1; }
  // What was added up last.
  float *sum() const { return tree_[0].as<float>(); }
  // Adds up what fill(part, to) gives for each of this worker's parts, n numbers, as a tree.
  template <class F>
  void add_up(int64_t n, F fill);

  // What the losses are divided by, over all workers, which meet here. False where one of them stops the fit.
  bool divide(runtime::Executable &e, Task task, const Batch &b, const std::atomic<int32_t> *cancel);
  // What `e` gives for this worker's parts.
  void compute(runtime::Executable &e, const Batch &b, int64_t n, const std::atomic<int32_t> *cancel);
  // The same over all workers; prepare() is what else may fail before they exchange anything.
  template <class F>
  void reduce(runtime::Executable &e, const Batch &b, int64_t n, const std::atomic<int32_t> *cancel, F prepare);

  Workers &workers_;
  const std::shared_ptr<Exchange> exchange_;
  Parts parts_;
  std::vector<Tensor> tree_;                  // sums of parts
  std::array<int64_t, 3> draws_{};            // of the part under way: the number of the draw, its first row, its rows
  std::vector<float> divisors_;               // of the losses, then the share of the part under way
  float each_ = 1;                            // 1 / the number of parts that have rows
  int64_t total_ = 0, mine_ = 0, first_ = 0;  // rows of the batch, of this worker, before its own
  std::optional<runtime::Executable::Ready> update_;
};

}  // namespace dl4::train
