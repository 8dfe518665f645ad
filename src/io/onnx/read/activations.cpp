// ONNX's activations, and other unary functions with parameters.
#include <cmath>

#include "io/onnx/read/math.hpp"
#include "kinds/layers/elementwise/functions.hpp"

namespace dl4::io::onnx {
namespace {

void hard_sigmoid(const Op &op) {
  each(
      op,
      [&](Node x) {
        const Node y = by_number(op, "BroadcastMultiply", x, op.real("alpha"));
        return op.layer("Clip", {{"x_min", 0}, {"x_max", 1}}, {by_number(op, "BroadcastAdd", y, op.real("beta"))});
      },
      true);
}
void of_alpha(const Op &op, const char *kind, const char *attribute) {
  unary(op, kind, {{attribute, op.real("alpha")}});
}
void selu(const Op &op) {
  const double alpha = op.real("alpha"), gamma = op.real("gamma");
  if (std::abs(alpha - 1.6732632) < 1e-6 && std::abs(gamma - 1.050701) < 1e-6) return activate(op, "selu");
  each(op, [&](Node x) { return by_number(op, "BroadcastMultiply", op.layer("ELU", {{"alpha", alpha}}, {x}), gamma); });
}
void shrink(const Op &op) {
  const double lambda = op.real("lambd"), bias = op.real("bias");
  if (bias == 0 && lambda >= 0) return activate(op, "hard_shrink", {{"threshold", lambda}});
  each(op, [&](Node x) {
    const Node above = by_number(op, "Greater", x, lambda), below = by_number(op, "Less", x, -lambda);
    const Node low = op.layer("Where", {{"x2", 0}}, {below, by_number(op, "BroadcastAdd", x, bias)});
    return op.layer("Where", {}, {above, by_number(op, "BroadcastSubtract", x, bias), low});
  });
}
void swish(const Op &op) {
  const double alpha = op.real("alpha");
  if (alpha == 1) return activate(op, "silu");
  each(op, [&](Node x) {
    const Node gate = op.layer("Activation", activation("sigmoid"), {by_number(op, "BroadcastMultiply", x, alpha)});
    return times(op, x, gate);
  });
}
void gelu(const Op &op) { activate(op, "gelu", {{"approximate", op.string("approximate") == "tanh"}}); }
void is_inf(const Op &op) {
  const int64_t down = op.integer("detect_negative"), up = op.integer("detect_positive");
  constexpr double most = std::numeric_limits<float>::max();
  each(op, [&](Node x) {
    if (!down && !up) return op.layer("Less", {}, {x, x});
    if (down && up) return by_number(op, "Greater", op.layer("Absolute", {}, {x}), most);
    return up ? by_number(op, "Greater", x, most) : by_number(op, "Less", x, -most);
  });
}

// Functions of the elementwise table, and activations.
void by_name(const Op &op) {
  const bool up = op.row->trait == not_negative;
  const auto &functions = kinds::functions();
  const auto f = std::ranges::find_if(functions, [&](const auto &f) { return f.onnx == op.node.op; });
  if (f != functions.end())
    return f->operands() == 2 ? pairwise(op, f->name.c_str()) : unary(op, f->name.c_str(), Json::object(), up);
  for (const kinds::Entry *e : kinds::entries("activation"))
    if (e->onnx == op.node.op) return activate(op, e->name.c_str(), Json::object(), up);
}

}  // namespace

std::span<const Row> named_rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> list;
    for (const char *category : {"layer", "activation"})
      for (const kinds::Entry *e : kinds::entries(category)) {
        if (e->onnx.empty()) continue;
        const kinds::Function *f = kinds::function(e->name);
        list.push_back({e->onnx, by_name, f && f->operands() == 2 ? "A B > C" : "X > Y; consumed_inputs@-5:ints"});
      }
    return list;
  }();
  return rows;
}

constexpr Row activation_table[] = {
    {"Sqrt", by_name, "X > Y; consumed_inputs@-5:ints", not_negative},
    {"Exp", by_name, "input > output; consumed_inputs@-5:ints", not_negative},
    {"Sigmoid", by_name, "X > Y; consumed_inputs@-5:ints", not_negative},
    {"Softplus", by_name, "X > Y", not_negative},
    {"BitwiseAnd", by_name, "A B > C=A"},
    {"BitwiseOr", by_name, "A B > C=A"},
    {"BitwiseXor", by_name, "A B > C=A"},
    {"Relu", [](const Op &op) { unary(op, "ReLU", Json::object(), true); }, "X > Y; consumed_inputs@-5:ints"},
    {"LeakyRelu", [](const Op &op) { of_alpha(op, "LeakyReLU", "negative_slope"); },
     "X > Y; alpha=0.01 consumed_inputs@-5:ints"},
    {"Elu", [](const Op &op) { of_alpha(op, "ELU", "alpha"); }, "X > Y; alpha=1.0 consumed_inputs@-5:ints"},
    {"Celu",
     [](const Op &op) {
       activate(op, "celu", {{"alpha", op.real("alpha")}});
     },
     "X > Y; alpha=1.0"},
    {"ThresholdedRelu",
     [](const Op &op) {
       activate(op, "threshold", {{"threshold", op.real("alpha")}, {"default_value", 0}});
     },
     "X > Y; alpha=1.0"},
    {"HardSigmoid", hard_sigmoid, "X > Y; alpha=0.2 beta=0.5 consumed_inputs@-5:ints"},
    {"Selu", selu,
     "X > Y; alpha@-5=1.6732 alpha@6=1.6732632 consumed_inputs@-5:ints gamma@-5=1.0507 "
     "gamma@6=1.050701"},
    {"Shrink", shrink, "input~ > output; bias=0.0 lambd=0.5"},
    {"Swish", swish, "X > Y; alpha=1.0"},
    {"Gelu", gelu, "X > Y; approximate=none|tanh"},
    {"IsInf", is_inf, "X > Y; detect_negative=1|0 detect_positive=1|0"},
};
const std::span<const Row> activation_rows = activation_table;

}  // namespace dl4::io::onnx
