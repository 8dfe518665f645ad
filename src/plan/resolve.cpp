// Assigns values to free dims.
#include "plan/plan.hpp"

namespace dl4::plan {

using namespace ops;

Program resolve(const Program &program, std::span<const Shape> inputs) {
  Program p = program;
  if (inputs.size() != p.inputs.size())
    fail(Code::invalid_argument, "expected ", p.inputs.size(), " inputs, got ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value &v = p[p.inputs[i]];
    if (!compatible(v.shape, inputs[i]) || !inputs[i].known())
      fail(Code::shape_mismatch, "input \"", v.name, "\": expected shape ", v.shape, ", got ", inputs[i]);
    v.shape = inputs[i];
  }
  for (Step &step : p.steps) {
    try {
      auto dst = step.op->infer(operands(p, step.src));
      for (size_t i = 0; i < dst.size(); ++i) p[step.dst[i]].shape = dst[i].shape;
    } catch (Error &error) {
      ops::blame(error, step.scope);
      throw;
    }
  }
  return p;
}

}  // namespace dl4::plan
