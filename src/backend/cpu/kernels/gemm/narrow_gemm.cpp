// Products by narrow weights, by instruction set.
#include "backend/cpu/kernels/gemm/narrow_gemm.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#ifndef DL4_KERNELS_NARROW_PRODUCT
#define DL4_KERNELS_NARROW_PRODUCT
namespace dl4::kernels {
// What all tiles of a product share.
struct NarrowProduct {
  const NarrowWeights &b;
  int64_t n;  // columns from `first`
  int64_t first;
  const float *a;
  int64_t lda;
  NarrowRows codes;  // of A, if integer
  const float *d;
  int64_t ldd;
  float *c;
  int64_t ldc;
  bool relu;
};
// Stride between rows of A's codes.
inline int64_t narrow_stride(int64_t k) { return round_up(k, 64); }
}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gemm/narrow_gemm.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/gemm/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

inline constexpr int64_t panel = packed_panel;
inline constexpr int64_t panel_row = 4 * panel;  // bytes of four rows of int8, eight of int4
inline constexpr bool wide = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3, middle = wide || HWY_TARGET == HWY_AVX2;

// How codes are multiplied. A vector of weights accumulates `columns` columns; Code is the stored type of A's codes.
#if HWY_TARGET == HWY_SCALAR
struct Pairs {
  using Code = int16_t;
  struct Codes {
    int32_t v[4];
  };
  using Bytes = Codes;
  struct Sums {
    int32_t v;
  };
  static constexpr int columns = 1;
  static HWY_INLINE Bytes bytes_at(const int8_t *p) { return {{p[0], p[1], p[2], p[3]}}; }
  static HWY_INLINE Codes wide(Bytes b) { return b; }
  static HWY_INLINE Bytes high_halves(Bytes b) {
    for (int32_t &v : b.v) v = static_cast<int8_t>(v & 0xF0);
    return b;
  }
  static HWY_INLINE Bytes low_halves(Bytes b) {
    for (int32_t &v : b.v) v = static_cast<int8_t>(v << 4 & 0xF0);
    return b;
  }
  static HWY_INLINE Codes four_of(const Code *p) { return {{p[0], p[1], p[2], p[3]}}; }
  static HWY_INLINE void add_products(Codes a, Codes b, Sums &sum) {
    for (int i = 0; i < 4; ++i) sum.v += a.v[i] * b.v[i];
  }
  static HWY_INLINE Sums none() { return {0}; }
  static HWY_INLINE VI whole(const Sums *sums, int i) { return hn::Set(DI(), sums[i].v); }
};
#else

// Sign-extends the upper four bits of each byte: 16 times the code.
template <class D8>
HWY_INLINE hn::Vec<D8> high_halves_of(D8 d, hn::Vec<D8> v) {
  const hn::RebindToUnsigned<D8> du;
  return hn::BitCast(d, hn::And(hn::BitCast(du, v), hn::Set(du, 0xF0)));
}
template <class D8>
HWY_INLINE hn::Vec<D8> low_halves_of(D8 d, hn::Vec<D8> v) {
  return high_halves_of(d, hn::BitCast(d, hn::ShiftLeft<4>(hn::BitCast(hn::Repartition<uint16_t, D8>(), v))));
}

// Widens bytes to 16 bits and adds pairs of products: each column has two adjacent sums.
struct Pairs {
  using D16 = hn::ScalableTag<int16_t>;
  using D8 = hn::Rebind<int8_t, D16>;
  using Code = int16_t;
  using Codes = hn::Vec<D16>;
  using Bytes = hn::Vec<D8>;
  struct Sums {
    VI v, odd;
  };
  static constexpr int columns = static_cast<int>(lanes) / 2;
  static HWY_INLINE Bytes bytes_at(const int8_t *p) { return hn::LoadU(D8(), p); }
  static HWY_INLINE Codes wide(Bytes b) { return hn::PromoteTo(D16(), b); }
  static HWY_INLINE Bytes high_halves(Bytes b) { return high_halves_of(D8(), b); }
  static HWY_INLINE Bytes low_halves(Bytes b) { return low_halves_of(D8(), b); }
  static HWY_INLINE Codes four_of(const Code *p) {
    int64_t bits;
    std::memcpy(&bits, p, sizeof bits);
    return hn::BitCast(D16(), hn::Set(hn::Repartition<int64_t, D16>(), bits));
  }
  static HWY_INLINE void add_products(Codes a, Codes b, Sums &sum) {
    sum.v = hn::ReorderWidenMulAccumulate(DI(), a, b, sum.v, sum.odd);
  }
  static HWY_INLINE Sums none() { return {hn::Zero(DI()), hn::Zero(DI())}; }
  static HWY_INLINE VI whole(const Sums *sums, int i) {
    const VI low = hn::RearrangeToOddPlusEven(sums[2 * i].v, sums[2 * i].odd);
    const VI high = hn::RearrangeToOddPlusEven(sums[2 * i + 1].v, sums[2 * i + 1].odd);
    return hn::Add(hn::ConcatEven(DI(), high, low), hn::ConcatOdd(DI(), high, low));
  }
};
#endif

#if HWY_TARGET == HWY_AVX3
// Adds four byte products (A unsigned) to each sum at once (VNNI). Highway 1.0 has no function for it, and the
// instruction set it names emits another instruction, which fewer processors have.
struct Vnni {
  using D8 = hn::ScalableTag<int8_t>;
  using Code = uint8_t;
  using Codes = hn::Vec<D8>;
  using Bytes = Codes;
  struct Sums {
    VI v;
  };
  static constexpr int columns = static_cast<int>(lanes);
  static HWY_INLINE Bytes bytes_at(const int8_t *p) { return hn::LoadU(D8(), p); }
  static HWY_INLINE Codes wide(Bytes b) { return b; }
  static HWY_INLINE Bytes high_halves(Bytes b) { return high_halves_of(D8(), b); }
  static HWY_INLINE Bytes low_halves(Bytes b) { return low_halves_of(D8(), b); }
  static HWY_INLINE Codes four_of(const Code *p) {
    int32_t bits;
    std::memcpy(&bits, p, sizeof bits);
    return hn::BitCast(D8(), hn::Set(DI(), bits));
  }
  static HWY_INLINE void add_products(Codes a, Codes b, Sums &sum) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.v.raw) : "v"(a.raw), "v"(b.raw));
  }
  static HWY_INLINE Sums none() { return {hn::Zero(DI())}; }
  static HWY_INLINE VI whole(const Sums *sums, int i) { return sums[i].v; }
};
#endif

// Scales integer sums, adds D if there is one, applies relu, and stores through io.
template <class Io>
HWY_INLINE void finish_vector(const NarrowProduct &p, const float *sums, V scale, const float *d, float *c,
                              const Io &io) {
  V v = hn::Mul(hn::Load(D(), sums), scale);
  if (d) v = hn::Add(v, io.get(d));
  if (p.relu) v = relu_of(D(), v);
  io.put(v, c);
}
HWY_INLINE V scale_of(const NarrowProduct &p, int64_t row) {
  return set(p.codes.scales ? p.codes.scales[p.codes.one ? 0 : row] : 1);
}
// Finishes rows from `row` by vectors from `column`. Out of line: the tiles' code is many times larger than what they
// share.
HWY_NOINLINE void finish_rows(const NarrowProduct &p, const float *sums, int64_t rows, int64_t vectors, int64_t row,
                              int64_t column) {
  const int64_t cols = HWY_MIN(p.n - column, vectors * lanes);
  const float *d = p.d ? p.d + row * p.ldd + column : nullptr;
  float *c = p.c + row * p.ldc + column;
  for (int64_t i = row; i < row + rows; ++i, sums += vectors * lanes, c += p.ldc, d = d ? d + p.ldd : nullptr) {
    const V scale = scale_of(p, i);
    each(cols, [&](int64_t j, auto io) HWY_ATTR { finish_vector(p, sums + j, scale, d ? d + j : nullptr, c + j, io); });
  }
}
template <int M, int N>
HWY_INLINE void finish(const NarrowProduct &p, const float *sums, int64_t row, int64_t column) {
  if constexpr (M > 1) return finish_rows(p, sums, M, N, row, column);
  const V scale = scale_of(p, row);
  const float *d = p.d ? p.d + row * p.ldd + column : nullptr;
  float *c = p.c + row * p.ldc + column;
  DL4_UNROLL
  for (int j = 0; j < N; ++j, c += lanes, d = d ? d + lanes : nullptr) {
    const int64_t left = p.n - column - j * lanes;
    if (left >= lanes)
      finish_vector(p, sums + j * lanes, scale, d, c, Full());
    else if (left > 0)
      finish_vector(p, sums + j * lanes, scale, d, c, Part{left});
  }
}

template <class Way>
inline constexpr int vectors_of_panel = static_cast<int>(panel) / Way::columns;

// M rows by N vectors of codes, from vector `at` of the panel at column j of the product.
template <class Way, int M, int N, WeightType type>
HWY_INLINE void integer_tile(const NarrowProduct &p, int64_t row, int64_t j, int at) {
  constexpr bool four = type == WeightType::int4;
  constexpr int F = N * Way::columns / static_cast<int>(lanes);
  using Code = typename Way::Code;
  using Codes = typename Way::Codes;
  const int64_t k = p.b.k, once = four ? 8 : 4, stride = p.codes.step;
  const int64_t steps = (k + once - 1) / once;
  const int64_t group = four ? int4_group / once : HWY_MAX(steps, 1);
  const int64_t whole = round_up(p.b.n, panel), panel_bytes = steps * panel_row;
  const int64_t column = j + at * Way::columns;
  const int8_t *b = p.b.codes.as<int8_t>() + (p.first + j) / panel * panel_bytes + at * (4 * Way::columns);
  const Code *from = static_cast<const Code *>(p.codes.codes) + row * stride;
  const float *scales = p.b.scales.as<float>() + p.first + column;
  const int32_t *offsets = p.b.offsets.as<int32_t>() + p.first + column;
  HWY_ALIGN float all[M * F * lanes];

  auto place = [&](int v) {
    return b + v / vectors_of_panel<Way> * panel_bytes + v % vectors_of_panel<Way> * (4 * Way::columns);
  };
  for (int64_t s = 0; s == 0 || s < steps; s += group, scales += whole, offsets += whole) {
    typename Way::Sums sum[M][N];
    DL4_UNROLL
    for (int i = 0; i < M; ++i) DL4_UNROLL
    for (int v = 0; v < N; ++v) sum[i][v] = Way::none();
    const int64_t parts = four ? 1 : p.codes.parts, each = four ? HWY_MIN(steps - s, group) : steps / parts;
    const Code *piece = from + s * once;
    for (int64_t part = 0; part < parts; ++part, piece += p.codes.apart) {
      const Code *a = piece;
      for (int64_t step = 0; step < each; ++step, b += panel_row, a += once) {
        if constexpr (four) {
          Codes low[N], high[N];
          DL4_UNROLL
          for (int v = 0; v < N; ++v) {
            const auto both = Way::bytes_at(place(v));
            low[v] = Way::wide(Way::low_halves(both)), high[v] = Way::wide(Way::high_halves(both));
          }
          DL4_UNROLL
          for (int i = 0; i < M; ++i) {
            const Codes x = Way::four_of(a + i * stride), y = Way::four_of(a + i * stride + 4);
            DL4_UNROLL
            for (int v = 0; v < N; ++v) {
              Way::add_products(x, low[v], sum[i][v]);
              Way::add_products(y, high[v], sum[i][v]);
            }
          }
        } else {
          Codes w[N];
          DL4_UNROLL
          for (int v = 0; v < N; ++v) w[v] = Way::wide(Way::bytes_at(place(v)));
          DL4_UNROLL
          for (int i = 0; i < M; ++i) {
            const Codes x = Way::four_of(a + i * stride);
            DL4_UNROLL
            for (int v = 0; v < N; ++v) Way::add_products(x, w[v], sum[i][v]);
          }
        }
      }
    }
    DL4_UNROLL
    for (int i = 0; i < M; ++i) DL4_UNROLL
    for (int f = 0; f < F; ++f) {
      const VI exact = hn::Sub(Way::whole(sum[i], f), hn::LoadU(DI(), offsets + f * lanes));
      V v = hn::Mul(hn::ConvertTo(D(), exact), load(scales + f * lanes));
      float *to = all + (i * F + f) * lanes;
      if (four && s > 0) v = hn::Add(hn::Load(D(), to), v);
      hn::Store(v, D(), to);
    }
  }

  finish<M, F>(p, all, row, column);
}

// Six rows by four vectors make as many sums as twelve by two. Byte products need the latter, as they take more
// registers.
template <class Way, WeightType type>
inline constexpr bool twelve = type != WeightType::bfloat16 &&Way::columns == lanes;
template <class Way, WeightType type>
inline constexpr int most_rows = wide     ? (twelve<Way, type> ? 12 : 6)
                                 : middle ? 3
                                          : 2;
// Vectors per tile: for one row enough to hide the latency of additions, for more rows fewer.
template <class Way, int M>
inline constexpr int vectors = !middle                                         ? 4
                               : M == 1                                        ? 8
                               : !wide || M <= (Way::columns == lanes ? 4 : 6) ? 4
                                                                               : 2;

// Rows [i, i + M), columns from j: N vectors at a time, then half as many.
template <class Way, int M, int N, WeightType type>
HWY_INLINE void integer_strips(const NarrowProduct &p, int64_t i, int64_t j) {
  constexpr int all = vectors_of_panel<Way>;
  if constexpr (N >= all) {
    constexpr int64_t width = N / all * panel;
    for (; j < p.n && (p.n - j > width - panel || N == all); j += width) integer_tile<Way, M, N, type>(p, i, j, 0);
    if constexpr (N > all)
      if (j < p.n) integer_strips<Way, M, N / 2, type>(p, i, j);
  } else {
    for (; j < p.n; j += panel)
      for (int at = 0; at < all && j + at * Way::columns < p.n; at += N) integer_tile<Way, M, N, type>(p, i, j, at);
  }
}

template <class Way, int M, WeightType type>
void integer_rows(const NarrowProduct &p, int64_t i, int64_t j, int64_t end) {
  NarrowProduct some = p;
  some.n = HWY_MIN(p.n, end);
  integer_strips<Way, M, vectors<Way, M>, type>(some, i, j);
}

// Columns i and 16 + i of a row are the halves of word i.
inline constexpr int words_of_panel = 16 / static_cast<int>(lanes);

template <int M, int N>
HWY_INLINE void bfloat16_tile(const NarrowProduct &p, int64_t row, int64_t j) {
  const int64_t k = p.b.k;
  V sum[M][N][2];
  DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int v = 0; v < N; ++v) sum[i][v][0] = sum[i][v][1] = hn::Zero(D());
  const auto *b = reinterpret_cast<const int32_t *>(p.b.codes.as<std::byte>()) + (p.first + j) / panel * k * 16;
  const float *a = p.a + row * p.lda;
  const VI upper = hn::Set(DI(), static_cast<int32_t>(0xFFFF0000));
#pragma GCC unroll 2
  for (int64_t l = 0; l < k; ++l, b += 16) {
    V low[N], high[N];
    DL4_UNROLL
    for (int v = 0; v < N; ++v) {
      const VI both = hn::LoadU(DI(), b + v / words_of_panel * k * 16 + v % words_of_panel * lanes);
      low[v] = hn::BitCast(D(), hn::ShiftLeft<16>(both)), high[v] = hn::BitCast(D(), hn::And(both, upper));
    }
    DL4_UNROLL
    for (int i = 0; i < M; ++i) {
      const V x = set(a[i * p.lda + l]);
      DL4_UNROLL
      for (int v = 0; v < N; ++v) {
        sum[i][v][0] = hn::MulAdd(x, low[v], sum[i][v][0]);
        sum[i][v][1] = hn::MulAdd(x, high[v], sum[i][v][1]);
      }
    }
  }
  HWY_ALIGN float all[M * 2 * N * lanes];
  DL4_UNROLL
  for (int i = 0; i < M; ++i) DL4_UNROLL
  for (int v = 0; v < N; ++v) DL4_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int at = v / words_of_panel * 2 * words_of_panel + half * words_of_panel + v % words_of_panel;
    hn::Store(sum[i][v][half], D(), all + (i * 2 * N + at) * lanes);
  }
  finish<M, 2 * N>(p, all, row, j);
}

template <int M, int N>
HWY_INLINE void bfloat16_strips(const NarrowProduct &p, int64_t i, int64_t j) {
  constexpr int64_t width = N / words_of_panel * panel;
  for (; j < p.n && (p.n - j > width - panel || N == words_of_panel); j += width) bfloat16_tile<M, N>(p, i, j);
  if constexpr (N > words_of_panel)
    if (j < p.n) bfloat16_strips<M, N / 2>(p, i, j);
}

template <int M>
void bfloat16_rows(const NarrowProduct &p, int64_t i, int64_t j, int64_t end) {
  constexpr int N = HWY_MAX(words_of_panel, M == 1 ? 4 : wide && M <= 6 ? 2 : 1);
  NarrowProduct some = p;
  some.n = HWY_MIN(p.n, end);
  bfloat16_strips<M, N>(some, i, j);
}

using Rows = void (*)(const NarrowProduct &, int64_t, int64_t, int64_t);
template <class Way, WeightType type, int M>
constexpr Rows rows_of() {
  if constexpr (type == WeightType::bfloat16)
    return bfloat16_rows<M>;
  else
    return integer_rows<Way, M, type>;
}
template <class Way, WeightType type, int... m>
constexpr auto all_rows(std::integer_sequence<int, m...>) {
  return std::array{rows_of<Way, type, m + 1>()...};
}
template <class Way, WeightType type>
constexpr auto by_rows = all_rows<Way, type>(std::make_integer_sequence<int, most_rows<Way, type>>());

// With few rows each one reads all of B; with more, all rows read a panel while it is in the L1 cache.
template <class Way, WeightType type>
void multiply(const NarrowProduct &p, int64_t m) {
  constexpr int most = most_rows<Way, type>;
  const int64_t step = m <= most ? p.n : panel;
  for (int64_t j = 0; j < p.n; j += step)
    row_blocks<most>(m, [&](int64_t rows, int64_t i) HWY_ATTR { by_rows<Way, type>[rows - 1](p, i, j, j + step); });
}

template <class Way>
void multiply_integers(const NarrowProduct &p, int64_t m) {
  if (p.b.type == WeightType::int4)
    multiply<Way, WeightType::int4>(p, m);
  else
    multiply<Way, WeightType::int8>(p, m);
}

// How a row is quantized: its scale, the factor of its numbers, and whether its codes are not all zero.
struct Scaled {
  float scale, factor;
};
// The largest absolute value; NaN if there is one. As integers, such bit patterns have the same order, with NaN on top.
HWY_INLINE float largest_of(int64_t n, const float *a) {
  constexpr int chains = 4;
  VI most[chains];
  for (VI &m : most) m = hn::Zero(DI());
  const auto take = [](VI &m, V v) HWY_ATTR { m = hn::Max(m, hn::BitCast(DI(), hn::Abs(v))); };
  int64_t j = 0;
  for (; j + chains * lanes <= n; j += chains * lanes)
    for (int c = 0; c < chains; ++c) take(most[c], load(a + j + c * lanes));
  each(n - j, [&](int64_t i, auto io) HWY_ATTR { take(most[0], io.get(a + j + i)); });
  for (int c = 1; c < chains; ++c) most[0] = hn::Max(most[0], most[c]);
  return max_lanes(hn::BitCast(D(), most[0]));
}
HWY_INLINE Scaled scaled(float most) {
  const float scale = most / 127;
  if (!(most <= std::numeric_limits<float>::max())) return {std::numeric_limits<float>::quiet_NaN(), 0};
  if (scale < std::numeric_limits<float>::min()) return {0, 0};
  return {scale, 127 / most};
}

// Codes of n numbers, zero padded to a whole vector.
template <class Code>
HWY_INLINE void put_codes(int64_t n, const float *a, float factor, Code *to) {
  // Adding it rounds to an integer, ties to even, in the lowest bits.
  const V shift = set(12582912.0f), by = set(factor);
  const VI base = hn::Set(DI(), 0x4B400000 - 128);
  const hn::Rebind<Code, D> to_code;
  each(n, [&](int64_t j, auto io) HWY_ATTR {
    const V whole = hn::Add(factor == 0 ? hn::Zero(D()) : hn::Mul(io.get(a + j), by), shift);
    hn::StoreU(hn::DemoteTo(to_code, hn::Sub(hn::BitCast(DI(), whole), base)), to_code, to + j);
  });
}

template <class Code>
void rows_of_codes(int64_t m, int64_t k, const float *a, int64_t lda, float *scales, void *codes) {
  const int64_t stride = narrow_stride(k);
  auto *to = static_cast<Code *>(codes);
  for (int64_t i = 0; i < m; ++i, a += lda, to += stride) {
    const Scaled s = scaled(largest_of(k, a));
    scales[i] = s.scale;
    put_codes(k, a, s.factor, to);
    std::fill(to + k, to + stride, Code{128});
  }
}

template <class Code>
float image_of_codes(const NarrowImage &image, const float *src, void *codes) {
  const Scaled s = scaled(largest_of(image.rows * image.row, src));
  auto *to = static_cast<Code *>(codes);
  to = std::fill_n(to, image.above * image.width(), Code{128});
  for (int64_t y = 0; y < image.rows; ++y, src += image.row) {
    to = std::fill_n(to, image.left, Code{128});
    put_codes(image.row, src, s.factor, to);
    to = std::fill_n(to + image.row, image.right, Code{128});
  }
  std::fill_n(to, image.below * image.width(), Code{128});
  return s.scale;
}

}  // namespace

void narrow_all(const NarrowProduct &p, int64_t m) {
  if (p.b.type == WeightType::bfloat16) return multiply<Pairs, WeightType::bfloat16>(p, m);
#if HWY_TARGET == HWY_AVX3
  if (p.b.bytes_at_once) return multiply_integers<Vnni>(p, m);
#endif
  multiply_integers<Pairs>(p, m);
}

void codes_all(const NarrowWeights &b, int64_t m, const float *a, int64_t lda, float *scales, void *codes) {
#if HWY_TARGET == HWY_AVX3
  if (b.bytes_at_once) return rows_of_codes<Vnni::Code>(m, b.k, a, lda, scales, codes);
#endif
  rows_of_codes<Pairs::Code>(m, b.k, a, lda, scales, codes);
}

float image_all(const NarrowWeights &b, const NarrowImage &image, const float *src, void *codes) {
#if HWY_TARGET == HWY_AVX3
  if (b.bytes_at_once) return image_of_codes<Vnni::Code>(image, src, codes);
#else
  static_cast<void>(b);
#endif
  return image_of_codes<Pairs::Code>(image, src, codes);
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {

bool multiplies_bytes() { return (hwy::SupportedTargets() & HWY_AVX3_DL) != 0; }

HWY_EXPORT(narrow_all);
HWY_EXPORT(codes_all);
HWY_EXPORT(image_all);

namespace {
// The rows' scales, followed by their codes.
int64_t scale_bytes(int64_t m) { return round_up(m, 16) * 4; }
}  // namespace

int64_t narrow_scratch(int64_t m, int64_t k) {
  return checked_add(scale_bytes(m), checked_mul(m, narrow_stride(k), 2));
}

void narrow_rows(const NarrowWeights &b, int64_t m, const float *a, int64_t lda, void *scratch) noexcept {
  if (!b.is_integer()) return;
  HWY_DYNAMIC_DISPATCH(codes_all)
  (b, m, a, lda, static_cast<float *>(scratch), static_cast<std::byte *>(scratch) + scale_bytes(m));
}

void narrow_gemm(const NarrowWeights &b, int64_t m, int64_t first, int64_t n, const float *a, int64_t lda,
                 const void *scratch, const float *d, int64_t ldd, float *c, int64_t ldc, bool relu) noexcept {
  if (m <= 0 || n <= 0) return;
  NarrowRows codes{};
  if (b.is_integer())
    codes = {static_cast<const std::byte *>(scratch) + scale_bytes(m),
             static_cast<const float *>(scratch),
             narrow_stride(b.k),
             1,
             0,
             false};
  HWY_DYNAMIC_DISPATCH(narrow_all)({b, n, first, a, lda, codes, d, ldd, c, ldc, relu}, m);
}

void narrow_gemm(const NarrowWeights &b, int64_t m, int64_t first, int64_t n, const NarrowRows &a, const float *d,
                 int64_t ldd, float *c, int64_t ldc, bool relu) noexcept {
  if (m > 0 && n > 0) HWY_DYNAMIC_DISPATCH(narrow_all)({b, n, first, nullptr, 0, a, d, ldd, c, ldc, relu}, m);
}

int64_t narrow_code(const NarrowWeights &b) { return b.bytes_at_once ? 1 : 2; }

int64_t narrow_scratch(const NarrowWeights &b, const NarrowImage &image) {
  const int64_t rows = checked_add(image.above, image.rows, image.below);
  return checked_mul(checked_add(checked_mul(rows, image.width()), 64), narrow_code(b));
}

float narrow_codes(const NarrowWeights &b, const NarrowImage &image, const float *src, void *codes) noexcept {
  return HWY_DYNAMIC_DISPATCH(image_all)(b, image, src, codes);
}

}  // namespace dl4::kernels
#endif
