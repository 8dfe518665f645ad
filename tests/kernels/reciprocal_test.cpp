// The reciprocal of the vector functions is that of a division, on every instruction set.
#include <cstring>
#include <vector>

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reciprocal_test.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
void reciprocals(const float *x, float *y, int64_t n) {
  map(x, y, n, [](V v) HWY_ATTR { return reciprocal(v); });
}
}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/targets.hpp"

namespace dl4::kernels {
namespace {
HWY_EXPORT(reciprocals);

TEST(Reciprocal, OfEveryMantissaIsTheNearestNumber) {
  constexpr uint32_t mantissas = 1u << 23, block = 1u << 12;
  std::vector<float> x(block), y(block);
  on_every_target([&] {
    for (const uint32_t exponent : {127u, 128u, 251u})
      for (uint32_t begin = 0; begin < mantissas; begin += block) {
        for (uint32_t i = 0; i < block; ++i) {
          const uint32_t bits = exponent << 23 | (begin + i);
          std::memcpy(&x[i], &bits, sizeof bits);
        }
        HWY_DYNAMIC_DISPATCH(reciprocals)(x.data(), y.data(), block);
        for (uint32_t i = 0; i < block; ++i)
          if (y[i] != 1 / x[i]) FAIL() << "1 / " << x[i] << " is " << y[i];
      }
  });
}

}  // namespace
}  // namespace dl4::kernels
#endif
