// Datasets in use.
#pragma once

#include "border.hpp"

namespace dl4::capi {

// While it lives, the dataset's batch callback is asked for this many tensors; afterwards what it gave is let go.
class Batches {
 public:
  Batches(dl4_dataset &d, size_t nx, size_t ny, bool labels) : data_(&d) {
    d.nx = nx;
    d.ny = ny;
    d.labels = labels;
  }
  ~Batches() { data_->held.clear(); }
  Batches(const Batches &) = delete;
  Batches &operator=(const Batches &) = delete;

 private:
  Ref<dl4_dataset> data_;
};

}  // namespace dl4::capi
