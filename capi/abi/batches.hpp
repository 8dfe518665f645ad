// Datasets and cancel flags in use: kept alive, for a callback may release them.
#pragma once

#include "border.hpp"

namespace dl4::capi {

// While it lives, the dataset is its user's alone, and the batch callback is asked for this many tensors; afterwards
// what it gave is let go.
class Batches {
 public:
  Batches(dl4_dataset &d, size_t nx, size_t ny, bool labels) : data_(&d), alone_(d.gate, "dataset") {
    d.nx = nx;
    d.ny = ny;
    d.labels = labels;
  }
  ~Batches() { data_->held.clear(); }
  Batches(const Batches &) = delete;
  Batches &operator=(const Batches &) = delete;

 private:
  Ref<dl4_dataset> data_;  // first: the gate is the dataset's
  Gate::Alone alone_;
};

inline const std::atomic<int32_t> *flag(const Ref<dl4_cancel> &cancel) { return cancel ? &cancel->triggered : nullptr; }

}  // namespace dl4::capi
