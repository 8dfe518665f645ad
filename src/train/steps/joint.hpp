// Execution of batches.
// Steps on parts of batches: each part's gradients are computed separately and summed, followed by one update. Parts
// belong to several workers, or are shards that one worker computes in sequence.
#pragma once

#include "train/training.hpp"

namespace dl4::train {

// Local runs whole batches, Joint runs parts, possibly shared by workers.
class Steps {
 public:
  explicit Steps(Training &t) : t_(t) {}
  virtual ~Steps() = default;
  // Returns the batch's measures, valid until the next call, or nothing if another worker stops the fit. After an error
  // nothing has changed. Fails with CANCELLED when *cancel becomes non-zero before a state is written. Allocates
  // nothing after the first batch like `b`.
  virtual const Sums &run(Task task, const Batch &b, const std::atomic<int32_t> *cancel) = 0;

 protected:
  // Outputs are stored consecutively.
  void bind_outputs(const ops::Program &p, float *to) {
    out_.clear();
    for (ops::Id output : p.outputs) {
      out_.push_back({DType::f32, p[output].shape, to});
      to += p[output].shape.elements();
    }
  }

  Training &t_;
  std::vector<runtime::View> in_, out_;  // of the current run
  Sums sums_;
};

// This worker's message when it meets the others.
Workers::Word word_at(const Training &t, Workers::Place place, const Batch *b = nullptr);

class Joint final : public Steps {
 public:
  Joint(Training &t, Workers &workers);
  const Sums &run(Task task, const Batch &b, const std::atomic<int32_t> *cancel) override;

 private:
  // Room for sums of n numbers and one more; refuses what exceeds the memory limit.
  void make_room(int64_t n);
  // Cuts the current batch, of which this worker has so many rows. Before the workers have met, assumes it has all.
  void cut(int64_t rows, bool met);
  // Number of parts this worker computes, and the first and last row of a part within its rows.
  int64_t count() const { return workers_.shards() / std::min(workers_.shards(), workers_.size()); }
  std::pair<int64_t, int64_t> rows(int64_t part) const;
  int64_t losses() const { return static_cast<int64_t>(divisors_.size()) - 1; }
  // The result of add_up().
  float *sum() const { return tree_[0].as<float>(); }
  // Sums over this worker's parts, as a tree, the n numbers that fill(part, to) writes.
  template <class F>
  void add_up(int64_t n, F fill);

  // Computes the losses' divisors over all workers, which meet here. False if one of them stops the fit.
  bool divide(runtime::Executable &e, Task task, const Batch &b, const std::atomic<int32_t> *cancel);
  // Sums the outputs of `e` over this worker's parts.
  void compute(runtime::Executable &e, const Batch &b, int64_t n, const std::atomic<int32_t> *cancel);
  // The same over all workers. prepare() is called before they exchange the sums; it may fail.
  template <class F>
  void reduce(runtime::Executable &e, const Batch &b, int64_t n, const std::atomic<int32_t> *cancel, F prepare);

  Workers &workers_;
  const std::shared_ptr<Exchange> exchange_;
  Parts parts_;
  std::vector<Tensor> tree_;                  // sums of parts
  std::array<int64_t, 3> draws_{};            // of the current part: number of the draw, first row, rows
  std::vector<float> divisors_;               // of the losses, followed by the current part's share
  float each_ = 1;                            // 1 / number of parts with rows
  int64_t total_ = 0, mine_ = 0, first_ = 0;  // rows of the batch, of this worker, before its own
  std::optional<runtime::Executable::Ready> update_;
};

}  // namespace dl4::train
