// ONNX's activations, and other functions of one value that have parameters.
#include <cmath>
#include <limits>

#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

void hard_sigmoid(const Op &op) {
  each(
      op,
      [&](Node x) {
        const Node y = by_number(op, "BroadcastMultiply", x, op.real("alpha", static_cast<double>(0.2f)));
        return op.layer("Clip", {{"x_min", 0}, {"x_max", 1}}, {by_number(op, "BroadcastAdd", y, op.real("beta", 0.5))});
      },
      true);
}
void selu(const Op &op) {
  const double alpha = op.real("alpha", 1.6732632423543772), gamma = op.real("gamma", 1.0507009873554805);
  if (std::abs(alpha - 1.6732632) < 1e-6 && std::abs(gamma - 1.050701) < 1e-6) return activate(op, "selu");
  each(op, [&](Node x) { return by_number(op, "BroadcastMultiply", op.layer("ELU", {{"alpha", alpha}}, {x}), gamma); });
}
void shrink(const Op &op) {
  const double lambda = op.real("lambd", 0.5), bias = op.real("bias", 0);
  floats_only(op, {0});
  if (bias == 0 && lambda >= 0) return activate(op, "hard_shrink", {{"threshold", lambda}});
  each(op, [&](Node x) {
    const Node above = by_number(op, "Greater", x, lambda), below = by_number(op, "Less", x, -lambda);
    const Node low = op.layer("Where", {{"x2", 0}}, {below, by_number(op, "BroadcastAdd", x, bias)});
    return op.layer("Where", {}, {above, by_number(op, "BroadcastSubtract", x, bias), low});
  });
}
void swish(const Op &op) {
  const double alpha = op.real("alpha", 1);
  if (alpha == 1) return activate(op, "silu");
  each(op, [&](Node x) {
    const Node gate = op.layer("Activation", activation("sigmoid"), {by_number(op, "BroadcastMultiply", x, alpha)});
    return times(op, x, gate);
  });
}
void gelu(const Op &op) { activate(op, "gelu", {{"approximate", op.string("approximate", "none") == "tanh"}}); }
void is_inf(const Op &op) {
  const int64_t down = op.integer("detect_negative", 1), up = op.integer("detect_positive", 1);
  constexpr double most = std::numeric_limits<float>::max();
  each(op, [&](Node x) {
    if (!down && !up) return op.layer("Less", {}, {x, x});
    if (down && up) return by_number(op, "Greater", op.layer("Absolute", {}, {x}), most);
    return up ? by_number(op, "Greater", x, most) : by_number(op, "Less", x, -most);
  });
}

}  // namespace

std::span<const Row> activation_rows() {
  static constexpr Row rows[] = {
      {"Relu", [](const Op &op) { unary(op, "ReLU", Json::object(), true); }},
      {"LeakyRelu",
       [](const Op &op) {
         unary(op, "LeakyReLU", {{"negative_slope", op.real("alpha", static_cast<double>(0.01f))}});
       }},
      {"Elu",
       [](const Op &op) {
         unary(op, "ELU", {{"alpha", op.real("alpha", 1)}});
       }},
      {"Celu",
       [](const Op &op) {
         activate(op, "celu", {{"alpha", op.real("alpha", 1)}});
       }},
      {"ThresholdedRelu",
       [](const Op &op) {
         activate(op, "threshold", {{"threshold", op.real("alpha", 1)}, {"default_value", 0}});
       }},
      {"HardSigmoid", hard_sigmoid},
      {"Selu", selu},
      {"Shrink", shrink},
      {"Swish", swish},
      {"Gelu", gelu},
      {"IsInf", is_inf},
  };
  return rows;
}

}  // namespace dl4::io::onnx
