// What needs no trainer: losses and metrics of two tensors, what layers learn from data before training, and the
// comparison of gradients with differences.
#pragma once

#include "graph/model.hpp"
#include "runtime/executable.hpp"
#include "train/data/dataset.hpp"

namespace dl4::train {

// category: "loss" or "metric"; kind may be a word of a trainer's metrics. given: y_true, y_pred and optionally sample
// weights.
Tensor measure(const std::string &category, const std::string &kind, const Json &config,
               std::span<const runtime::View> given, const graph::Settings &settings, const runtime::Options &how);

// The config of a layer of that kind with what it learned from all inputs of a pass.
Json adapt(const std::string &kind, const Json &config, Dataset &data, int64_t memory_limit,
           const std::atomic<int32_t> *cancel);

struct GradientCheck {
  int64_t samples = 20, seed = 0;
  double step = 5e-3;
  bool training = false;
  void fields(kinds::Fields &f) {
    f("samples", samples, "elements of each input and weight that are moved").at_least(1);
    f("step", step, "how far an element is moved, times its size where that is over 1").within(1e-6, 1);
    f("training", training, "run as a training step does; what is dropped is the same each time");
    f("seed", seed, "of the cotangents and of the elements that are moved");
  }
};

// The differences by name of each float32 input and weight, at the dense inputs `in`.
Json check_gradients(const graph::Model &model, std::span<const Tensor> in, const GradientCheck &how,
                     const runtime::Options &run);

}  // namespace dl4::train
