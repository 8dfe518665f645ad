// Windows over images, shared by convolutions and pooling. ONNX is channels-first and the layers are channels-last, so
// values stay channels-last.
#pragma once

#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {

inline std::string of_rank(const char *kind, size_t n, const char *more = "") { return text(kind, n, "D", more); }
inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Geometry of a sliding window.
struct Window {
  Ints size, strides, dilations;
  Margins pads;
  bool same = false;  // padding is "same"
  bool ceil = false;

  size_t axes() const { return size.size(); }
  int64_t reach(size_t i) const { return (size[i] - 1) * dilations[i] + 1; }
  bool padded() const {
    return std::any_of(pads.begin(), pads.end(), [](const auto &p) { return p[0] != 0 || p[1] != 0; });
  }
};

// Total padding of TensorFlow's "same"; none: depends on a free size.
std::optional<int64_t> same_total(const Window &w, size_t i, const Dim &n);
// From the node's attributes, for that window size over a value of these dims.
Window window(const Op &op, Ints size, const std::vector<Dim> &dims);
// x, channels-last, with zero padding.
Node padded(const Op &op, Node x, const Margins &pads);

// Checks a kernel (M, C / groups, ...) against the node's first input.
void need_kernel(const Op &op, const Tensor &w);
// The convolution of x, channels-last.
Node convolved(const Op &op, Node x, const Tensor &kernel, const Window &how, const std::optional<Tensor> &bias);
// The same without Winograd's kernels, whose rounding of halves differs: 3 x 3 windows are computed row by row. If the
// result is quantized next, an error near a half would become a whole step.
Node convolved_by_row(const Op &op, Node x, const Tensor &kernel, const Window &how, const std::optional<Tensor> &bias);

}  // namespace dl4::io::onnx
