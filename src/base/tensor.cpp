// Aligned memory.
#include "base/tensor.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace dl4 {
namespace {

// Has the pages in [p, p + bytes) at once, which costs less than a fault for each.
void populate(void *p, int64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  constexpr uintptr_t page = 4096;  // where pages are larger the call fails, which is no harm
  const auto address = reinterpret_cast<uintptr_t>(p);
  const uintptr_t begin = (address + page - 1) / page * page,
                  end = (address + static_cast<uintptr_t>(bytes)) / page * page;
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_WRITE);
#else
  static_cast<void>(p), static_cast<void>(bytes);
#endif
}

}  // namespace

Bytes allocate(int64_t bytes, bool working) {
  // A small page costs more than the copy that fills it, a large one as much as 30 to 60 of them.
  constexpr int64_t large_page = 1 << 21, several_pages = 1 << 15;
  const int64_t used = working ? large_page / 4 : large_page / 2;
  const bool large = bytes >= used;
  const int64_t alignment = large ? large_page : 64;
  void *p = std::aligned_alloc(static_cast<size_t>(alignment),
                               static_cast<size_t>(round_up(std::max<int64_t>(bytes, 1), alignment)));
  if (!p) throw std::bad_alloc();
  // What is left over may be large too.
  if (large) madvise(p, static_cast<size_t>((bytes + large_page - used) / large_page * large_page), MADV_HUGEPAGE);
  if (!large && bytes >= several_pages) populate(p, bytes);
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
