// Pooling, vectorised over channels.
#include "backend/cpu/kernels/reduce/pool.hpp"

#include <algorithm>
#include <limits>

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/reduce/pool.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// Cells of an axis inside the image: [begin, end).
struct Cells {
  int64_t begin, end;
};
HWY_INLINE Cells cells(const Pool &p, const PoolAxis &a, int64_t i) {
  if (p.adaptive) return {i * a.n / a.out, ((i + 1) * a.n + a.out - 1) / a.out};
  const int64_t first = i * a.stride - a.pad;
  return {HWY_MAX(first, int64_t{0}), HWY_MIN(first + a.size, a.n)};
}

// The cells of a window inside the image: planes, rows and columns.
struct Window {
  Cells d, h, w;
  float count() const { return static_cast<float>((d.end - d.begin) * (h.end - h.begin) * (w.end - w.begin)); }
};

HWY_INLINE Window window(const Pool &p, int64_t od, int64_t oh, int64_t ow) {
  return {cells(p, p.d, od), cells(p, p.h, oh), cells(p, p.w, ow)};
}

// f(first cell of the row) for each row of a window's cells.
template <class F>
HWY_INLINE void rows(const Pool &p, const Window &w, const F &f) {
  for (int64_t d = w.d.begin; d < w.d.end; ++d)
    for (int64_t h = w.h.begin; h < w.h.end; ++h) f(((d * p.h.n + h) * p.w.n + w.w.begin) * p.c);
}

// Folds N vectors of channels of the window's cells into y.
template <bool is_max, int N>
HWY_INLINE void fold_vectors(const Pool &p, const float *image, const Window &w, float *y) {
  V sum[N];
  DL4_UNROLL
  for (int j = 0; j < N; ++j) sum[j] = set(is_max ? -std::numeric_limits<float>::infinity() : 0.0f);
  rows(p, w, [&](int64_t first) HWY_ATTR {
    const float *x = image + first;
    for (int64_t i = w.w.begin; i < w.w.end; ++i, x += p.c) DL4_UNROLL
    for (int j = 0; j < N; ++j) {
      const V v = load(x + j * lanes);
      sum[j] = is_max ? max_nan(sum[j], v) : hn::Add(sum[j], v);
    }
  });
  DL4_UNROLL
  for (int j = 0; j < N; ++j) store(is_max ? sum[j] : hn::Div(sum[j], set(w.count())), y + j * lanes);
}

// Folds all channels of the window's cells into y.
template <bool is_max>
HWY_INLINE void fold(const Pool &p, const float *image, const Window &w, float *y) {
  int64_t c = 0;
  for (; c + 4 * lanes <= p.c; c += 4 * lanes) fold_vectors<is_max, 4>(p, image + c, w, y + c);
  if (c + 2 * lanes <= p.c) fold_vectors<is_max, 2>(p, image + c, w, y + c), c += 2 * lanes;
  if (c + lanes <= p.c) fold_vectors<is_max, 1>(p, image + c, w, y + c), c += lanes;
  if (c == p.c) return;
  const FirstOf<D> some = first_of(D(), p.c - c);
  V a = set(is_max ? -std::numeric_limits<float>::infinity() : 0.0f);
  rows(p, w, [&](int64_t first) HWY_ATTR {
    const float *x = image + first + c;
    for (int64_t i = w.w.begin; i < w.w.end; ++i, x += p.c)
      a = is_max ? max_nan(a, some.get(D(), x)) : hn::Add(a, some.get(D(), x));
  });
  some.put(D(), is_max ? a : hn::Div(a, set(w.count())), y + c);
}

inline constexpr int64_t strip = 4096;  // floats
// Few channels. The same for every processor, as the order of sums depends on it.
inline constexpr int64_t few = 16;

// The outputs [begin, end) of a row, few enough that what their windows cover fits a strip: folds along the height and
// depth, then along the width, many pixels side by side.
template <bool is_max>
HWY_INLINE void strip_of_row(const Pool &p, const float *image, int64_t od, int64_t oh, int64_t begin, int64_t end,
                             float *y) {
  const float none = is_max ? -std::numeric_limits<float>::infinity() : 0.0f;
  const V start = set(none);
  auto step = [&](V a, V v) HWY_ATTR { return is_max ? max_nan(a, v) : hn::Add(a, v); };
  HWY_ALIGN float column[strip + lanes], slid[strip + lanes];
  const Window inside{cells(p, p.d, od), cells(p, p.h, oh), {cells(p, p.w, begin).begin, cells(p, p.w, end - 1).end}};
  const int64_t places = (end - 1 - begin) * p.w.stride + 1, pixels = places + p.w.size - 1;
  const int64_t left = HWY_MIN(inside.w.begin - (begin * p.w.stride - p.w.pad), pixels);
  const int64_t width = HWY_MAX(inside.w.end - inside.w.begin, int64_t{0});
  std::fill_n(column, left * p.c, none);
  std::fill(column + (left + width) * p.c, column + pixels * p.c, none);
  float *const into = column + left * p.c;
  each(width * p.c, [&](int64_t i, auto io) HWY_ATTR {
    V a = start;
    rows(p, inside, [&](int64_t row) HWY_ATTR { a = step(a, io.get(image + row + i)); });
    io.put(a, into + i);
  });
  float *const to = p.w.stride == 1 ? y : slid;
  each(places * p.c, [&](int64_t i, auto io) HWY_ATTR {
    V a = start;
    for (int64_t t = 0; t < p.w.size; ++t) a = step(a, io.get(column + i + t * p.c));
    io.put(a, to + i);
  });
  if (p.w.stride > 1)
    for (int64_t i = 0; i < end - begin; ++i) std::copy_n(slid + i * p.w.stride * p.c, p.c, y + i * p.c);
}

// A row of outputs y.
template <bool is_max>
HWY_INLINE void row_by_strips(const Pool &p, const float *image, int64_t od, int64_t oh, float *y) {
  const int64_t together = (strip / p.c - p.w.size) / p.w.stride + 1;
  for (int64_t begin = 0; begin < p.w.out; begin += together)
    strip_of_row<is_max>(p, image, od, oh, begin, HWY_MIN(begin + together, p.w.out), y + begin * p.c);
  if (is_max) return;
  for (int64_t ow = 0, next; ow < p.w.out; ow = next) {  // those with as many cells
    const float count = window(p, od, oh, ow).count();
    for (next = ow + 1; next < p.w.out && window(p, od, oh, next).count() == count;) ++next;
    float *const some = y + ow * p.c;
    each((next - ow) * p.c,
         [&](int64_t i, auto io) HWY_ATTR { io.put(hn::Div(io.get(some + i), set(count)), some + i); });
  }
}

template <bool is_max>
void forward(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) {
  // With many channels, where neighbours share what is folded along the height; sums keep their order.
  const bool overlaps = is_max && p.w.stride == 1 && p.w.size > 2;
  const bool by_strips = !p.adaptive && (p.c < few || overlaps) && p.w.size <= strip / p.c;
  for (int64_t r = begin; r < end; ++r) {
    const int64_t oh = r % p.h.out, od = r / p.h.out % p.d.out;
    const float *image = x + r / p.h.out / p.d.out * p.cells() * p.c;
    float *row = y + r * p.w.out * p.c;
    if (by_strips) {
      row_by_strips<is_max>(p, image, od, oh, row);
      continue;
    }
    for (int64_t ow = 0; ow < p.w.out; ++ow) fold<is_max>(p, image, window(p, od, oh, ow), row + ow * p.c);
  }
}

// body(window, first channel, channels of the vector, offset of the output) for each output of one image.
template <class Body>
HWY_INLINE void outputs(const Pool &p, const Body &body) {
  int64_t at = 0;
  for (int64_t od = 0; od < p.d.out; ++od)
    for (int64_t oh = 0; oh < p.h.out; ++oh)
      for (int64_t ow = 0; ow < p.w.out; ++ow, at += p.c) {
        const Window w = window(p, od, oh, ow);
        for (int64_t c = 0; c < p.c; c += lanes) body(w, c, HWY_MIN(lanes, p.c - c), at + c);
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
    V left = read(dy + at, m);  // gradient that no cell has taken yet
    auto open = hn::Eq(hn::Zero(D()), hn::Zero(D()));
    rows(p, w, [&](int64_t first) HWY_ATTR {
      int64_t cell = first + c;
      for (int64_t i = w.w.begin; i < w.w.end; ++i, cell += p.c) {
        const V v = read(x + cell, m);
        const auto hit = hn::And(open, hn::Or(hn::Eq(v, best), hn::IsNaN(v)));
        write(hn::Add(read(dx + cell, m), hn::IfThenElseZero(hit, left)), dx + cell, m);
        open = hn::AndNot(hit, open);
      }
    });
  });
}

void average_grad_image(const Pool &p, const float *dy, float *dx) {
  outputs(p, [&](const Window &w, int64_t c, int64_t m, int64_t at) HWY_ATTR {
    const V share = hn::Div(read(dy + at, m), set(w.count()));
    rows(p, w, [&](int64_t first) HWY_ATTR {
      float *cell = dx + first + c;
      for (int64_t i = w.w.begin; i < w.w.end; ++i, cell += p.c) write(hn::Add(read(cell, m), share), cell, m);
    });
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
  const int64_t in = p.cells() * p.c, out = p.outputs() * p.c;
  for (int64_t n = begin; n < end; ++n) {
    std::memset(dx + n * in, 0, static_cast<size_t>(in) * sizeof(float));
    max_grad_image(p, x + n * in, y + n * out, dy + n * out, dx + n * in);
  }
}

void average_grad_all(const Pool &p, const float *dy, float *dx, int64_t begin, int64_t end) {
  const int64_t in = p.cells() * p.c, out = p.outputs() * p.c;
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
