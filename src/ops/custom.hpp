// Interface of host functions to ops.
#pragma once

#include "base/bound.hpp"
#include "ops/op.hpp"

namespace dl4::ops {

// Computes values, and gradients if it can, on the run's thread.
class CustomFunction {
 public:
  virtual ~CustomFunction() = default;
  virtual const std::string &name() const = 0;
  // Number of trailing sources that are weights.
  virtual size_t weights() const = 0;
  // Shapes of the destinations, all float32, followed by those of the weights, from the other sources; dims may be
  // free.
  virtual std::vector<Shape> infer(Operands src) const = 0;
  virtual bool has_backward() const = 0;
  // Per-run data for calls with such arguments. Only float32 sources get gradients.
  virtual std::unique_ptr<Bound> bind_forward(Operands src, Operands dst) const = 0;
  virtual std::unique_ptr<Bound> bind_backward(Operands src, Operands dst) const = 0;
  // args: src, dst; unread ones are null. Returns 0 or an error number.
  virtual int32_t forward(void *const *args, Bound &bound) const = 0;
  // args: src, dst, diff_dst, then a diff_src for each float32 src.
  virtual int32_t backward(void *const *args, Bound &bound) const = 0;
};

std::vector<Id> custom(Emit &e, std::shared_ptr<const CustomFunction> f, std::vector<Id> src);

}  // namespace dl4::ops
