// Pooling: many channels of a window, or many pixels of few channels, side by side.
#include "backend/cpu/kernels/reduce/pool.hpp"

#include <algorithm>
#include <limits>

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/reduce/pool.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/reduce/pool-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

inline constexpr float least = -std::numeric_limits<float>::infinity();

template <bool is_max>
HWY_INLINE V step(V a, V v) {
  if constexpr (!is_max) return hn::Add(a, v);
#if HWY_ARCH_X86  // whose maximum is the second operand if either is NaN
  return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, v));
#else
  return max_nan(a, v);
#endif
}

// How many places are folded along each axis, and the floats from one to the next. x and y so many floats behind them
// are prefetched, if above 0.
struct Places {
  int64_t d, h, w, d_step, h_step, w_step, x_ahead = 0, y_ahead = 0;
};

// Images that do not fit in a core's cache arrive faster with prefetches: the hardware's stop at pages.
HWY_INLINE int64_t floats_ahead(const Pool &p) { return p.n * p.cells() * p.c > int64_t{1} << 18 ? 1024 : 0; }

// What sums are divided by: `by` times, if given, an element of `row`. No division if `by` is 0.
struct Count {
  float by = 0;
  const float *row = nullptr;
  template <class IO>
  HWY_INLINE V divide(V sum, int64_t i, IO io) const {
    if (by == 0) return sum;
    return hn::Div(sum, row ? hn::Mul(set(by), io.get(row + i)) : set(by));
  }
};

// Folds N vectors, the last one at `last`.
template <bool is_max, int N, class IO>
HWY_INLINE void fold_vectors(const float *x, const Places &at, int64_t last, Count count, float *y, IO io) {
  if (at.y_ahead > 0)
    for (int64_t j = 0; j < N * lanes; j += 16) __builtin_prefetch(y + at.y_ahead + j, 1);
  V a[N];
  DL4_UNROLL
  for (int j = 0; j < N; ++j) a[j] = set(is_max ? least : 0.0f);
  const float *plane = x;
  for (int64_t d = at.d; d > 0; --d, plane += at.d_step) {
    const float *row = plane;
    for (int64_t h = at.h; h > 0; --h, row += at.h_step) {
      const float *cell = row;
      for (int64_t w = at.w; w > 0; --w, cell += at.w_step) {
        for (int64_t j = 0; at.x_ahead > 0 && j < N * lanes; j += 16) __builtin_prefetch(cell + at.x_ahead + j);
        DL4_UNROLL
        for (int j = 0; j < N; ++j) a[j] = step<is_max>(a[j], io.get(cell + (j < N - 1 ? j * lanes : last)));
      }
    }
  }
  DL4_UNROLL
  for (int j = 0; j < N; ++j) {
    const int64_t i = j < N - 1 ? j * lanes : last;
    io.put(is_max ? a[j] : count.divide(a[j], i, io), y + i);
  }
}

// y[i] = x[i] folded over the places, for n floats.
template <bool is_max>
HWY_INLINE void fold_one(const float *x, const Places &at, int64_t n, Count count, float *y) {
  if (n < lanes) return fold_vectors<is_max, 1>(x, at, 0, count, y, Part{n});
  for (; n >= 4 * lanes; n -= 4 * lanes, x += 4 * lanes, y += 4 * lanes, count.row += count.row ? 4 * lanes : 0)
    fold_vectors<is_max, 4>(x, at, 3 * lanes, count, y, Full());
  const int64_t last = n - lanes;  // which may overlap the one before
  if (n > 3 * lanes) return fold_vectors<is_max, 4>(x, at, last, count, y, Full());
  if (n > 2 * lanes) return fold_vectors<is_max, 3>(x, at, last, count, y, Full());
  if (n > lanes) return fold_vectors<is_max, 2>(x, at, last, count, y, Full());
  if (n > 0) fold_vectors<is_max, 1>(x, at, last, count, y, Full());
}

// Outputs that are folded in the same way, and the floats of x and y from one to the next.
struct Outputs {
  int64_t number = 1, x_step = 0, y_step = 0;
};

template <bool is_max>
HWY_NOINLINE void fold(const float *x, const Places &places, int64_t n, Count count, float *y,
                       const Outputs &outputs = {}) {
  for (int64_t o = outputs.number; o > 0; --o, x += outputs.x_step, y += outputs.y_step) {
    fold_one<is_max>(x, places, n, count, y);
    if (count.row) count.row += n;
  }
}

// The end of the windows that have all their cells in the image; 0 if they differ in size.
HWY_INLINE int64_t end_of_full(const Pool &p, const PoolAxis &a) {
  return p.adaptive ? 0 : HWY_MIN((a.n - a.size + a.pad) / a.stride + 1, a.out);
}

// Outputs [part.begin, part.end) of rows, few enough that what their windows cover fits a strip: folded along the
// height and depth into columns, then along the width.
template <bool is_max>
class Columns {
 public:
  Columns(const Pool &p, Cells part, int64_t rows) : p_(p), part_(part) {
    const int64_t c = p.c, stride = p.w.stride, first = part.begin * stride - p.w.pad;
    places_ = (part.size() - 1) * stride + 1;
    pitch_ = (places_ + p.w.size - 1) * c;
    inside_ = {HWY_MAX(first, 0), HWY_MIN(first + places_ + p.w.size - 1, p.w.n)};
    left_ = (inside_.begin - first) * c;
    together_ = HWY_MIN(strip / pitch_, most_rows);
    std::fill_n(columns_, HWY_MIN(together_, rows) * pitch_ + lanes, is_max ? least : 0.0f);
    for (int64_t i = 0; i < part.size() && !is_max; ++i)
      std::fill_n(counts_ + i * c, c, static_cast<float>(cells(p, p.w, part.begin + i).size()));
    if (!is_max) std::fill_n(counts_ + part.size() * c, lanes, 1.0f);
    by_planes_ = p.d.size > 1 && p.h.stride < p.h.size && p.h.n * p.w.n * c <= strip;
    if (c > lanes) return;
    picks_ = ((lanes - c) / (stride * c) + 1) * c;
    for (int64_t i = 0; i < picks_; ++i) lane_[i] = static_cast<int32_t>(i / c * stride * c + i % c);
  }

  // Of output rows [begin, end).
  void run(const float *x, float *y, int64_t begin, int64_t end) {
    int64_t oh = begin % p_.h.out, od = begin / p_.h.out % p_.d.out;
    const float *image = x + begin / p_.h.out / p_.d.out * p_.cells() * p_.c;
    const bool whole = part_.size() == p_.w.out;
    const int64_t row = p_.w.n * p_.c, plane = p_.h.n * row;
    float *const y_end = y + end * p_.w.out * p_.c;
    const int64_t full = end_of_full(p_, p_.h), x_step = HWY_MIN(p_.h.stride, p_.h.n) * row, ahead = floats_ahead(p_);
    float counts[most_rows];
    for (int64_t r = begin; r < end;) {
      const int64_t some = HWY_MIN(together_, end - r);
      for (int64_t i = 0; i < some;) {
        const Cells d = cells(p_, p_.d, od), h = cells(p_, p_.h, oh);
        const int64_t next = h.size() == p_.h.size ? HWY_MIN(i + HWY_MAX(full - oh, 1), some) : i + 1;
        const float *planes = image + d.begin * plane;
        if (by_planes_ && (oh == 0 || (r == begin && i == 0)))
          fold<is_max>(planes, {d.size(), 1, 1, plane, 0, 0}, plane, {}, plane_);
        fold<is_max>((by_planes_ ? plane_ : planes) + h.begin * row + inside_.begin * p_.c,
                     {by_planes_ ? 1 : d.size(), h.size(), 1, plane, row, 0, ahead}, inside_.size() * p_.c, {},
                     columns_ + i * pitch_ + left_, {next - i, x_step, pitch_});
        oh += next - i;
        for (const int64_t each = d.size() * h.size(); i < next; ++i) counts[i] = static_cast<float>(each);
        if (oh < p_.h.out) continue;
        oh = 0;
        if (++od < p_.d.out) continue;
        od = 0;
        image += p_.d.n * plane;
      }
      for (int64_t i = 0; i < some; ++i, ++r) {
        float *const to = y + (r * p_.w.out + part_.begin) * p_.c;
        along_width(columns_ + i * pitch_, counts[i], to, whole ? y_end : to + part_.size() * p_.c);
      }
    }
  }

 private:
  static constexpr int64_t most_rows = 64;

  // Writes outputs of a row. What lies behind them, up to y_end, may be overwritten.
  void along_width(const float *x, float count, float *y, float *y_end) const {
    const int64_t c = p_.c;
    const Places window{1, 1, p_.w.size, 0, 0, c, 0, floats_ahead(p_)};
    const bool one_run = p_.w.stride == 1, narrow = part_.size() * c < 2 * lanes;
    if (c <= lanes && (narrow || !one_run)) return pick(x, count, y, y_end);
    if (one_run) return fold<is_max>(x, window, part_.size() * c, {is_max ? 0 : count, counts_}, y);
    fold<is_max>(x, window, c, {is_max ? 0 : count, counts_}, y, {part_.size(), p_.w.stride * c, c});
  }

  // Folds vectors of places, each from an output on, and keeps the outputs.
  void pick(const float *x, float count, float *y, float *y_end) const {
    const auto lane = hn::IndicesFromVec(D(), hn::LoadU(DI(), lane_));
    const int64_t outputs = part_.size() * p_.c;
    for (int64_t done = 0; done < outputs; done += picks_, x += picks_ * p_.w.stride) {
      V a = load(x);
      for (int64_t w = 1; w < p_.w.size; ++w) a = step<is_max>(a, load(x + w * p_.c));
      a = hn::TableLookupLanes(a, lane);
      if (!is_max) a = hn::Div(a, hn::Mul(set(count), load(counts_ + done)));
      if (y + done + lanes <= y_end)
        store(a, y + done);
      else
        store_n(a, y + done, HWY_MIN(picks_, outputs - done));
    }
  }

  const Pool &p_;
  Cells part_, inside_;
  int64_t places_, pitch_, left_, together_;  // pitch and left margin of a column, in floats
  bool by_planes_;
  int64_t picks_ = 0;  // floats of outputs in a vector of places, and their lanes
  int32_t lane_[lanes] = {};
  HWY_ALIGN float plane_[strip], columns_[strip + lanes], counts_[strip + lanes];
};

// Whether windows are folded along the height and depth first, which overlapping ones share. The same for every
// processor and number of cells, as the order of an average's sum depends on it.
HWY_INLINE bool by_columns(const Pool &p) {
  if (p.adaptive || p.w.size > strip / p.c) return false;
  if (p.c < 16) return true;
  auto limit = [](int64_t n) { return HWY_MIN(n, int64_t{1} << 16); };
  // The floats folded for an output, in vectors of 16, another of which is a loop's cost.
  const int64_t floats = (p.c + 15) / 16 * 16 + 16, column = limit(p.d.size) * limit(p.h.size);
  return (column + 1) * limit(p.w.stride) * p.c + p.w.size * floats < column * p.w.size * floats;
}

template <bool is_max>
HWY_NOINLINE void forward_by_columns(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) {
  const int64_t most = (strip / p.c - p.w.size) / p.w.stride + 1, parts = (p.w.out + most - 1) / most;
  // Parts share cells: they take turns at so many rows that a core's cache keeps these.
  const int64_t band = parts == 1 ? end - begin : HWY_MAX((int64_t{1} << 17) / (p.w.n * p.c) / p.h.stride, int64_t{1});
  for (int64_t r = begin; r < end; r += band)
    for (int64_t i = 0; i < parts; ++i) {
      const Cells part{i * p.w.out / parts, (i + 1) * p.w.out / parts};
      const int64_t next = HWY_MIN(r + band, end);
      Columns<is_max>(p, part, next - r).run(x, y, r, next);
    }
}

template <bool is_max>
HWY_NOINLINE void forward_by_windows(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) {
  const int64_t row = p.w.n * p.c, plane = p.h.n * row, ahead = floats_ahead(p);
  const int64_t full = end_of_full(p, p.w);
  int64_t oh = begin % p.h.out, od = begin / p.h.out % p.d.out;
  const float *image = x + begin / p.h.out / p.d.out * p.d.n * plane;
  y += begin * p.w.out * p.c;
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t ow = 0, next; ow < p.w.out; ow = next) {
      const Window w = window(p, od, oh, ow);
      next = w.w.size() == p.w.size ? HWY_MAX(full, ow + 1) : ow + 1;
      fold<is_max>(image + w.d.begin * plane + w.h.begin * row + w.w.begin * p.c,
                   {w.d.size(), w.h.size(), w.w.size(), plane, row, p.c, ahead, ahead}, p.c, {is_max ? 0 : w.count()},
                   y, {next - ow, HWY_MIN(p.w.stride, p.w.n) * p.c, p.c});
      y += (next - ow) * p.c;
    }
    if (++oh < p.h.out) continue;
    oh = 0;
    if (++od < p.d.out) continue;
    od = 0;
    image += p.d.n * plane;
  }
}

template <bool is_max>
void forward(Pool p, const float *x, float *y, int64_t begin, int64_t end) {
  const bool columns = by_columns(p);
  for (PoolAxis *a : {&p.d, &p.h, &p.w})
    if (a->out == 1) a->stride = 1;
  columns ? forward_by_columns<is_max>(p, x, y, begin, end) : forward_by_windows<is_max>(p, x, y, begin, end);
}

}  // namespace

void max_all(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) {
  forward<true>(p, x, y, begin, end);
}
void average_all(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) {
  forward<false>(p, x, y, begin, end);
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(max_all);
HWY_EXPORT(average_all);

void max_pool(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) noexcept {
  HWY_DYNAMIC_DISPATCH(max_all)(p, x, y, begin, end);
}
void average_pool(const Pool &p, const float *x, float *y, int64_t begin, int64_t end) noexcept {
  HWY_DYNAMIC_DISPATCH(average_all)(p, x, y, begin, end);
}

}  // namespace dl4::kernels
#endif
