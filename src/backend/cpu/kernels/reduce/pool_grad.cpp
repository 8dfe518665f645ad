// Gradients of pooling.
#include "backend/cpu/kernels/reduce/pool.hpp"

#include <algorithm>

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/reduce/pool_grad.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/reduce/pool-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// Whether no two windows share a cell.
HWY_INLINE bool apart(const Pool &p) {
  auto gaps = [&](const PoolAxis &a) { return a.out == 1 || a.stride >= a.size; };
  return !p.adaptive && gaps(p.d) && gaps(p.h) && gaps(p.w);
}

// Whether gradients are computed for rows of pixels side by side. The same for every processor where sums have an
// order.
HWY_INLINE bool by_rows(const Pool &p, bool average) {
  if (p.adaptive || p.w.size > strip / p.c / 4) return false;
  return apart(p) ? average && p.c < 8 : average || p.c < 16;
}

// Sets the gradients of one image to 0, rows right before their windows add to them, while they are in a cache.
class Zeroes {
 public:
  Zeroes(const Pool &p, bool alone, float *dx) : p_(p), dx_(dx) {
    auto covered = [](const PoolAxis &a) { return a.stride <= a.size && a.out * a.stride - a.pad >= a.n; };
    if (alone && covered(p.d) && covered(p.h) && covered(p.w)) rows_ = p.d.n * p.h.n;
  }
  void before(const Cells &d, const Cells &h) { until((d.end - 1) * p_.h.n + h.end); }
  void rest() { until(p_.d.n * p_.h.n); }

 private:
  void until(int64_t rows) {
    const int64_t row = p_.w.n * p_.c;
    if (rows <= rows_) return;
    std::memset(dx_ + rows_ * row, 0, static_cast<size_t>((rows - rows_) * row) * sizeof(float));
    rows_ = rows;
  }

  const Pool &p_;
  float *dx_;
  int64_t rows_ = 0;  // that are written
};

// body(planes and rows of the windows, outputs of a row, offset of the first output) for outputs of one image whose
// windows fit a strip.
template <class Body>
HWY_INLINE void parts_of_rows(const Pool &p, float *dx, const Body &body) {
  Zeroes zeroes(p, false, dx);
  const int64_t most = (strip / p.c - 2 * p.w.size) / p.w.stride + 1;
  int64_t at = 0;
  for (int64_t od = 0; od < p.d.out; ++od)
    for (int64_t oh = 0; oh < p.h.out; ++oh) {
      const Window w{cells(p, p.d, od), cells(p, p.h, oh), {}};
      zeroes.before(w.d, w.h);
      for (int64_t begin = 0, end; begin < p.w.out; begin = end) {
        end = HWY_MIN(begin + most, p.w.out);
        body(w, Cells{begin, end}, at);
        at += (end - begin) * p.c;
      }
    }
  zeroes.rest();
}

// Pixels of x to every stride-th pixel of y.
HWY_INLINE void spread(const Pool &p, int64_t pixels, const float *x, float *y) {
  const int64_t together = p.w.stride == 1 ? pixels : 1;
  for (int64_t i = 0; i < pixels; i += together)
    each(together * p.c,
         [&](int64_t j, auto io) HWY_ATTR { io.put(io.get(x + i * p.c + j), y + i * p.w.stride * p.c + j); });
}

// Takes the gradient that is left for a maximum if x is it, or NaN.
HWY_INLINE V take(V x, V best, V &left) {
  const auto miss = hn::AndNot(hn::Eq(x, best), hn::Eq(x, x));
  const V taken = hn::IfThenZeroElse(miss, left);
  left = hn::IfThenElseZero(miss, left);
  return taken;
}

// Outputs of a row are spread to the stride, so that each cell of their windows is as far from one as from the next.
HWY_NOINLINE void max_grad_rows(const Pool &p, const float *x, const float *y, const float *dy, float *dx) {
  HWY_ALIGN float best[strip], left[strip];
  std::fill_n(best, strip, 0.0f);
  std::fill_n(left, strip, 0.0f);
  const int64_t c = p.c;
  parts_of_rows(p, dx, [&](Window w, const Cells &part, int64_t at) HWY_ATTR {
    spread(p, part.size(), y + at, best);
    spread(p, part.size(), dy + at, left);
    const int64_t first = part.begin * p.w.stride - p.w.pad, places = (part.size() - 1) * p.w.stride + 1;
    rows(p, w, [&](int64_t row) HWY_ATTR {
      for (int64_t t = first; t < first + p.w.size; ++t) {  // the cell of the first place
        const int64_t begin = HWY_MAX(-t, int64_t{0}) * c, end = HWY_MIN(places, p.w.n - t) * c, cell = row + t * c;
        each(end - begin, [&](int64_t j, auto io) HWY_ATTR {
          const int64_t i = begin + j;
          V rest = io.get(left + i);
          const V taken = take(io.get(x + cell + i), io.get(best + i), rest);
          io.put(rest, left + i);
          io.put(hn::Add(io.get(dx + cell + i), taken), dx + cell + i);
        });
      }
    });
  });
}

// A row's shares are added along the width once, for all rows and planes of its windows.
HWY_NOINLINE void average_grad_rows(const Pool &p, const float *, const float *, const float *dy, float *dx) {
  HWY_ALIGN float shares[strip + lanes], sums[strip + lanes];
  const int64_t c = p.c, margin = (p.w.size - 1) * c;
  parts_of_rows(p, dx, [&](Window w, const Cells &part, int64_t at) HWY_ATTR {
    const int64_t first = part.begin * p.w.stride - p.w.pad;
    const int64_t pixels = (part.size() - 1) * p.w.stride + p.w.size;  // that the windows cover
    std::fill_n(shares, pixels * c + margin + lanes, 0.0f);
    for (int64_t i = 0; i < part.size(); ++i) {
      w.w = cells(p, p.w, part.begin + i);
      const V count = set(w.count());
      each(c, [&](int64_t j, auto io) HWY_ATTR {
        io.put(hn::Div(io.get(dy + at + i * c + j), count), shares + margin + i * p.w.stride * c + j);
      });
    }
    for (int64_t i = 0; i < pixels * c; i += lanes) {
      V sum = load(shares + i);
      for (int64_t t = 1; t < p.w.size; ++t) sum = hn::Add(sum, load(shares + i + t * c));
      store(sum, sums + i);
    }
    w.w = {HWY_MAX(first, int64_t{0}), HWY_MIN(first + pixels, p.w.n)};
    const float *const inside = sums + (w.w.begin - first) * c;
    rows(p, w, [&](int64_t row) HWY_ATTR {
      each(w.w.size() * c, [&](int64_t i, auto io)
                               HWY_ATTR { io.put(hn::Add(io.get(dx + row + i), io.get(inside + i)), dx + row + i); });
    });
  });
}

// N vectors of a window's gradient to its cells. `alone`: which no other window has.
template <bool is_max, bool alone, int N, class IO>
HWY_INLINE void grad_vectors(const Pool &p, const Window &w, const float *x, const float *y, const float *dy, float *dx,
                             IO io) {
  V best[N], left[N];
  DL4_UNROLL
  for (int j = 0; j < N; ++j) {
    left[j] = io.get(dy + j * lanes);
    if (is_max) best[j] = io.get(y + j * lanes);
    if (!is_max) left[j] = hn::Div(left[j], set(w.count()));
  }
  rows(p, w, [&](int64_t cell) HWY_ATTR {
    for (int64_t i = w.w.begin; i < w.w.end; ++i, cell += p.c) {
      DL4_UNROLL
      for (int j = 0; j < N; ++j) {
        float *const to = dx + cell + j * lanes;
        const V taken = is_max ? take(io.get(x + cell + j * lanes), best[j], left[j]) : left[j];
        io.put(alone ? taken : hn::Add(io.get(to), taken), to);
      }
    }
  });
}

template <bool is_max, bool alone>
HWY_NOINLINE void grad_windows(const Pool &p, const float *x, const float *y, const float *dy, float *dx) {
  Zeroes zeroes(p, alone, dx);
  for (int64_t od = 0; od < p.d.out; ++od)
    for (int64_t oh = 0; oh < p.h.out; ++oh) {
      zeroes.before(cells(p, p.d, od), cells(p, p.h, oh));
      for (int64_t ow = 0; ow < p.w.out; ++ow, y += p.c, dy += p.c) {
        const Window w = window(p, od, oh, ow);
        int64_t c = 0;
        for (; c + 4 * lanes <= p.c; c += 4 * lanes)
          grad_vectors<is_max, alone, 4>(p, w, x + c, y + c, dy + c, dx + c, Full());
        for (; c + 2 * lanes <= p.c; c += 2 * lanes)
          grad_vectors<is_max, alone, 2>(p, w, x + c, y + c, dy + c, dx + c, Full());
        each(p.c - c, [&](int64_t i, auto io) HWY_ATTR {
          i += c;
          grad_vectors<is_max, alone, 1>(p, w, x + i, y + i, dy + i, dx + i, io);
        });
      }
    }
  zeroes.rest();
}

}  // namespace

void max_grad_all(const Pool &p, const float *x, const float *y, const float *dy, float *dx, int64_t begin,
                  int64_t end) {
  const int64_t in = p.cells() * p.c, out = p.outputs() * p.c;
  const auto run = by_rows(p, false) ? max_grad_rows : apart(p) ? grad_windows<true, true> : grad_windows<true, false>;
  for (int64_t n = begin; n < end; ++n) run(p, x + n * in, y + n * out, dy + n * out, dx + n * in);
}

void average_grad_all(const Pool &p, const float *dy, float *dx, int64_t begin, int64_t end) {
  const int64_t in = p.cells() * p.c, out = p.outputs() * p.c;
  const auto run = by_rows(p, true) ? average_grad_rows
                   : apart(p)       ? grad_windows<false, true>
                                    : grad_windows<false, false>;
  for (int64_t n = begin; n < end; ++n) run(p, nullptr, nullptr, dy + n * out, dx + n * in);
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(max_grad_all);
HWY_EXPORT(average_grad_all);

void max_pool_grad(const Pool &p, const float *x, const float *y, const float *dy, float *dx, int64_t begin,
                   int64_t end) noexcept {
  HWY_DYNAMIC_DISPATCH(max_grad_all)(p, x, y, dy, dx, begin, end);
}
void average_pool_grad(const Pool &p, const float *dy, float *dx, int64_t begin, int64_t end) noexcept {
  HWY_DYNAMIC_DISPATCH(average_grad_all)(p, dy, dx, begin, end);
}

}  // namespace dl4::kernels
#endif
