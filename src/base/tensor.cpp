// Aligned memory.
#include "base/tensor.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "base/os/memory.hpp"

namespace dl4 {
Bytes allocate(int64_t bytes, bool working) {
  // A small page costs more than the copy that fills it, a large one as much as 30 to 60 of them.
  constexpr int64_t large_page = 1 << 21, several_pages = 1 << 15;
  const int64_t used = working ? large_page / 4 : large_page / 2;
  const bool large = bytes >= used;
  const int64_t alignment = large ? large_page : 64;
  void *p = os::allocate(alignment, round_up(std::max<int64_t>(bytes, 1), alignment));
  if (!p) throw std::bad_alloc();
  // What is left over may be large too.
  if (large) os::use_large_pages(p, (bytes + large_page - used) / large_page * large_page);
  if (!large && bytes >= several_pages) os::populate(p, bytes);
  return Bytes(static_cast<std::byte *>(p), [](std::byte *q) { os::release(q); });
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
