// Windows over images: what convolutions and pools share. Channels stand behind the batch in ONNX; ours have them last,
// so values stay in that order.
#pragma once

#include <algorithm>

#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {

inline std::string of_rank(const char *kind, size_t n, const char *more = "") { return text(kind, n, "D", more); }
inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How a window moves over the places of an image.
struct Window {
  Ints size, strides, dilations;
  Margins pads;
  bool same = false;  // the pads are those of "same"
  bool ceil = false;

  size_t axes() const { return size.size(); }
  int64_t reach(size_t i) const { return (size[i] - 1) * dilations[i] + 1; }
  bool padded() const {
    return std::any_of(pads.begin(), pads.end(), [](const auto &p) { return p[0] != 0 || p[1] != 0; });
  }
};

// The zeros around an axis that TensorFlow's "same" adds; none: they depend on a free size.
std::optional<int64_t> same_total(const Window &w, size_t i, const Dim &n);
// Of that size over a value of these axes, as the node's attributes say.
Window window(const Op &op, Ints size, const std::vector<Dim> &dims);
// x, its channels last, with zeros around.
Node padded(const Op &op, Node x, const Margins &pads);

// Checks a kernel (M, C / groups, ...) for the node's first input.
void need_kernel(const Op &op, const Tensor &w);
// The convolution of x, its channels last.
Node convolved(const Op &op, Node x, const Tensor &kernel, const Window &how, const std::optional<Tensor> &bias);
// The same by no kernel of Winograd's, which take halves: those are for 3 x 3 places, here they go row by row. Where
// numbers are rounded to whole ones behind it, an error at a half would be one of a whole step.
Node convolved_by_row(const Op &op, Node x, const Tensor &kernel, const Window &how, const std::optional<Tensor> &bias);

}  // namespace dl4::io::onnx
