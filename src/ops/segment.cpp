// segment_sum, segment_max, segment_softmax, segment_gather: rows by the number of their segment.

#include <cstring>
#include <limits>

#include "kernels/elementwise/elementwise.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

enum Source { src_x, src_ids, src_like };

// Rows of one item of the batch, and segments.
struct Segments {
  int64_t batch, rows, segments, width;
};

// x has the axes of ids first, and like those before their last.
void check(const char *op, Operands src, int x_like) {
  want_float(op, src[src_x]);
  want_type("ids of segments", src[src_ids], DType::i64);
  const Shape &x = src[src_x].shape, &ids = src[src_ids].shape, &like = src[static_cast<size_t>(x_like)].shape;
  const int rank = ids.rank();
  if (rank < 1 || x.rank() < rank || like.rank() < rank ||
      !compatible(x.first(x_like == src_x ? rank - 1 : rank), ids.first(x_like == src_x ? rank - 1 : rank)) ||
      !compatible(like.first(rank - 1), ids.first(rank - 1)))
    fail(Code::shape_mismatch, op, ": ids of shape ", ids, " do not fit ", x, x_like == src_x ? "" : " and ",
         x_like == src_x ? "" : to_string(like));
}

Segments segments_of(const Site &site, const Shape &like) {
  const Shape &x = site.src[src_x].shape, &ids = site.src[src_ids].shape;
  const int rank = ids.rank();
  return {ids.elements(0, rank - 1), ids[-1], like[rank - 1], x.elements(rank, x.rank())};
}

void raise_past(const Segments &s, const int64_t *ids, const Run &r) {
  for (int64_t i = 0; i < s.rows; ++i)
    if (ids[i] >= s.segments) return r.report->raise(kernels::Fault::index_out_of_range, ids[i], s.segments);
}

// f(item, first segment, last segment) for parts of all segments of all items. Each part looks at all ids of its items
// in their order, so that the bits don't depend on the cut.
template <class F>
std::unique_ptr<kernels::Kernel> by_segments(const char *name, const Site &site, const Segments &s, double us, F f,
                                             int64_t scratch = 0) {
  const int64_t all = checked_mul(s.batch, s.segments);
  if (all == 0) {  // any id is past the last
    return sliced(name, site, s.batch, us, [=](int64_t begin, int64_t end, const Run &r) {
      for (int64_t b = begin; b < end; ++b) raise_past(s, r.in<int64_t>(src_ids) + b * s.rows, r);
    });
  }
  const int64_t slices = site.cutting.slices(all, us);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    auto [begin, end] = kernels::part(all, slices, slice);
    while (begin < end) {
      const int64_t b = begin / s.segments, first = begin % s.segments;
      const int64_t last = std::min(s.segments, first + end - begin);
      begin += last - first;
      if (first == 0) raise_past(s, r.in<int64_t>(src_ids) + b * s.rows, r);
      f(b, first, last, r);
    }
  };
  return kernels::make_kernel(name, slices, run, scratch);
}

double cost(const Segments &s, double each) {
  return each * static_cast<double>(checked_mul(s.batch, checked_mul(s.rows, s.width + 1)));
}

struct SegmentGatherOp final : OpOf<SegmentGatherOp> {
  std::string_view name() const override { return "segment_gather"; }
  std::vector<Operand> infer(Operands src) const override {
    check("segment_gather", src, src_x);
    const Shape &x = src[src_x].shape, &ids = src[src_ids].shape;
    return {{DType::f32, ids.joined(x.last(x.rank() - ids.rank()))}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none) g.set(0, segment_sum(g.e, g.diff_dst(), g.src(src_ids), g.src(src_x)));
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const Segments s = segments_of(site, site.src[src_x].shape);
    const double us = 3 * us_per_byte * 4 * cost(s, 1);
    return sliced("segment_gather", site, checked_mul(s.batch, s.rows), us,
                  [=](int64_t begin, int64_t end, const Run &r) {
                    const size_t bytes = static_cast<size_t>(s.width) * sizeof(float);
                    float *to = r.out<float>(0) + begin * s.width;
                    for (int64_t i = begin; i < end; ++i, to += s.width) {
                      const int64_t id = r.in<int64_t>(src_ids)[i];
                      if (id >= s.segments) return r.report->raise(kernels::Fault::index_out_of_range, id, s.segments);
                      if (bytes == 0) continue;
                      if (id < 0)
                        std::memset(to, 0, bytes);
                      else
                        std::memcpy(to, r.in<float>(src_x) + (i / s.rows * s.segments + id) * s.width, bytes);
                    }
                  });
  }
};

// What segment_sum and segment_max share.
template <class T>
struct SegmentOp : OpOf<T> {
  std::vector<Operand> infer(Operands src) const override {
    check(T::op, src, src_like);
    const Shape &x = src[src_x].shape, &ids = src[src_ids].shape;
    const int rank = ids.rank();
    return {{DType::f32, ids.first(rank - 1).joined({src[src_like].shape[rank - 1]}).joined(x.last(x.rank() - rank))}};
  }
  bool reads(int src) const override { return src < src_like; }
  // y (segments, width) filled with `start`, and f(row of x, row of y) for the rows in their order.
  template <class F>
  std::unique_ptr<kernels::Kernel> folded(const Site &site, float start, F f) const {
    const Segments s = segments_of(site, site.src[src_like].shape);
    const double us = us_per_byte * 12 * (cost(s, 1) + static_cast<double>(site.dst[0].shape.elements()));
    return by_segments(T::op, site, s, us, [=](int64_t b, int64_t first, int64_t last, const Run &r) {
      const float *x = r.in<float>(src_x) + b * s.rows * s.width;
      const int64_t *ids = r.in<int64_t>(src_ids) + b * s.rows;
      float *y = r.out<float>(0) + b * s.segments * s.width;
      std::fill_n(y + first * s.width, (last - first) * s.width, start);
      for (int64_t i = 0; i < s.rows; ++i)
        if (ids[i] >= first && ids[i] < last) f(x + i * s.width, y + ids[i] * s.width, s.width);
    });
  }
};

struct SegmentSumOp final : SegmentOp<SegmentSumOp> {
  static constexpr const char *op = "segment_sum";
  std::string_view name() const override { return "segment_sum"; }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none) g.set(0, segment_gather(g.e, g.diff_dst(), g.src(src_ids)));
    g.stop(src_like);
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    return folded(site, 0, [](const float *x, float *y, int64_t n) { kernels::axpy(1, x, y, n); });
  }
};

struct SegmentMaxOp final : SegmentOp<SegmentMaxOp> {
  static constexpr const char *op = "segment_max";
  std::string_view name() const override { return "segment_max"; }
  // Equal maxima share it evenly, as in TensorFlow.
  void gradient(Gradient &g) const override {
    g.stop(src_like);
    if (!g.wants(0) || g.diff_dst() == none) return;
    Emit &e = g.e;
    Id x = g.src(src_x), ids = g.src(src_ids);
    Id chosen = cast(e, binary(e, Binary::equal, x, segment_gather(e, g.dst(), ids)), DType::f32);
    Id count = binary(e, Binary::max, segment_sum(e, chosen, ids, g.src(src_like)), e.scalar(1));
    g.set(0, mul(e, chosen, segment_gather(e, div(e, g.diff_dst(), count), ids)));
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    return folded(site, std::numeric_limits<float>::lowest(), [](const float *x, float *y, int64_t n) {
      for (int64_t j = 0; j < n; ++j) y[j] = x[j] > y[j] || x[j] != x[j] ? x[j] : y[j];
    });
  }
};

struct SegmentSoftmaxOp final : OpOf<SegmentSoftmaxOp> {
  std::string_view name() const override { return "segment_softmax"; }
  std::vector<Operand> infer(Operands src) const override {
    check("segment_softmax", src, src_like);
    const Shape &x = src[src_x].shape;
    return {{DType::f32, same_shape("segment_softmax", src[src_ids].shape, x.first(src[src_ids].shape.rank()))
                             .joined(x.last(x.rank() - src[src_ids].shape.rank()))}};
  }
  bool reads(int src) const override { return src < src_like; }
  void gradient(Gradient &g) const override {
    g.stop(src_like);
    if (!g.wants(0) || g.diff_dst() == none) return;
    Emit &e = g.e;
    Id ids = g.src(src_ids), weighed = mul(e, g.dst(), g.diff_dst());
    Id mean = segment_gather(e, segment_sum(e, weighed, ids, g.src(src_like)), ids);
    g.set(0, sub(e, weighed, mul(e, g.dst(), mean)));
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const Segments s = segments_of(site, site.src[src_like].shape);
    const int64_t stats = checked_mul(s.batch, checked_mul(s.segments, s.width));
    auto part = [=](int64_t b, int64_t first, int64_t last, const Run &r) {
      float *most = static_cast<float *>(r.scratch) + b * s.segments * s.width, *sum = most + stats;
      std::fill_n(most + first * s.width, (last - first) * s.width, std::numeric_limits<float>::lowest());
      std::fill_n(sum + first * s.width, (last - first) * s.width, 0.0f);
      weights(s, b, first, last, r, most, sum);
    };
    return by_segments("segment_softmax", site, s, 3 * us_per_function * cost(s, 1), part, checked_mul(stats, 8));
  }

 private:
  static void weights(const Segments &s, int64_t b, int64_t first, int64_t last, const Run &r, float *most,
                      float *sum) {
    const int64_t *ids = r.in<int64_t>(src_ids) + b * s.rows;
    const float *x = r.in<float>(src_x) + b * s.rows * s.width;
    float *y = r.out<float>(0) + b * s.rows * s.width;
    auto each = [&](auto f) {
      for (int64_t i = 0; i < s.rows; ++i)
        if (ids[i] >= first && ids[i] < last) f(i * s.width, ids[i] * s.width);
    };
    each([&](int64_t row, int64_t at) {
      for (int64_t j = 0; j < s.width; ++j)
        if (x[row + j] > most[at + j]) most[at + j] = x[row + j];  // a NaN makes the sum one
    });
    each([&](int64_t row, int64_t at) {
      for (int64_t j = 0; j < s.width; ++j) y[row + j] = x[row + j] - most[at + j];
      kernels::unary(Unary::exp, nullptr, y + row, y + row, s.width);
      kernels::axpy(1, y + row, sum + at, s.width);
    });
    each([&](int64_t row, int64_t at) {
      for (int64_t j = 0; j < s.width; ++j) y[row + j] /= sum[at + j];
    });
    for (int64_t i = 0; first == 0 && i < s.rows; ++i)
      if (ids[i] < 0) std::fill_n(y + i * s.width, s.width, 0.0f);
  }
};

struct IndicesOp final : StopsGradients<IndicesOp> {
  int axis;

  explicit IndicesOp(int axis) : axis(axis) {}
  void fields(auto &f) const { f("axis", axis); }
  std::string_view name() const override { return "indices"; }
  std::vector<Operand> infer(Operands src) const override { return {{DType::i64, {src[0].shape[axis]}}}; }
  bool reads(int) const override { return false; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const int64_t n = site.dst[0].shape[0];
    return sliced("indices", site, n, us_per_byte * 8 * static_cast<double>(n),
                  [=](int64_t begin, int64_t end, const Run &r) {
                    for (int64_t i = begin; i < end; ++i) r.out<int64_t>(0)[i] = i;
                  });
  }
};

template <class T>
Id by_ids(Emit &e, Id x, Id ids, Id like) {
  return e.value(std::make_shared<T>(), {x, cast(e, ids, DType::i64), like});
}

}  // namespace

Id segment_sum(Emit &e, Id x, Id ids, Id like) { return by_ids<SegmentSumOp>(e, x, ids, like); }
Id segment_max(Emit &e, Id x, Id ids, Id like) { return by_ids<SegmentMaxOp>(e, x, ids, like); }
Id segment_softmax(Emit &e, Id x, Id ids, Id like) { return by_ids<SegmentSoftmaxOp>(e, x, ids, like); }
Id segment_gather(Emit &e, Id x, Id ids) {
  return e.value(std::make_shared<SegmentGatherOp>(), {x, cast(e, ids, DType::i64)});
}
Id indices(Emit &e, Id like, int axis) {
  return e.value(std::make_shared<IndicesOp>(e.shape(like).axis(axis)), {like});
}

}  // namespace dl4::ops
