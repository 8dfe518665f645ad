#include "io/tensors.hpp"

#include <cstring>

#include "io/bytes.hpp"

namespace dl4::io {

Tensor to_float32(const Tensor &t) {
  if (t.dtype == DType::f32) return t;
  Tensor to = make_tensor(DType::f32, t.shape);
  const auto convert = [&](auto zero) {
    for (int64_t i = 0; i < t.elements(); ++i) to.as<float>()[i] = static_cast<float>(t.as<decltype(zero)>()[i]);
  };
  if (t.dtype == DType::f64)
    convert(double{});
  else if (t.dtype == DType::i32)
    convert(int32_t{});
  else if (t.dtype == DType::i64)
    convert(int64_t{});
  else
    fail(Code::corrupt_file, "expected numbers, got ", t.dtype);
  return to;
}

void widen_half(std::span<const uint16_t> from, float *to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = from_half(from[i]);
}
void widen_bfloat16(std::span<const uint16_t> from, float *to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = std::bit_cast<float>(uint32_t{from[i]} << 16);
}
std::optional<uint8_t> other_than_flag(std::string_view bytes) {
  for (const char byte : bytes)
    if (static_cast<uint8_t>(byte) > 1) return static_cast<uint8_t>(byte);
  return {};
}

Tensor transposed(const Tensor &t, ArrayRef<int> perm) {
  std::vector<int64_t> dims;
  for (int p : perm) dims.push_back(t.shape[p]);
  Tensor to = make_tensor(t.dtype, Shape(dims));
  const auto strides = dense_strides(t.shape);
  const auto size = static_cast<size_t>(size_of(t.dtype));
  std::vector<int64_t> at(perm.size(), 0);
  const int64_t n = t.elements();
  int64_t source = 0;
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(to.data.get() + static_cast<size_t>(i) * size, t.data.get() + static_cast<size_t>(source) * size, size);
    for (size_t axis = perm.size(); axis-- > 0;) {
      const int64_t stride = strides[static_cast<size_t>(perm[axis])];
      source += stride;
      if (++at[axis] < dims[axis]) break;
      source -= stride * dims[axis];
      at[axis] = 0;
    }
  }
  return to;
}

Tensor reshaped(const Tensor &t, const Shape &shape) {
  if (shape.elements() != t.elements()) fail(Code::corrupt_file, "expected ", shape, ", got a tensor of ", t.shape);
  return {t.dtype, shape, t.data};
}

}  // namespace dl4::io
