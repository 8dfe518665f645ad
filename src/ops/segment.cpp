// segment_sum, segment_max, segment_softmax, segment_gather: rows by the number of their segment.
#include <numeric>

#include "backend/cpu/kernels/reduce/segments.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

using kernels::Segments;

enum Source { src_x, src_ids, src_like };

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

// f(item, first segment, last segment) for parts of all segments of all items. Each part looks at all ids of its items
// in their order, so that the bits don't depend on the cut.
template <class F>
std::unique_ptr<kernels::Kernel> by_segments(const char *name, const Site &site, const Segments &s, double us, F f,
                                             int64_t scratch = 0) {
  const int64_t all = checked_mul(s.batch, s.segments);
  if (all == 0) {  // any id is past the last
    return sliced(name, site, s.batch, us, [=](int64_t begin, int64_t end, const Run &r) {
      for (int64_t b = begin; b < end; ++b) kernels::check_segments(s, r.in<int64_t>(src_ids) + b * s.rows, r.report);
    });
  }
  const int64_t slices = site.cutting.slices(all, us);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    auto [begin, end] = kernels::part(all, slices, slice);
    while (begin < end) {
      const int64_t b = begin / s.segments, first = begin % s.segments;
      const int64_t last = std::min(s.segments, first + end - begin);
      begin += last - first;
      if (first == 0) kernels::check_segments(s, r.in<int64_t>(src_ids) + b * s.rows, r.report);
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
    return sliced(
        "segment_gather", site, checked_mul(s.batch, s.rows), us, [=](int64_t begin, int64_t end, const Run &r) {
          kernels::segment_gather(s, r.in<float>(src_x), r.in<int64_t>(src_ids), r.out<float>(0), begin, end, r.report);
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
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const Segments s = segments_of(site, site.src[src_like].shape);
    const double us = us_per_byte * 12 * (cost(s, 1) + static_cast<double>(site.dst[0].shape.elements()));
    return by_segments(T::op, site, s, us, [s](int64_t b, int64_t first, int64_t last, const Run &r) {
      T::fold(s, r.in<float>(src_x) + b * s.rows * s.width, r.in<int64_t>(src_ids) + b * s.rows,
              r.out<float>(0) + b * s.segments * s.width, first, last);
    });
  }
};

struct SegmentSumOp final : SegmentOp<SegmentSumOp> {
  static constexpr const char *op = "segment_sum";
  static constexpr auto fold = kernels::segment_sum;
  std::string_view name() const override { return "segment_sum"; }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none) g.set(0, segment_gather(g.e, g.diff_dst(), g.src(src_ids)));
    g.stop(src_like);
  }
};

struct SegmentMaxOp final : SegmentOp<SegmentMaxOp> {
  static constexpr const char *op = "segment_max";
  static constexpr auto fold = kernels::segment_max;
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
      kernels::segment_softmax(s, r.in<float>(src_x) + b * s.rows * s.width, r.in<int64_t>(src_ids) + b * s.rows,
                               r.out<float>(0) + b * s.rows * s.width, first, last, most, sum);
    };
    return by_segments("segment_softmax", site, s, 3 * us_per_function * cost(s, 1), part, checked_mul(stats, 8));
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
                    std::iota(r.out<int64_t>(0) + begin, r.out<int64_t>(0) + end, begin);
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
