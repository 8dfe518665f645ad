// Kernels and tables as whole numbers of fewer bits, as Keras's quantize() makes them, and back.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/tensor.hpp"
#include "kinds/layers/core/quantization.hpp"

namespace dl4::graph {

// Axes of a kernel: those that are summed over, and the others in the order of y.
struct KernelAxes {
  std::vector<int> summed, others;
};
KernelAxes first_axes(int summed, int rank);
KernelAxes axes_of(const std::string &equation);  // of EinsumDense

// The weights that a kernel or a table is kept in, by their names in the layer.
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
  // A table (rows of numbers): each row has its scales.
  void table(const Tensor &t, WholeWeights &made) const;
  // The way back of a ReversibleEmbedding (size, ids): packed along its first axis, zero points as floats.
  void back(const Tensor &t, WholeWeights &made) const;

  // The floats that the weights of a kernel or a table of that shape stand for.
  Tensor kernel_floats(const Shape &shape, const KernelAxes &axes, const FindWeight &weight) const;
  Tensor table_floats(const Shape &shape, const FindWeight &weight) const;

 private:
  kinds::Quantization q_;
  Range range_;
};

}  // namespace dl4::graph
