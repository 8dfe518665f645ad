// The first bytes of many strings, by instruction set.
#include <algorithm>

#include "backend/cpu/kernels/simd/simd.hpp"
#include "backend/cpu/kernels/text/text.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/text/words.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

void words_all(const String *x, int64_t n, Words *y) {
  constexpr int64_t ahead = 64;  // each string's bytes are in a cache line of their own, which is asked for early
  for (int64_t i = 0; i < n; ++i) {
    __builtin_prefetch(x[std::min(i + ahead, n - 1)].data);
#if HWY_TARGET == HWY_AVX3
    // Loads nothing behind the end, which may be that of the memory.
    const hn::FixedTag<uint8_t, sizeof(Words)> d;
    const auto bytes = hn::FirstN(d, static_cast<size_t>(std::min<int64_t>(x[i].size, sizeof(Words))));
    hn::StoreU(hn::MaskedLoad(bytes, d, reinterpret_cast<const uint8_t *>(x[i].data)), d,
               reinterpret_cast<uint8_t *>(y + i));
#else
    y[i] = dl4::words_of(x[i].view());
#endif
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(words_all);

void words_of(std::span<const String> x, Words *y) noexcept {
  HWY_DYNAMIC_DISPATCH(words_all)(x.data(), static_cast<int64_t>(x.size()), y);
}

}  // namespace dl4::kernels
#endif
