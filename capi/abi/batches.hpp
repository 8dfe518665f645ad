// Datasets and cancel flags in use, kept alive because a callback may release them.
#pragma once

#include "border.hpp"

namespace dl4::capi {

// Exclusive use of a dataset within a scope. Its batch callback fills this many tensors, which are released at the end.
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
  Ref<dl4_dataset> data_;  // first: takes the dataset's gate
  Gate::Alone alone_;
};

inline const std::atomic<int32_t> *flag(const Ref<dl4_cancel> &cancel) { return cancel ? &cancel->triggered : nullptr; }

}  // namespace dl4::capi
