// Copies between strided arrays: long runs by memcpy, transposes in blocks.
#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"
#include "base/strings.hpp"

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/movement/permute.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

// Either address may be misaligned for T: the C API copies to and from any memory.
template <class T>
HWY_INLINE void copy_one(const T *x, T *y) {
  std::memcpy(y, x, sizeof(T));
}

#if HWY_TARGET != HWY_SCALAR
// A block of four elements from each of some rows that are 4 * xs apart.
template <class Tag>
HWY_INLINE hn::Vec<Tag> blocks(Tag d, const uint32_t *x, int64_t xs) {
  if constexpr (hn::MaxLanes(Tag()) == 4) {
    return hn::LoadU(d, x);
  } else {
    const hn::Half<Tag> half;
    return hn::Combine(d, blocks(half, x + hn::MaxLanes(half) * xs, xs), blocks(half, x, xs));
  }
}
// y[a * ys + b] = x[a + b * xs] for four a and a vector of b. Not inline: GCC 12 would keep the addresses of all rows
// across a loop, in memory.
template <class Tag>
HWY_NOINLINE void transpose_vectors(Tag d, const uint32_t *x, int64_t xs, uint32_t *y, int64_t ys) {
  const hn::RepartitionToWide<Tag> wide;
  const auto r0 = blocks(d, x, xs), r1 = blocks(d, x + xs, xs), r2 = blocks(d, x + 2 * xs, xs),
             r3 = blocks(d, x + 3 * xs, xs);
  const auto t0 = hn::BitCast(wide, hn::InterleaveLower(d, r0, r1)),
             t1 = hn::BitCast(wide, hn::InterleaveLower(d, r2, r3));
  const auto t2 = hn::BitCast(wide, hn::InterleaveUpper(d, r0, r1)),
             t3 = hn::BitCast(wide, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, t0, t1)), d, y);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, t0, t1)), d, y + ys);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, t2, t3)), d, y + 2 * ys);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, t2, t3)), d, y + 3 * ys);
}
#endif

// The same for 4 x n elements. The last ones of a run of at least a block are moved together with some before.
template <class T>
HWY_INLINE void transpose_four(int64_t n, const T *x, int64_t xs, T *y, int64_t ys) {
  int64_t b = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4) {
    const hn::ScalableTag<uint32_t> d;
    const hn::CappedTag<uint32_t, 4> four;
    constexpr int64_t lanes = hn::MaxLanes(d);
    for (; b + lanes <= n; b += lanes) transpose_vectors(d, x + b * xs, xs, y + b, ys);
    for (; b + 4 <= n; b += 4) transpose_vectors(four, x + b * xs, xs, y + b, ys);
    if (b < n && n >= 4) transpose_vectors(four, x + (n - 4) * xs, xs, y + n - 4, ys), b = n;
  }
#endif
  for (; b < n; ++b)
    for (int64_t a = 0; a < 4; ++a) copy_one(x + a + b * xs, y + a * ys + b);
}

// The same for N rows that become columns of an array without gaps, or the reverse: two or three channels of an image.
template <int N, class T>
bool transpose_few(int64_t na, int64_t nb, const T *x, int64_t xs, T *y, int64_t ys) {
  if constexpr (sizeof(T) == 4) {
    const hn::ScalableTag<uint32_t> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    if (nb == N && ys == N) {
      int64_t a = 0;
      for (; a + lanes <= na; a += lanes) {
        const auto r0 = hn::LoadU(d, x + a), r1 = hn::LoadU(d, x + a + xs);
        if constexpr (N == 2)
          hn::StoreInterleaved2(r0, r1, d, y + a * N);
        else
          hn::StoreInterleaved3(r0, r1, hn::LoadU(d, x + a + 2 * xs), d, y + a * N);
      }
      for (; a < na; ++a)
        for (int64_t b = 0; b < N; ++b) copy_one(x + a + b * xs, y + a * N + b);
      return true;
    }
    if (na == N && xs == N) {
      int64_t b = 0;
      for (; b + lanes <= nb; b += lanes) {
        hn::Vec<decltype(d)> r[3];
        if constexpr (N == 2)
          hn::LoadInterleaved2(d, x + b * N, r[0], r[1]);
        else
          hn::LoadInterleaved3(d, x + b * N, r[0], r[1], r[2]);
        for (int64_t a = 0; a < N; ++a) hn::StoreU(r[a], d, y + b + a * ys);
      }
      for (; b < nb; ++b)
        for (int64_t a = 0; a < N; ++a) copy_one(x + a + b * N, y + a * ys + b);
      return true;
    }
  }
  return false;
}

template <class T>
void transpose_as(int64_t na, int64_t nb, const T *x, int64_t xs, T *y, int64_t ys) {
  if (transpose_few<2>(na, nb, x, xs, y, ys) || transpose_few<3>(na, nb, x, xs, y, ys)) return;
  constexpr int64_t block = 32;  // both sides of a block fit the L1 cache
  for (int64_t b0 = 0; b0 < nb; b0 += block) {
    const int64_t n = HWY_MIN(nb - b0, block);
    const T *from = x + b0 * xs;
    T *to = y + b0;
    int64_t a = 0;
    for (; a + 4 <= na; a += 4) transpose_four(n, from + a, xs, to + a * ys, ys);
    if (a < na && na >= 4) transpose_four(n, from + na - 4, xs, to + (na - 4) * ys, ys), a = na;
    for (; a < na; ++a)
      for (int64_t b = 0; b < n; ++b) copy_one(from + a + b * xs, to + a * ys + b);
  }
}

void transpose_all(int64_t size, int64_t na, int64_t nb, const void *x, int64_t xs, void *y, int64_t ys) {
  auto as = [&](auto t) {
    using T = decltype(t);
    transpose_as(na, nb, static_cast<const T *>(x), xs, static_cast<T *>(y), ys);
  };
  if (size == 1) as(uint8_t{});
  if (size == 4) as(uint32_t{});
  if (size == 8) as(uint64_t{});
  if (size == sizeof(String)) as(String{});
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(transpose_all);

namespace {

// Nested loops over both sides, merged to as few and as long as possible.
struct Loops {
  int rank = 0;
  int64_t n[9], xs[9], ys[9];

  Loops(int count, const int64_t *dims, const int64_t *x_strides, const int64_t *y_strides) {
    for (int i = 0; i < count; ++i) {
      if (dims[i] == 1) continue;
      if (rank > 0 && xs[rank - 1] == x_strides[i] * dims[i] && ys[rank - 1] == y_strides[i] * dims[i]) {
        n[rank - 1] *= dims[i];
        xs[rank - 1] = x_strides[i];
        ys[rank - 1] = y_strides[i];
      } else {
        push(dims[i], x_strides[i], y_strides[i]);
      }
    }
    if (rank == 0) push(1, 1, 1);
  }
  void push(int64_t dim, int64_t x, int64_t y) {
    n[rank] = dim;
    xs[rank] = x;
    ys[rank++] = y;
  }
};

// Calls inner(x offset, y offset) for every index of the first `rank` loops.
template <class Inner>
void walk(const Loops &l, int rank, const Inner &inner) noexcept {
  int64_t at[9] = {}, x = 0, y = 0;
  for (;;) {
    inner(x, y);
    int i = rank - 1;
    for (; i >= 0; --i) {
      x += l.xs[i];
      y += l.ys[i];
      if (++at[i] < l.n[i]) break;
      x -= l.xs[i] * l.n[i];
      y -= l.ys[i] * l.n[i];
      at[i] = 0;
    }
    if (i < 0) return;
  }
}

template <class T>
void copy_as(Loops l, const T *x, T *y) {
  const int last = l.rank - 1;
  if (l.ys[last] == 1 && l.xs[last] != 1)
    // Moves the axis that is contiguous in x next to last: the last two axes are then a transpose.
    for (int i = 0; i < last; ++i)
      if (l.xs[i] == 1) {
        std::rotate(l.n + i, l.n + i + 1, l.n + last);
        std::rotate(l.xs + i, l.xs + i + 1, l.xs + last);
        std::rotate(l.ys + i, l.ys + i + 1, l.ys + last);
        const int a = last - 1;
        return walk(l, a, [&](int64_t p, int64_t q) {
          HWY_DYNAMIC_DISPATCH(transpose_all)(sizeof(T), l.n[a], l.n[last], x + p, l.xs[last], y + q, l.ys[a]);
        });
      }
  const int64_t n = l.n[last], xs = l.xs[last], ys = l.ys[last];
  walk(l, last, [&](int64_t p, int64_t q) {
    const T *from = x + p;
    T *to = y + q;
    if (xs == 1 && ys == 1)
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    else if (xs == 0 && ys == 1)
      fill(sizeof(T), from, to, n);
    else
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * ys, from + i * xs, sizeof(T));
  });
}

}  // namespace

void copy_strided(int64_t size, int rank, const int64_t *dims, const void *x, const int64_t *x_strides, void *y,
                  const int64_t *y_strides) noexcept {
  for (int i = 0; i < rank; ++i)
    if (dims[i] <= 0) return;
  const Loops l(rank, dims, x_strides, y_strides);
  if (size == 1) copy_as(l, static_cast<const uint8_t *>(x), static_cast<uint8_t *>(y));
  if (size == 4) copy_as(l, static_cast<const uint32_t *>(x), static_cast<uint32_t *>(y));
  if (size == 8) copy_as(l, static_cast<const uint64_t *>(x), static_cast<uint64_t *>(y));
  if (size == sizeof(String)) copy_as(l, static_cast<const String *>(x), static_cast<String *>(y));
}

void permute(int64_t size, int rank, const int64_t *dims, const int *perm, const void *x, void *y, int64_t begin,
             int64_t end) noexcept {
  int64_t strides[8], n[8], xs[8], ys[8];
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= dims[i];
  }
  stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    n[i] = dims[perm[i]];
    xs[i] = strides[perm[i]];
    ys[i] = stride;
    stride *= n[i];
  }
  if (rank > 0) n[0] = end - begin;
  const int64_t from = rank > 0 ? begin * xs[0] * size : 0, to = rank > 0 ? begin * ys[0] * size : 0;
  copy_strided(size, rank, n, static_cast<const char *>(x) + from, xs, static_cast<char *>(y) + to, ys);
}

}  // namespace dl4::kernels
#endif
