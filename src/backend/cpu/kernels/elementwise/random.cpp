// Random fills: several Philox blocks at once, one per 32-bit lane.
#include "backend/cpu/kernels/elementwise/random.hpp"

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/simd/simd.hpp"
#include "base/math.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/elementwise/random.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

inline constexpr int64_t chunk = 16;  // blocks generated together, for every instruction set

// The words of `chunk` blocks from `block` on.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void blocks(Stream s, uint64_t block, uint32_t *words) {
  for (int64_t j = 0; j < chunk; ++j) {
    const PhiloxBlock b = philox(s, block + static_cast<uint64_t>(j));
    std::copy(b.begin(), b.end(), words + 4 * j);
  }
}
#else
// One block per 64-bit lane: low halves are Philox's words, high halves are ignored.
HWY_INLINE void blocks(Stream s, uint64_t block, uint32_t *words) {
  using D64 = hn::ScalableTag<uint64_t>;
  using V64 = hn::Vec<D64>;
  const D64 d;
  const hn::ScalableTag<uint32_t> half;
  const auto product = [=](V64 v, uint32_t m) HWY_ATTR { return hn::MulEven(hn::BitCast(half, v), hn::Set(half, m)); };
  constexpr int64_t together = hn::MaxLanes(D64());
  static_assert(chunk % together == 0);
  const V64 low = hn::Set(d, 0xffffffffu);
  for (int64_t j = 0; j < chunk; j += together) {
    V64 c0 = hn::Iota(d, static_cast<uint64_t>(block + static_cast<uint64_t>(j))), c1 = hn::ShiftRight<32>(c0);
    V64 c2 = hn::Set(d, s.id), c3 = hn::Set(d, s.id >> 32);
    uint32_t k0 = static_cast<uint32_t>(s.seed), k1 = static_cast<uint32_t>(s.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const V64 p0 = product(c0, 0xD2511F53u), p1 = product(c2, 0xCD9E8D57u);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), hn::Set(d, k0));
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), hn::Set(d, k1));
      c1 = p1;
      c3 = p0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    HWY_ALIGN uint64_t first[together], second[together];
    hn::Store(hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1)), d, first);
    hn::Store(hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3)), d, second);
    for (int64_t i = 0; i < together; ++i) {
      std::memcpy(words + 4 * (j + i), first + i, sizeof(uint64_t));
      std::memcpy(words + 4 * (j + i) + 2, second + i, sizeof(uint64_t));
    }
  }
}
#endif

// In [0, 1), from 23 random bits.
HWY_INLINE V unit(const uint32_t *words) {
  VI u = hn::LoadU(DI(), reinterpret_cast<const int32_t *>(words));
  u = hn::Or(hn::And(u, hn::Set(DI(), 0x7fffff)), hn::Set(DI(), 0x3f800000));
  return hn::Sub(hn::BitCast(D(), u), set(1));
}

// Elements [first, first + n) in chunks: make(words, values) turns 4 * chunk words into as many floats; body(values, i,
// m) takes the m of them that belong at i.
template <class Make, class Body>
HWY_INLINE void chunks(Stream s, int64_t first, int64_t n, const Make &make, const Body &body) {
  constexpr int64_t size = 4 * chunk;
  HWY_ALIGN uint32_t words[size];
  HWY_ALIGN float values[size];
  const int64_t end = first + n;
  for (int64_t at = first / size * size; at < end; at += size) {
    blocks(s, static_cast<uint64_t>(at) / 4, words);
    make(words, values);
    const int64_t from = HWY_MAX(at, first), to = HWY_MIN(at + size, end);
    body(values + (from - at), from - first, to - from);
  }
}

// Box-Muller on pairs (f0, f1): sine part, cosine part.
HWY_INLINE void normal_chunk(const uint32_t *words, float *values) {
  constexpr int64_t pairs = 2 * chunk;
  HWY_ALIGN float f0[pairs], f1[pairs];
  for (int64_t i = 0; i < 4 * chunk; i += lanes) hn::StoreU(unit(words + i), D(), values + i);
  for (int64_t j = 0; j < pairs; ++j) {
    f0[j] = values[2 * j];
    f1[j] = values[2 * j + 1];
  }
  for (int64_t j = 0; j < pairs; j += lanes) {
    const V r = hn::Sqrt(hn::Mul(set(-2), log(hn::Max(load(f0 + j), set(1e-7f)))));
    const SinCos a = sin_cos(hn::Mul(set(6.283185307179586f), load(f1 + j)));
    store(hn::Mul(a.sin, r), f0 + j);
    store(hn::Mul(a.cos, r), f1 + j);
  }
  for (int64_t j = 0; j < pairs; ++j) {
    values[2 * j] = f0[j];
    values[2 * j + 1] = f1[j];
  }
}

HWY_INLINE void uniform_chunk(const uint32_t *words, float *values) {
  for (int64_t i = 0; i < 4 * chunk; i += lanes) store(unit(words + i), values + i);
}

}  // namespace

void uniform_all(Stream s, int64_t first, float low, float high, float *y, int64_t n) {
  const V span = set(high - low), base = set(low);
  chunks(s, first, n, uniform_chunk, [=](const float *v, int64_t i, int64_t m) HWY_ATTR {
    // Separate multiplication and addition: the same bits with and without FMA.
    map(v, y + i, m, [=](V u) HWY_ATTR { return hn::Add(hn::Mul(u, span), base); });
  });
}

void normal_all(Stream s, int64_t first, float mean, float stddev, float *y, int64_t n) {
  const V scale = set(stddev), base = set(mean);
  chunks(s, first, n, normal_chunk, [=](const float *v, int64_t i, int64_t m) HWY_ATTR {
    map(v, y + i, m, [=](V u) HWY_ATTR { return hn::Add(hn::Mul(u, scale), base); });
  });
}

void keep_all(Stream s, int64_t first, float rate, float *y, int64_t n) {
  const V threshold = set(rate), kept = set(static_cast<float>(1 / (1 - static_cast<double>(rate))));
  chunks(s, first, n, uniform_chunk, [=](const float *v, int64_t i, int64_t m) HWY_ATTR {
    map(v, y + i, m, [=](V u) HWY_ATTR { return hn::IfThenElseZero(hn::Ge(u, threshold), kept); });
  });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(uniform_all);
HWY_EXPORT(normal_all);
HWY_EXPORT(keep_all);

void fill_uniform(Stream s, int64_t first, float low, float high, float *y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(uniform_all)(s, first, low, high, y, n);
}
void fill_normal(Stream s, int64_t first, float mean, float stddev, float *y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(normal_all)(s, first, mean, stddev, y, n);
}
void keep_mask(Stream s, int64_t first, float rate, float *y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(keep_all)(s, first, rate, y, n);
}

void fill_truncated_normal(Stream s, int64_t first, float mean, float stddev, float *y, int64_t n) noexcept {
  // Each group of four draws words from its own 256 blocks until four values are within bounds.
  auto unit = [](uint32_t w) { return static_cast<float>(w & 0x7fffff) * 0x1p-23f; };
  for (int64_t group = first / 4; group * 4 < first + n; ++group) {
    PhiloxWords words(s, static_cast<uint64_t>(group) * 256);
    for (int64_t at = group * 4; at < group * 4 + 4;) {
      const float f0 = std::max(unit(words.next()), 1e-7f), angle = 6.283185307179586f * unit(words.next());
      const float r = std::sqrt(-2 * math::log(f0));
      for (const float v : {math::sin(angle) * r, math::cos(angle) * r}) {
        if (!(std::fabs(v) < 2) || at >= group * 4 + 4) continue;
        if (at >= first && at < first + n) y[at - first] = v * stddev + mean;
        ++at;
      }
    }
  }
}

}  // namespace dl4::kernels
#endif
