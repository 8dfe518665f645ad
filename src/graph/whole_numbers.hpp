// Quantization of kernels and tables as by Keras's quantize(), and dequantization.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/tensor.hpp"
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

}  // namespace dl4::graph
