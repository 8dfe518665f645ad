// Aligned memory.
#include "base/tensor.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace dl4 {

Bytes allocate(int64_t bytes) {
  // A fault for each small page costs more than the copy that fills it: five times that of a large page half used.
  constexpr int64_t large_page = 1 << 21;
  const bool large = bytes >= large_page / 2;
  const int64_t alignment = large ? large_page : 64;
  void *p = std::aligned_alloc(static_cast<size_t>(alignment),
                               static_cast<size_t>(round_up(std::max<int64_t>(bytes, 1), alignment)));
  if (!p) throw std::bad_alloc();
  // What is left over may be large too, if it is half of one.
  if (large) madvise(p, static_cast<size_t>((bytes + large_page / 2) / large_page * large_page), MADV_HUGEPAGE);
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
