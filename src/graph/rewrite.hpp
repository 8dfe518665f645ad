// Models with other weights: quantized as by Keras's quantize(), or without LoRA.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "graph/model.hpp"
#include "kinds/field.hpp"

namespace dl4::graph {

struct Quantize {
  Json mode;                                       // as a layer's attribute "quantization"
  std::optional<std::vector<std::string>> layers;  // none: all that can be quantized
  std::optional<std::vector<double>> value_range;
  double epsilon = 1e-7;

  void fields(kinds::Fields &f) {
    f("mode", mode, "as the attribute \"quantization\" of a layer: \"int8\" or \"int4/block\"").required(R"("int8")");
    f("layers", layers, "the names of those that are meant; null: all that can be quantized");
    f("value_range", value_range,
      "of the weights in int8 and, without blocks, in int4: by default -127 and 127, -8 and 7");
    f("epsilon", epsilon, "added to the largest weight that a scale is made of").at_least(1e-30);
  }
};

// Other weights keep the values of `m`. Includes layers inside models. Refuses, naming the layer, unknown layers,
// layers that can't be quantized or already are, and modes that need data.
std::shared_ptr<Model> quantized(const Model &m, const Quantize &how);

// The same model without LoRA: the products are added to kernels and tables, which become trainable again. Quantized
// ones are quantized again, as Keras does when saving.
std::shared_ptr<Model> without_lora(const Model &m);

}  // namespace dl4::graph
