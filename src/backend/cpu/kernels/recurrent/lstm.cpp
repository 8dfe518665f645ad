// One LSTM step and its gradient, by instruction set. The time loops are in lstm_loop.cpp.
#include "backend/cpu/kernels/recurrent/lstm.hpp"

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/recurrent/lstm.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/halves-inl.hpp"
#include "backend/cpu/kernels/simd/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// A quotient whose division is deferred, so that expressions divide once. `under` is in [1, 2].
struct Fraction {
  V over, under;
  HWY_INLINE V value() const { return hn::Mul(over, reciprocal(under)); }
};

HWY_INLINE Fraction sigmoid_fraction(V x) {
  const V e = exp_negative(hn::Neg(hn::Abs(x)));
  return {hn::IfThenElse(hn::Lt(x, hn::Zero(D())), e, set(1)), hn::Add(e, set(1))};
}

HWY_INLINE Fraction tanh_fraction(V x) {
  const V e = expm1_negative(hn::Mul(hn::Abs(x), set(-2)));
  return {hn::CopySign(e, x), hn::Add(e, set(2))};
}

// d * sigmoid'(z), where s = sigmoid(z).
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

void cell_all(const LstmCell &p) {
  const int64_t n = p.units, apart = p.apart;
  const bool keep = p.keep;
  for (int64_t r = 0; r < p.rows; ++r) {
    const float *before = p.c_prev.row(r);
    float *gates = p.gates.row(r), *c = p.c.row(r), *h = p.h.row(r);
    if (p.mask.first && !*p.mask.row(r)) {
      copy_or_zero(n, before, c);
      copy_or_zero(n, p.h_prev.row(r), h);
      continue;
    }
    each_or_half(n, [&](int64_t j, auto io) HWY_ATTR {
      float *g = gates + j;
      const Fraction i = sigmoid_fraction(io.get(g)), f = sigmoid_fraction(io.get(g + apart)),
                     a = tanh_fraction(io.get(g + 2 * apart)), o = sigmoid_fraction(io.get(g + 3 * apart));
      const V c0 = before ? io.get(before + j) : hn::Zero(D());
      if (keep) {
        const V in = i.value(), forget = f.value(), candidate = a.value(), out = o.value();
        io.put(in, g);
        io.put(forget, g + apart);
        io.put(candidate, g + 2 * apart);
        io.put(out, g + 3 * apart);
        const V cell = hn::MulAdd(forget, c0, hn::Mul(in, candidate));
        io.put(cell, c + j);
        io.put(hn::Mul(out, tanh_fraction(cell).value()), h + j);
      } else {
        const V under = hn::Mul(i.under, a.under);
        const V cell = hn::Mul(hn::MulAdd(hn::Mul(f.over, c0), under, hn::Mul(hn::Mul(i.over, a.over), f.under)),
                               reciprocal(hn::Mul(f.under, under)));
        const Fraction t = tanh_fraction(cell);
        io.put(cell, c + j);
        io.put(hn::Mul(hn::Mul(o.over, t.over), reciprocal(hn::Mul(o.under, t.under))), h + j);
      }
    });
  }
}

void cell_grad_all(const LstmCellGrad &p) {
  const int64_t n = p.units, apart = p.apart;
  for (int64_t r = 0; r < p.rows; ++r) {
    const float *gates = p.gates.row(r), *before = p.c_prev.row(r), *c = p.c.row(r), *dh = p.dh.row(r);
    float *dc = p.dc.row(r), *dgates = p.dgates.row(r);
    if (p.mask.first && !*p.mask.row(r)) {
      for (int64_t g = 0; g < 4; ++g) copy_or_zero(n, nullptr, dgates + g * apart);
      continue;
    }
    each(n, [&](int64_t j, auto io) HWY_ATTR {
      const float *g = gates + j;
      const V i = io.get(g), f = io.get(g + apart), a = io.get(g + 2 * apart), o = io.get(g + 3 * apart);
      const V t = tanh(io.get(c + j)), d = io.get(dh + j);
      const V cell = hn::Add(io.get(dc + j), tanh_slope(hn::Mul(d, o), t));
      float *z = dgates + j;
      io.put(sigmoid_slope(hn::Mul(cell, a), i), z);
      io.put(before ? sigmoid_slope(hn::Mul(cell, io.get(before + j)), f) : hn::Zero(D()), z + apart);
      io.put(tanh_slope(hn::Mul(cell, i), a), z + 2 * apart);
      io.put(sigmoid_slope(hn::Mul(d, t), o), z + 3 * apart);
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

void lstm_cell(const LstmCell &cell) noexcept { HWY_DYNAMIC_DISPATCH(cell_all)(cell); }
void lstm_cell_grad(const LstmCellGrad &cell) noexcept { HWY_DYNAMIC_DISPATCH(cell_grad_all)(cell); }

}  // namespace dl4::kernels
#endif
