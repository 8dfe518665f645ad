// Experimental ops of ONNX, written by converters from CoreML before opset 7; ONNX Runtime still supports them.
#include "base/error.hpp"
#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

// An image times a number, plus a number per channel.
void image_scaler(const Op &op) {
  Value &v = op.in(0);
  if (v.rank() != 4) fail(Code::corrupt_file, "expects an image of four axes, got ", v.rank());
  const Perm perm = channels_last(4);
  Node y = by_number(op, "BroadcastMultiply", op.as(v, perm), op.real("scale"));
  if (const Attribute *bias = op.node.find("bias")) {
    const int64_t n = known(op, v.dims[1], "channels");
    if (static_cast<int64_t>(bias->floats.size()) != n)
      fail(Code::corrupt_file, "has \"bias\" of ", bias->floats.size(), " numbers for ", n, " channels");
    y = plus(op, y, op.constant_node(tensor_of(bias->floats, {n})));
  }
  op.give(0, y, v.dims, perm);
}

// alpha * f(beta * x)
void scaled(const Op &op, const char *function) {
  each(op, [&](Node x) {
    const Node inside = by_number(op, "BroadcastMultiply", x, op.real("beta"));
    return by_number(op, "BroadcastMultiply", op.layer("Activation", activation(function), {inside}), op.real("alpha"));
  });
}

void affine(const Op &op) {
  each(op, [&](Node x) {
    return by_number(op, "BroadcastAdd", by_number(op, "BroadcastMultiply", x, op.real("alpha")), op.real("beta"));
  });
}

// "border": left, top, right, bottom; "scale": height and width instead of right and bottom.
void crop(const Op &op) {
  Value &v = op.in(0);
  const Ints border = op.integers("border").value_or(Ints{}), size = op.integers("scale").value_or(Ints{});
  if (v.rank() != 4 || border.size() != 4 || (!size.empty() && size.size() != 2))
    fail(Code::corrupt_file, "expects an image of four axes, a \"border\" of four numbers and a \"scale\" of two");
  const Perm perm = channels_last(4);
  Node x = op.as(v, perm);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t n = known(op, v.dims[i + 2], "an axis"), from = border[1 - i], rest = border[3 - i];
    const int64_t left = size.empty() ? n - from - rest : size[i];
    if (from < 0 || rest < 0 || left < 1 || from > n || left > n - from)
      fail(Code::corrupt_file, "cuts ", left, " places from place ", from, " on out of ", n);
    x = op.cut(x, static_cast<int>(i) + 1, from, left);
  }
  op.give(0, x, v.dims, perm);
}

}  // namespace

constexpr Row experimental_table[] = {
    {"ImageScaler", image_scaler, "input~ > output; bias:floats scale=1.0"},
    {"Affine", affine, "X~ > Y; alpha=1.0 beta=0.0"},
    {"ParametricSoftplus", [](const Op &op) { scaled(op, "softplus"); }, "X~ > Y; alpha:float! beta:float!"},
    {"ScaledTanh", [](const Op &op) { scaled(op, "tanh"); }, "input~ > output; alpha:float! beta:float!"},
    {"Crop", crop, "input~ > output; border:ints! scale:ints"},
};
const std::span<const Row> experimental_rows = experimental_table;

}  // namespace dl4::io::onnx
