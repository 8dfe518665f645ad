// Quantized ops of com.microsoft, written by ONNX Runtime's tools: each is read as ONNX's own nodes.
#include "base/error.hpp"
#include "io/onnx/read/recurrent.hpp"

namespace dl4::io::onnx {
namespace {

// Input i as float; its scale and zero point follow it.
Value floats(const Nodes &n, size_t i) { return n.floats(n.in(i), n.in(i + 1), n.given(i + 2)); }

// Quantizes floats; the scale is input i, followed by the zero point.
Value quantized(const Nodes &n, const Value &v, size_t i) {
  Values in{v, n.in(i)};
  if (const auto zero = n.given(i + 1)) in.push_back(*zero);
  return n.of("QuantizeLinear", in);
}

// A float function between dequantization of the first input and quantization of the output.
template <class F>
void between(const Op &op, F f) {
  const Nodes n{op};
  op.give_value(0, quantized(n, f(n, floats(n, 0)), 3));
}

void of_two(const Op &op, const char *kind) {
  const Nodes n{op};
  op.give_value(0, quantized(n, n.of(kind, {floats(n, 0), floats(n, 3)}), 6));
}

void pool(const Op &op, const char *kind) {
  between(op, [&](const Nodes &n, const Value &x) { return n.of(kind, {x}, own(op, {"channels_last"})); });
}

void softmax(const Op &op) {
  const int rank = op.in(0).rank();
  if (op.axis(rank) != rank - 1) op.refuse("over another axis than the last is not supported");
  between(op, [](const Nodes &n, const Value &x) { return n.of("Softmax", {x}, {{"axis", -1}}); });
}

void concat(const Op &op) {
  const Nodes n{op};
  if (op.inputs() % 3 != 2) fail(Code::corrupt_file, "expects values, each with a scale and a zero point");
  Values parts;
  for (size_t i = 2; i + 1 < op.inputs(); i += 3) parts.push_back(floats(n, i));
  op.give_value(0, quantized(n, n.of("Concat", parts, op.node.attributes), 0));
}

void where(const Op &op) {
  const Nodes n{op};
  op.give_value(0, quantized(n, n.of("Where", {n.in(0), floats(n, 1), floats(n, 4)}), 7));
}

// An integer product plus an integer bias, times the scales.
void gemm(const Op &op) {
  const Nodes n{op};
  const auto side = [&](size_t i, const char *transposed) {
    return !op.flag(transposed) ? n.in(i) : n.transpose(n.in(i), {1, 0});
  };
  Value sum = n.of("MatMulInteger", {side(0, "transA"), side(3, "transB"), n.in(2), n.in(5)});
  if (op.has(6)) sum = n.add(sum, n.in(6));
  Value scale = n.mul(n.in(1), n.in(4));
  if (const double alpha = op.real("alpha"); alpha != 1) scale = n.mul(scale, n.real(alpha));
  if (!op.has(7)) return op.give_value(0, n.mul(n.cast(sum, Type::float32), scale));
  const Value y = n.mul(n.cast(sum, Type::float32), n.of("Div", {scale, n.in(7)}));
  Values whole{y, n.real(1)};
  if (op.has(8)) whole.push_back(n.in(8));
  op.give_value(0, n.of("QuantizeLinear", whole));
}

void matmul_integer_to_float(const Op &op) {
  const Nodes n{op};
  const Value a = n.floats(n.in(0), n.in(2), n.given(4)), b = n.floats(n.in(1), n.in(3), n.given(5));
  const Value y = n.matmul(a, b);
  op.give_value(0, op.has(6) ? n.add(y, n.in(6)) : y);
}

void dynamic_quantize_matmul(const Op &op) {
  const Nodes n{op};
  const Values a = computed(op, "DynamicQuantizeLinear", {n.in(0)}, {}, 3);
  const Value y = n.matmul(n.floats(a[0], a[1], a[2]), n.floats(n.in(1), n.in(2), n.given(3)));
  op.give_value(0, op.has(4) ? n.add(y, n.in(4)) : y);
}

}  // namespace

constexpr Row microsoft_quantized_table[] = {
    {"QLinearAdd", [](const Op &op) { of_two(op, "Add"); },
     "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point? > C"},
    {"QLinearMul", [](const Op &op) { of_two(op, "Mul"); },
     "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point? > C"},
    {"QLinearSigmoid",
     [](const Op &op) { between(op, [](const Nodes &n, const Value &x) { return n.of("Sigmoid", {x}); }); },
     "X X_scale X_zero_point? Y_scale Y_zero_point? > Y"},
    {"QLinearLeakyRelu",
     [](const Op &op) {
       between(op, [&](const Nodes &n, const Value &x) { return n.of("LeakyRelu", {x}, op.node.attributes); });
     },
     "X X_scale X_zero_point? Y_scale Y_zero_point? > Y; alpha=0.01"},
    {"QLinearSoftmax", softmax, "X X_scale X_zero_point? Y_scale Y_zero_point > Y; axis=-1 opset:int!"},
    {"QLinearAveragePool", [](const Op &op) { pool(op, "AveragePool"); },
     "X x_scale x_zero_point? y_scale y_zero_point? > Y; auto_pad=NOTSET|SAME_UPPER|SAME_LOWER|VALID "
     "ceil_mode=0|1 channels_last=0| count_include_pad=0|1 kernel_shape:ints! pads:ints strides:ints"},
    {"QLinearGlobalAveragePool", [](const Op &op) { pool(op, "GlobalAveragePool"); },
     "X x_scale x_zero_point y_scale y_zero_point > Y; channels_last=0|"},
    {"QLinearConcat", concat, "Y_scale Y_zero_point inputs+ > Y; axis:int!"},
    {"QLinearWhere", where, "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point > Z"},
    {"QGemm", gemm,
     "A a_scale a_zero_point B b_scale b_zero_point C? y_scale? y_zero_point? > Y; alpha=1.0 "
     "transA=0|1 transB=0|1"},
    {"MatMulIntegerToFloat", matmul_integer_to_float, "A B a_scale b_scale a_zero_point? b_zero_point? bias? > Y"},
    {"DynamicQuantizeMatMul", dynamic_quantize_matmul, "A B b_scale b_zero_point? bias? > Y"},
    {"DynamicQuantizeLSTM", recurrent_by_steps,
     "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point R_scale R_zero_point > Y? "
     "Y_h? Y_c?; activation_alpha:floats activation_beta:floats activations:strings clip:float "
     "direction=forward|reverse|bidirectional hidden_size:int input_forget=0|1"},
};
const std::span<const Row> microsoft_quantized_rows = microsoft_quantized_table;

}  // namespace dl4::io::onnx
