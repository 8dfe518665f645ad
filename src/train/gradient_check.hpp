// Compares a model's gradients with finite differences.
#pragma once

#include <span>

#include "base/json.hpp"
#include "graph/model.hpp"
#include "kinds/field.hpp"
#include "runtime/executable.hpp"

namespace dl4::train {

struct GradientCheck {
  int64_t samples = 20, seed = 0;
  double step = 5e-3;
  bool training = false;
  void fields(kinds::Fields &f) {
    f("samples", samples).at_least(1).doc("elements of each input and weight that are moved");
    f("step", step).at_least(1e-6).at_most(1).doc("how far an element is moved, times its size where that is over 1");
    f("training", training).doc("run as a training step does; what is dropped is the same each time");
    f("seed", seed).doc("of the cotangents and of the elements that are moved");
  }
};

// The differences by name of each float32 input and weight, at the dense inputs `in`.
Json check_gradients(const graph::Model &model, std::span<const Tensor> in, const GradientCheck &how,
                     const runtime::Options &run);

}  // namespace dl4::train
