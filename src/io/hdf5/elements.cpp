// Conversion of a dataset's elements.

#include "io/hdf5/objects.hpp"

namespace dl4::io::hdf5 {
namespace {

float real_at(const std::byte *p, const Type &t) {
  const uint64_t n = number_at(p, t.size, t.turned);
  if (t.kind == Type::Kind::brain_float) return std::bit_cast<float>(static_cast<uint32_t>(n << 16));
  if (t.size == 2) return from_half(static_cast<uint16_t>(n));
  if (t.size == 4) return std::bit_cast<float>(static_cast<uint32_t>(n));
  return static_cast<float>(std::bit_cast<double>(n));
}

int64_t integer_at(const std::byte *p, const Type &t) {
  const uint64_t n = number_at(p, t.size, t.turned);
  const auto spare = static_cast<int>(64 - 8 * t.size);
  if (t.kind == Type::Kind::integer) return static_cast<int64_t>(n << spare) >> spare;
  if (n > static_cast<uint64_t>(INT64_MAX)) unsupported("an integer past 2^63");
  return static_cast<int64_t>(n);
}

}  // namespace

void read_elements(const std::byte *from, const Type &type, Tensor &to) {
  for (int64_t i = 0; i < to.elements(); ++i)
    if (to.dtype == DType::f32)
      to.as<float>()[i] = real_at(from + i * type.size, type);
    else
      to.as<int64_t>()[i] = integer_at(from + i * type.size, type);
}

std::string unshuffled(const std::string &from, size_t each) {
  std::string to(from.size(), '\0');
  const size_t n = from.size() / each;
  for (size_t b = 0; b < each; ++b)
    for (size_t i = 0; i < n; ++i) to[i * each + b] = from[b * n + i];
  std::copy(from.begin() + static_cast<std::ptrdiff_t>(n * each), from.end(),
            to.begin() + static_cast<std::ptrdiff_t>(n * each));
  return to;
}

}  // namespace dl4::io::hdf5
