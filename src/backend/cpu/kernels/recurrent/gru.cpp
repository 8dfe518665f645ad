// One GRU step and its gradient, by instruction set.
#include "backend/cpu/kernels/recurrent/gru.hpp"

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/recurrent/gru.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/halves-inl.hpp"
#include "backend/cpu/kernels/simd/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

void gru_all(int64_t rows, int64_t n, const float *x, const float *r, const float *before, float *after) {
  for (int64_t row = 0; row < rows; ++row, x += 3 * n, r += 3 * n, before += n, after += n) {
    each_or_half(n, [&](int64_t j, auto io) HWY_ATTR {
      const V z = sigmoid(hn::Add(io.get(x + j), io.get(r + j)));
      const V reset = sigmoid(hn::Add(io.get(x + n + j), io.get(r + n + j)));
      const V candidate = tanh(hn::MulAdd(reset, io.get(r + 2 * n + j), io.get(x + 2 * n + j)));
      io.put(hn::MulAdd(z, hn::Sub(io.get(before + j), candidate), candidate), after + j);
    });
  }
}

void gru_grad_all(int64_t rows, int64_t n, const float *x, const float *r, const float *before, const float *d,
                  float *dx, float *dr, float *dbefore) {
  for (int64_t row = 0; row < rows; ++row) {
    const float *xs = x + row * 3 * n, *rs = r + row * 3 * n;
    each(n, [&](int64_t j, auto io) HWY_ATTR {
      const V one = set(1), inner = io.get(rs + 2 * n + j), diff = io.get(d + row * n + j);
      const V z = sigmoid(hn::Add(io.get(xs + j), io.get(rs + j)));
      const V reset = sigmoid(hn::Add(io.get(xs + n + j), io.get(rs + n + j)));
      const V candidate = tanh(hn::MulAdd(reset, inner, io.get(xs + 2 * n + j)));
      const V by_z =
          hn::Mul(hn::Mul(diff, hn::Sub(io.get(before + row * n + j), candidate)), hn::Mul(z, hn::Sub(one, z)));
      const V by_candidate = hn::Mul(hn::Mul(diff, hn::Sub(one, z)), hn::NegMulAdd(candidate, candidate, one));
      const V by_reset = hn::Mul(hn::Mul(by_candidate, inner), hn::Mul(reset, hn::Sub(one, reset)));
      for (float *to : {dx, dr}) {
        if (!to) continue;
        io.put(by_z, to + row * 3 * n + j);
        io.put(by_reset, to + row * 3 * n + n + j);
        io.put(to == dx ? by_candidate : hn::Mul(by_candidate, reset), to + row * 3 * n + 2 * n + j);
      }
      if (dbefore) io.put(hn::Mul(diff, z), dbefore + row * n + j);
    });
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(gru_all);
HWY_EXPORT(gru_grad_all);

void gru_cell(int64_t rows, int64_t hidden, const float *x, const float *r, const float *before,
              float *after) noexcept {
  HWY_DYNAMIC_DISPATCH(gru_all)(rows, hidden, x, r, before, after);
}

void gru_cell_grad(int64_t rows, int64_t hidden, const float *x, const float *r, const float *before, const float *d,
                   float *dx, float *dr, float *dbefore) noexcept {
  HWY_DYNAMIC_DISPATCH(gru_grad_all)(rows, hidden, x, r, before, d, dx, dr, dbefore);
}

}  // namespace dl4::kernels
#endif
