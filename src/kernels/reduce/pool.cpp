// Pooling, vectorised over channels.
#include "kernels/reduce/pool.hpp"

#include <algorithm>
#include <limits>

#include "kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/pool.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// The real cells of a window: rows [h0, h1), columns [w0, w1) of the image.
struct Window {
  int64_t h0, h1, w0, w1;
  float cells() const { return static_cast<float>((h1 - h0) * (w1 - w0)); }
};

HWY_INLINE Window window(const Pool &p, int64_t oh, int64_t ow) {
  const int64_t top = oh * p.stride_h - p.pad_top, left = ow * p.stride_w - p.pad_left;
  return {HWY_MAX(top, int64_t{0}), HWY_MIN(top + p.kh, p.h), HWY_MAX(left, int64_t{0}), HWY_MIN(left + p.kw, p.w)};
}

// All channels of the window's cells, four vectors at a time, folded into y.
template <bool is_max>
HWY_INLINE void fold(const Pool &p, const float *image, const Window &w, float *y) {
  const V start = set(is_max ? -std::numeric_limits<float>::infinity() : 0.0f), cells = set(w.cells());
  auto step = [&](V a, V v) HWY_ATTR { return is_max ? max_nan(a, v) : hn::Add(a, v); };
  auto finish = [&](V a) HWY_ATTR { return is_max ? a : hn::Div(a, cells); };
  int64_t c = 0;
  for (; c + 4 * lanes <= p.c; c += 4 * lanes) {
    V a0 = start, a1 = start, a2 = start, a3 = start;
    for (int64_t h = w.h0; h < w.h1; ++h) {
      const float *x = image + (h * p.w + w.w0) * p.c + c;
      for (int64_t i = w.w0; i < w.w1; ++i, x += p.c) {
        a0 = step(a0, load(x));
        a1 = step(a1, load(x + lanes));
        a2 = step(a2, load(x + 2 * lanes));
        a3 = step(a3, load(x + 3 * lanes));
      }
    }
    store(finish(a0), y + c);
    store(finish(a1), y + c + lanes);
    store(finish(a2), y + c + 2 * lanes);
    store(finish(a3), y + c + 3 * lanes);
  }
  for (; c < p.c; c += lanes) {
    const int64_t m = HWY_MIN(lanes, p.c - c);
    V a = start;
    for (int64_t h = w.h0; h < w.h1; ++h) {
      const float *x = image + (h * p.w + w.w0) * p.c + c;
      for (int64_t i = w.w0; i < w.w1; ++i, x += p.c) a = step(a, m == lanes ? load(x) : load_n(x, m));
    }
    if (m == lanes)
      store(finish(a), y + c);
    else
      store_n(finish(a), y + c, m);
  }
}

inline constexpr int64_t strip = 1024;  // floats

// A row of outputs y of fewer channels than lanes: rows of windows are folded first, many pixels side by side.
template <bool is_max>
HWY_INLINE void narrow_row(const Pool &p, const float *image, int64_t oh, float *y) {
  const V start = set(is_max ? -std::numeric_limits<float>::infinity() : 0.0f);
  auto step = [&](V a, V v) HWY_ATTR { return is_max ? max_nan(a, v) : hn::Add(a, v); };
  HWY_ALIGN float column[strip + lanes];
  const int64_t together = (strip / p.c - p.kw) / p.stride_w + 1;
  for (int64_t begin = 0; begin < p.ow; begin += together) {
    const int64_t end = HWY_MIN(begin + together, p.ow);
    const Window first = window(p, oh, begin);
    const float *x = image + first.w0 * p.c;
    const int64_t width = (window(p, oh, end - 1).w1 - first.w0) * p.c;
    each(width, [&](int64_t i, auto io) HWY_ATTR {
      V a = start;
      for (int64_t h = first.h0; h < first.h1; ++h) a = step(a, io.get(x + h * p.w * p.c + i));
      io.put(a, column + i);
    });
    store(start, column + width);  // read beyond the last pixel, not used
    for (int64_t ow = begin; ow < end; ++ow) {
      const Window w = window(p, oh, ow);
      V a = start;
      for (int64_t i = w.w0; i < w.w1; ++i) a = step(a, load(column + (i - first.w0) * p.c));
      if (!is_max) a = hn::Div(a, set(w.cells()));
      if ((p.ow - ow) * p.c >= lanes)
        store(a, y + ow * p.c);  // what is too much, the next ones write again
      else
        store_n(a, y + ow * p.c, p.c);
    }
  }
}

template <bool is_max>
void forward(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) {
  const bool narrow = p.c < lanes && p.kw <= strip / p.c;
  for (int64_t r = begin; r < end; ++r) {
    const float *image = x + r / p.oh * p.h * p.w * p.c;
    float *row = y + r * p.ow * p.c;
    if (narrow) {
      narrow_row<is_max>(p, image, r % p.oh, row);
      continue;
    }
    for (int64_t ow = 0; ow < p.ow; ++ow) fold<is_max>(p, image, window(p, r % p.oh, ow), row + ow * p.c);
  }
}

// body(window, first channel, channels of the vector, offset of the output) for each output of one image.
template <class Body>
HWY_INLINE void outputs(const Pool &p, const Body &body) {
  for (int64_t oh = 0; oh < p.oh; ++oh)
    for (int64_t ow = 0; ow < p.ow; ++ow) {
      const Window w = window(p, oh, ow);
      for (int64_t c = 0; c < p.c; c += lanes) body(w, c, HWY_MIN(lanes, p.c - c), (oh * p.ow + ow) * p.c + c);
    }
}

HWY_INLINE V read(const float *p, int64_t m) { return m == lanes ? load(p) : load_n(p, m); }
HWY_INLINE void write(V v, float *p, int64_t m) {
  if (m == lanes)
    store(v, p);
  else
    store_n(v, p, m);
}

void max_grad_image(const Pool &p, const float *x, const float *y, const float *dy, float *dx) {
  outputs(p, [&](const Window &w, int64_t c, int64_t m, int64_t at) HWY_ATTR {
    const V best = read(y + at, m);
    V left = read(dy + at, m);  // what no cell has taken yet
    auto open = hn::Eq(hn::Zero(D()), hn::Zero(D()));
    for (int64_t h = w.h0; h < w.h1; ++h)
      for (int64_t i = w.w0; i < w.w1; ++i) {
        const int64_t cell = (h * p.w + i) * p.c + c;
        const V v = read(x + cell, m);
        const auto hit = hn::And(open, hn::Or(hn::Eq(v, best), hn::IsNaN(v)));
        write(hn::Add(read(dx + cell, m), hn::IfThenElseZero(hit, left)), dx + cell, m);
        open = hn::AndNot(hit, open);
      }
  });
}

void average_grad_image(const Pool &p, const float *dy, float *dx) {
  outputs(p, [&](const Window &w, int64_t c, int64_t m, int64_t at) HWY_ATTR {
    const V share = hn::Div(read(dy + at, m), set(w.cells()));
    for (int64_t h = w.h0; h < w.h1; ++h)
      for (int64_t i = w.w0; i < w.w1; ++i) {
        float *cell = dx + (h * p.w + i) * p.c + c;
        write(hn::Add(read(cell, m), share), cell, m);
      }
  });
}

}  // namespace

void max_all(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) {
  forward<true>(p, x, y, begin, end);
}
void average_all(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) {
  forward<false>(p, x, y, begin, end);
}

void max_grad_all(const Pool &p, const float *x, const float *y, const float *dy, float *dx, int64_t begin,
                  int64_t end) {
  const int64_t in = p.h * p.w * p.c, out = p.oh * p.ow * p.c;
  for (int64_t n = begin; n < end; ++n) {
    std::memset(dx + n * in, 0, static_cast<size_t>(in) * sizeof(float));
    max_grad_image(p, x + n * in, y + n * out, dy + n * out, dx + n * in);
  }
}

void average_grad_all(const Pool &p, const float *dy, float *dx, int64_t begin, int64_t end) {
  const int64_t in = p.h * p.w * p.c, out = p.oh * p.ow * p.c;
  for (int64_t n = begin; n < end; ++n) {
    std::memset(dx + n * in, 0, static_cast<size_t>(in) * sizeof(float));
    average_grad_image(p, dy + n * out, dx + n * in);
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(max_all);
HWY_EXPORT(average_all);
HWY_EXPORT(max_grad_all);
HWY_EXPORT(average_grad_all);

void max_pool(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) noexcept {
  HWY_DYNAMIC_DISPATCH(max_all)(p, x, y, begin, end);
}
void average_pool(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) noexcept {
  HWY_DYNAMIC_DISPATCH(average_all)(p, x, y, begin, end);
}
void max_pool_grad(const Pool &p, const float *x, const float *y, const float *dy, float *dx, int64_t begin,
                   int64_t end) noexcept {
  HWY_DYNAMIC_DISPATCH(max_grad_all)(p, x, y, dy, dx, begin, end);
}
void average_pool_grad(const Pool &p, const float *dy, float *dx, int64_t begin, int64_t end) noexcept {
  HWY_DYNAMIC_DISPATCH(average_grad_all)(p, dy, dx, begin, end);
}

}  // namespace dl4::kernels
#endif
