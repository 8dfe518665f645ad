// Aligned memory.
#include "base/tensor.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

namespace dl4 {

Bytes allocate(int64_t bytes) {
  void *p = std::aligned_alloc(64, static_cast<size_t>(round_up(bytes > 0 ? bytes : 1, 64)));
  if (!p) throw std::bad_alloc();
  return Bytes(static_cast<std::byte *>(p), [](std::byte *q) { std::free(q); });
}

Tensor make_tensor(DType dtype, const Shape &shape) {
  Tensor t{dtype, shape, nullptr};
  t.data = allocate(t.bytes());
  return t;
}

Tensor make_zeros(DType dtype, const Shape &shape) {
  Tensor t = make_tensor(dtype, shape);
  std::memset(t.data.get(), 0, static_cast<size_t>(t.bytes()));
  return t;
}

Tensor clone(const Tensor &t) {
  Tensor c = make_tensor(t.dtype, t.shape);
  if (int64_t n = t.bytes()) std::memcpy(c.data.get(), t.data.get(), static_cast<size_t>(n));
  return c;
}

}  // namespace dl4
