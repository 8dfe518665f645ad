// Quantization of kernels and tables as by Keras's quantize(), and dequantization.
// Models with other weights: quantized as by Keras's quantize(), or without LoRA.
#pragma once

#include "graph/model.hpp"
#include "kinds/layers/core/quantization.hpp"

namespace dl4::graph {

// Axes of a kernel: the summed ones, and the others in the order of y.
struct KernelAxes {
  std::vector<int> summed, others;
};
KernelAxes first_axes(int summed, int rank);
KernelAxes axes_of(const std::string &equation);  // for EinsumDense

// The weights that store a quantized kernel or table, by their names in the layer.
using WholeWeights = std::map<std::string, Tensor>;
using FindWeight = std::function<Tensor(const std::string &)>;

class WholeNumbers {
 public:
  struct Range {
    float least, most, epsilon = 1e-7f;
  };
  explicit WholeNumbers(const kinds::Quantization &q) : WholeNumbers(q, default_range(q)) {}
  WholeNumbers(const kinds::Quantization &q, const Range &range) : q_(q), range_(range) {}
  static Range default_range(const kinds::Quantization &q);

  void kernel(const Tensor &t, const KernelAxes &axes, WholeWeights &made) const;
  // A table: scales by row.
  void table(const Tensor &t, WholeWeights &made) const;
  // The reverse projection of a ReversibleEmbedding, (size, ids): packed along its first axis, with float zero points.
  void back(const Tensor &t, WholeWeights &made) const;

  // Dequantizes the weights of a kernel or table of that shape.
  Tensor kernel_floats(const Shape &shape, const KernelAxes &axes, const FindWeight &weight) const;
  Tensor table_floats(const Shape &shape, const FindWeight &weight) const;

 private:
  kinds::Quantization q_;
  Range range_;
};

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
