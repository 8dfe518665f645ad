// Execution of batches.
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

}  // namespace dl4::train
