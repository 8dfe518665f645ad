// One LSTM step and its gradient, by instruction set; the time loops are in lstm_loop.cpp.
#include "kernels/lstm.hpp"

#include "kernels/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lstm.cpp"
#include "hwy/foreach_target.h"
#include "kernels/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// d s(z) where s = sigmoid(z).
HWY_INLINE V sigmoid_slope(V d, V s) { return hn::Mul(d, hn::Mul(s, hn::Sub(set(1), s))); }
HWY_INLINE V tanh_slope(V d, V t) { return hn::Mul(d, hn::NegMulAdd(t, t, set(1))); }

void copy_or_zero(int64_t n, const float *from, float *to) {
  if (from == to) return;
  if (from)
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
  else
    std::memset(to, 0, static_cast<size_t>(n) * sizeof(float));
}

}  // namespace

void cell_all(int64_t rows, int64_t n, float *gates, int64_t ld_gates, const float *c_prev, int64_t ld_c_prev,
              const float *h_prev, int64_t ld_h_prev, const uint8_t *mask, int64_t mask_step, float *c, int64_t ld_c,
              float *h, int64_t ld_h) {
  for (int64_t r = 0; r < rows; ++r, gates += ld_gates, c += ld_c, h += ld_h) {
    const float *before = c_prev ? c_prev + r * ld_c_prev : nullptr;
    if (mask && !mask[r * mask_step]) {
      copy_or_zero(n, before, c);
      copy_or_zero(n, h_prev ? h_prev + r * ld_h_prev : nullptr, h);
      continue;
    }
    each(n, [&](int64_t j, auto io) HWY_ATTR {
      float *g = gates + j;
      const V i = sigmoid(io.get(g)), f = sigmoid(io.get(g + n)), a = tanh(io.get(g + 2 * n)),
              o = sigmoid(io.get(g + 3 * n));
      io.put(i, g);
      io.put(f, g + n);
      io.put(a, g + 2 * n);
      io.put(o, g + 3 * n);
      V cell = hn::Mul(i, a);
      if (before) cell = hn::MulAdd(f, io.get(before + j), cell);
      io.put(cell, c + j);
      io.put(hn::Mul(o, tanh(cell)), h + j);
    });
  }
}

void cell_grad_all(int64_t rows, int64_t n, const float *gates, int64_t ld_gates, const float *c_prev,
                   int64_t ld_c_prev, const float *c, int64_t ld_c, const float *dh, int64_t ld_dh, const uint8_t *mask,
                   int64_t mask_step, float *dc, int64_t ld_dc, float *dgates, int64_t ld_dgates) {
  for (int64_t r = 0; r < rows; ++r, gates += ld_gates, c += ld_c, dh += ld_dh, dc += ld_dc, dgates += ld_dgates) {
    if (mask && !mask[r * mask_step]) {
      copy_or_zero(4 * n, nullptr, dgates);
      continue;
    }
    const float *before = c_prev ? c_prev + r * ld_c_prev : nullptr;
    each(n, [&](int64_t j, auto io) HWY_ATTR {
      const float *g = gates + j;
      const V i = io.get(g), f = io.get(g + n), a = io.get(g + 2 * n), o = io.get(g + 3 * n);
      const V t = tanh(io.get(c + j)), d = io.get(dh + j);
      const V cell = hn::Add(io.get(dc + j), tanh_slope(hn::Mul(d, o), t));
      float *z = dgates + j;
      io.put(sigmoid_slope(hn::Mul(cell, a), i), z);
      io.put(before ? sigmoid_slope(hn::Mul(cell, io.get(before + j)), f) : hn::Zero(D()), z + n);
      io.put(tanh_slope(hn::Mul(cell, i), a), z + 2 * n);
      io.put(sigmoid_slope(hn::Mul(d, t), o), z + 3 * n);
      io.put(hn::Mul(cell, f), dc + j);
    });
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(cell_all);
HWY_EXPORT(cell_grad_all);

void lstm_cell(int64_t rows, int64_t hidden, float *gates, int64_t ld_gates, const float *c_prev, int64_t ld_c_prev,
               const float *h_prev, int64_t ld_h_prev, const uint8_t *mask, int64_t mask_step, float *c, int64_t ld_c,
               float *h, int64_t ld_h) noexcept {
  HWY_DYNAMIC_DISPATCH(cell_all)
  (rows, hidden, gates, ld_gates, c_prev, ld_c_prev, h_prev, ld_h_prev, mask, mask_step, c, ld_c, h, ld_h);
}

void lstm_cell_grad(int64_t rows, int64_t hidden, const float *gates, int64_t ld_gates, const float *c_prev,
                    int64_t ld_c_prev, const float *c, int64_t ld_c, const float *dh, int64_t ld_dh,
                    const uint8_t *mask, int64_t mask_step, float *dc, int64_t ld_dc, float *dgates,
                    int64_t ld_dgates) noexcept {
  HWY_DYNAMIC_DISPATCH(cell_grad_all)
  (rows, hidden, gates, ld_gates, c_prev, ld_c_prev, c, ld_c, dh, ld_dh, mask, mask_step, dc, ld_dc, dgates, ld_dgates);
}

}  // namespace dl4::kernels
#endif
