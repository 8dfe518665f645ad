// If and Loop that decide while the model runs.
#pragma once

#include "io/onnx/read/flow.hpp"

namespace dl4::io::onnx {

struct LoopParts {
  const File &body;
  Values states = {};
  std::optional<Dim> trips = {};  // none: there is no such number, or the model computes it
  std::optional<bool> on = {};    // the condition before the first step; none: the model computes it

  size_t stacked() const { return body.outputs.size() - 1 - states.size(); }
};

void branch(const Op &op, const File &then, const File &otherwise);
void run_loop(const Op &op, const LoopParts &p);

}  // namespace dl4::io::onnx
