// QuantizeLinear and DequantizeLinear: a model with them runs in float32, as if nothing were rounded.
#include "base/error.hpp"
#include "io/onnx_reader.hpp"

namespace dl4::io::onnx {
namespace {

void quantize(const Op &op) {
  Value v = op.in(0);
  if (v.dtype != DType::f32) op.refuse("is supported for floats, not for ", v.dtype);
  v.quantized = true;
  op.give_value(0, std::move(v));
}

void dequantize(const Op &op) {
  Value &v = op.in(0);
  if (v.quantized) {
    Value plain = v;
    plain.quantized = false;
    return op.give_value(0, std::move(plain));
  }
  const auto t = op.constant(0);
  if (!t) op.refuse("of integers that are no constant is not supported; only QuantizeLinear's result is");
  op.need("block_size", 0);
  const Tensor scale = op.floats(1, "scale");
  const Ints numbers = ints_of(*t), zero = op.has(2) && op.constant(2) ? ints_of(*op.constant(2)) : Ints{};
  const int64_t each = scale.elements();
  int64_t inner = 1;
  if (each != 1) {
    const auto axis = static_cast<int>(op.axis(1, t->shape.rank()));
    if (t->shape[axis] != each) fail(Code::corrupt_file, "has ", each, " scales for an axis of ", t->shape[axis]);
    for (int i = axis + 1; i < t->shape.rank(); ++i) inner *= t->shape[i];
  }
  if (op.has(2) && static_cast<int64_t>(zero.size()) != each)
    fail(Code::corrupt_file, "has other zero points than scales");
  Tensor to = make_tensor(DType::f32, t->shape);
  for (int64_t i = 0; i < to.elements(); ++i) {
    const int64_t k = each == 1 ? 0 : i / inner % each;
    const int64_t off = numbers[static_cast<size_t>(i)] - (zero.empty() ? 0 : zero[static_cast<size_t>(k)]);
    to.as<float>()[i] = static_cast<float>(off) * scale.as<float>()[k];
  }
  op.give_constant(0, std::move(to));
}

}  // namespace

std::span<const Row> quantized_rows() {
  static constexpr Row rows[] = {{"QuantizeLinear", quantize}, {"DequantizeLinear", dequantize}};
  return rows;
}

}  // namespace dl4::io::onnx
