// What a function from outside the library looks like to an op.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bound.hpp"
#include "ops/op.hpp"

namespace dl4::ops {

// Computes values, and their gradients if it can, on the thread of the run.
class CustomFunction {
 public:
  virtual ~CustomFunction() = default;
  virtual const std::string &name() const = 0;
  // How many of the last sources are weights.
  virtual size_t weights() const = 0;
  // Shapes of the destinations, float32 all, then of the weights, for the other sources; dims may be free.
  virtual std::vector<Shape> infer(Operands src) const = 0;
  virtual bool has_backward() const = 0;
  // What a run keeps for calls with such arguments. Sources of another dtype than float32 get no gradient.
  virtual std::unique_ptr<Bound> bind_forward(Operands src, Operands dst) const = 0;
  virtual std::unique_ptr<Bound> bind_backward(Operands src, Operands dst) const = 0;
  // args: src, dst; one that no one reads is null. Returns 0 or the number of a failure.
  virtual int32_t forward(void *const *args, Bound &bound) const = 0;
  // args: src, dst, diff_dst, then a diff_src for each float32 src.
  virtual int32_t backward(void *const *args, Bound &bound) const = 0;
};

std::vector<Id> custom(Emit &e, std::shared_ptr<const CustomFunction> f, std::vector<Id> src);

}  // namespace dl4::ops
