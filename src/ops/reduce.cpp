// reduce: sums, means, extremes and products over axes; integers wrap; for booleans "any" and "all". square_sum: sum of
// squares in double, for the norm of a block of gradients. all_reduce: a sum over all workers during a run, by the
// host's function.
// Along one axis: softmax and log_softmax, sparsemax (the projection onto the simplex), hardmax (one-hot of the first
// maximum) and argmax (its index).
// normalize: rows normalised to mean 0 and variance 1, then scaled and shifted.
// sort along the last axis; cumulate: cumulative sums and products along an axis; bucketize, sums per bucket, top k and
// non-maximum suppression.

#include "ops/attributes.hpp"
#include "ops/differentiate.hpp"
#include "ops/matched.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct ReduceOp final : OpOf<ReduceOp, "reduce", attributes::Reduction> {
  std::vector<Operand> infer(Operands src) const override {
    const Operand &x = src[0];
    const bool extreme = f == Reduce::max || f == Reduce::min;
    if (!extreme || x.dtype != DType::boolean) {
      const auto want = extreme || f == Reduce::sum || f == Reduce::prod ? want_number : want_float;
      want(to_string(f).c_str(), x);
    }
    Shape y = x.shape;
    for (size_t i = axes.size(); i-- > 0;) y = keepdims ? y.with(axes[i], 1) : y.without(axes[i]);
    return {{x.dtype, y}};
  }

  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    Id x = g.src(0), d = spread_axes(e, g.diff_dst());
    switch (f) {
      case Reduce::sum:
        g.set(0, broadcast_like(e, d, x));
        break;
      case Reduce::mean:
        g.set(0, mean_grad(e, d, x));
        break;
      case Reduce::sum_squares:
        g.set(0, mul(e, scale(e, x, 2), d));
        break;
      case Reduce::sum_abs:
        g.set(0, mul(e, unary(e, Unary::sign, x), d));
        break;
      case Reduce::max:
      case Reduce::min: {
        // Shared equally among ties, as in TensorFlow.
        Id tied = cast(e, binary(e, Binary::equal, x, spread_axes(e, g.dst())), DType::f32);
        Id count = reduce(e, Reduce::sum, tied, axes, true);
        g.set(0, mul(e, tied, div(e, d, count)));
        break;
      }
      case Reduce::prod: {
        // The product of the others; zeros are excluded and handled separately.
        Id one = e.scalar(1), zero = e.scalar(0);
        Id is_zero = binary(e, Binary::equal, x, zero);
        Id zeros = reduce(e, Reduce::sum, cast(e, is_zero, DType::f32), axes, true);
        Id rest = reduce(e, Reduce::prod, select(e, is_zero, one, x), axes, true);
        Id if_zero = select(e, binary(e, Binary::equal, zeros, one), rest, zero);
        Id if_not = select(e, binary(e, Binary::equal, zeros, zero), div(e, rest, select(e, is_zero, one, x)), zero);
        g.set(0, mul(e, d, select(e, is_zero, if_zero, if_not)));
        break;
      }
    }
  }

 private:
  // Restores the reduced axes with size 1.
  Id spread_axes(Emit &e, Id y) const {
    if (!keepdims)
      for (int a : axes) y = expand_dims(e, y, a);
    return y;
  }
};

struct SquareSumOp final : OpOf<SquareSumOp, "square_sum", attributes::SquareSum> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    return {{DType::f32, {}}};
  }
  void gradient(Gradient &g) const override { g.set(0, mul(g.e, g.src(0), scale(g.e, g.diff_dst(), 2))); }
};

struct AllReduceOp final : OpOf<AllReduceOp, "all_reduce", attributes::AllReduce> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    return {src[0]};
  }
  // A worker that removes, merges or folds one makes the others wait forever.
  bool is_volatile() const override { return workers != nullptr; }
  // Each worker's loss depends on every worker's source.
  void gradient(Gradient &g) const override { g.set(0, all_reduce(g.e, workers, g.diff_dst())); }
  // One slice, so that the host's function runs on the calling thread.
};

}  // namespace

Id reduce(Emit &e, Reduce f, Id x, std::vector<int> axes, bool keepdims) {
  const Shape s = e.shape(x);
  for (int &a : axes) a = s.axis(a);
  if (axes.empty())
    for (int i = 0; i < s.rank(); ++i) axes.push_back(i);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    fail(Code::invalid_argument, f, ": an axis is given twice in ", numbers(axes));
  return e.value(make<ReduceOp>(f, std::move(axes), keepdims), {x});
}

Id square_sum(Emit &e, Id x) { return e.value(make<SquareSumOp>(), {x}); }

Id all_reduce(Emit &e, std::shared_ptr<Collective> workers, Id x) {
  return e.value(make<AllReduceOp>(std::move(workers)), {x});
}

int64_t all_reduced(const Program &p, const Step &step) {
  const auto *op = as<AllReduceOp>(step);
  return op && op->workers ? p[step.src[0]].shape.elements() : -1;
}

void leave_workers(Step &all_reduce) { all_reduce.op = make<AllReduceOp>(nullptr); }

namespace {

// dx from dy and y.
struct SoftmaxGradOp final : OpOf<SoftmaxGradOp, "softmax_grad", attributes::SoftmaxGrad> {
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape(op, src[0].shape, src[1].shape)}};
  }
  void gradient(Gradient &g) const override {
    differentiate_as(g, [this](Emit &e, const std::vector<Id> &src) {
      const auto sum = [&](Id x) { return reduce(e, Reduce::sum, x, {axis}, true); };
      const Id dy = src[0], y = src[1];
      return log ? sub(e, dy, mul(e, unary(e, Unary::exp, y), sum(dy))) : mul(e, y, sub(e, dy, sum(mul(e, dy, y))));
    });
  }
  int overwrites(int) const override { return 0; }
};

struct SparsemaxGradOp final : OpOf<SparsemaxGradOp, "sparsemax_grad", attributes::SparsemaxGrad> {
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape(op, src[0].shape, src[1].shape)}};
  }
  // Linear in dy; piecewise constant in y, which selects the support.
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, g.e.value(make<SparsemaxGradOp>(axis), {g.diff_dst(), g.src(1)}));
    g.stop(1);
  }
};

struct SparsemaxOp final : OpOf<SparsemaxOp, "sparsemax", attributes::Sparsemax> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    g.set(0, g.e.value(make<SparsemaxGradOp>(axis), {g.diff_dst(), g.dst()}));
  }
};

struct HardmaxOp final : OpOf<HardmaxOp, "hardmax", attributes::Hardmax> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    Id p = softmax(e, g.src(0), axis), weighed = mul(e, p, g.diff_dst());
    g.set(0, sub(e, weighed, mul(e, p, reduce(e, Reduce::sum, weighed, {axis}, true))));
  }
};

struct ArgmaxOp final : StopsGradients<ArgmaxOp, "argmax", attributes::Argmax> {
  std::vector<Operand> infer(Operands src) const override {
    want_number(op, src[0]);
    const Shape &x = src[0].shape;
    if (x[axis] == 0) fail(Code::shape_mismatch, "argmax over the empty axis ", axis, " of ", x);
    return {{DType::i32, x.without(axis)}};
  }
};

}  // namespace

std::vector<Operand> SoftmaxOp::infer(Operands src) const {
  want_float(log ? "log_softmax" : "softmax", src[0]);
  return {src[0]};
}

void SoftmaxOp::gradient(Gradient &g) const {
  g.set(0, g.e.value(make<SoftmaxGradOp>(log, axis), {g.diff_dst(), g.dst()}));
}

Id softmax(Emit &e, Id x, int axis) { return e.value(std::make_shared<SoftmaxOp>(false, e.shape(x).axis(axis)), {x}); }
Id log_softmax(Emit &e, Id x, int axis) {
  return e.value(std::make_shared<SoftmaxOp>(true, e.shape(x).axis(axis)), {x});
}

Id sparsemax(Emit &e, Id x, int axis) { return e.value(make<SparsemaxOp>(e.shape(x).axis(axis)), {x}); }

Id hardmax(Emit &e, Id x, int axis) { return e.value(make<HardmaxOp>(e.shape(x).axis(axis)), {x}); }

Id argmax(Emit &e, Id x, int axis) { return e.value(make<ArgmaxOp>(e.shape(x).axis(axis)), {x}); }

namespace {

// Sources dy x mean by gamma; destinations dx and the summands of gamma's gradient.
struct NormalizeGradOp final : OpOf<NormalizeGradOp, "normalize_grad", attributes::NormalizeGrad> {
  std::vector<Operand> infer(Operands src) const override {
    const Operand x{DType::f32, same_shape(op, src[0].shape, src[1].shape)};
    return {x, x};
  }
  // The moments are functions of x, whose gradient includes them.
  void gradient(Gradient &g) const override {
    g.stop(2);
    g.stop(3);
    for (int i : {0, 1})
      differentiate_as(
          g,
          [&](Emit &e, const std::vector<Id> &src) {
            return i == 0 ? diff_x(e, src) : mul(e, src[0], brought(e, src[1]));
          },
          i);
  }
  int overwrites(int dst) const override { return dst == 0 ? 0 : -1; }

 private:
  Id row_mean(Emit &e, Id v) const {
    std::vector<int> over;
    for (int i = e.rank(v) - axes; i < e.rank(v); ++i) over.push_back(i);
    return reduce(e, Reduce::mean, v, over, true);
  }
  Id factor(Emit &e, Id x) const {
    return unary(e, Unary::rsqrt, add(e, row_mean(e, unary(e, Unary::square, x)), e.scalar(epsilon)));
  }
  Id centered(Emit &e, Id x) const { return center ? sub(e, x, row_mean(e, x)) : x; }
  // x normalised, before gamma and beta.
  Id brought(Emit &e, Id x) const {
    const Id c = centered(e, x);
    return mul(e, c, factor(e, c));
  }
  Id diff_x(Emit &e, const std::vector<Id> &src) const {
    const Id c = centered(e, src[1]), by = factor(e, c), y = mul(e, c, by);
    const Id d = src[4] == none ? src[0] : mul(e, src[0], src[4]);
    return mul(e, by, sub(e, centered(e, d), mul(e, y, row_mean(e, mul(e, d, y)))));
  }
};

struct NormalizeOp final : OpOf<NormalizeOp, "normalize", attributes::Normalize> {
  int overwrites(int dst) const override { return dst == 0 ? 0 : -1; }

  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &o : src)
      if (o.present) want_float(op, o);
    const Shape &x = src[0].shape;
    if (axes < 1 || axes > x.rank()) fail(Code::invalid_argument, "normalize can't take ", axes, " axes of ", x);
    for (size_t i : {1, 2})
      if (src[i].present && !compatible(src[i].shape, x.last(axes)))
        fail(Code::shape_mismatch, "normalize expects gamma and beta of shape ", x.last(axes), ", got ", src[i].shape);
    const Shape rows = x.first(x.rank() - axes);
    return {src[0], {DType::f32, rows}, {DType::f32, rows}};
  }

  void gradient(Gradient &g) const override {
    if (g.diff_dst(1) != none || g.diff_dst(2) != none) return;  // the moments have no gradient
    Emit &e = g.e;
    const Id dy = g.diff_dst();
    std::vector<int> rows;
    for (int i = 0; i < e.rank(dy) - axes; ++i) rows.push_back(i);
    const auto over_rows = [&](Id v) { return rows.empty() ? v : reduce(e, Reduce::sum, v, rows); };
    const auto d = e.step(make<NormalizeGradOp>(axes, epsilon, center),
                          {dy, g.src(0), g.dst(1), g.dst(2), g.has(1) ? g.src(1) : none});
    if (g.wants(0)) g.set(0, d[0]);
    if (g.wants(1)) g.set(1, over_rows(d[1]));
    if (g.wants(2)) g.set(2, over_rows(dy));
  }
};

}  // namespace

Id normalize(Emit &e, Id x, int axes, double epsilon, bool center, Id gamma, Id beta) {
  return e.step(make<NormalizeOp>(axes, epsilon, center), {x, gamma, beta})[0];
}

namespace {

struct SortOp final : OpOf<SortOp, "sort", attributes::Sort> {
  std::vector<Operand> infer(Operands src) const override {
    want_number(op, src[0]);
    if (src[0].shape.rank() < 1) fail(Code::shape_mismatch, "sort expects an axis, got ", src[0].shape);
    return {src[0], {DType::i32, src[0].shape}};
  }
  // Scatters each element's gradient to its source position.
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    const int64_t n = e.shape(g.src(0)).last();
    if (n == free_dim) fail(Code::unsupported, "sort: the gradient expects an axis of known size");
    const Id flat = reshape(e, g.src(0), 0, {free_dim, 1});
    Id rows = reshape(e, g.dst(1), 0, {free_dim, n});
    const Id row = expand_dims(e, cast(e, indices(e, rows, 0), DType::i32), 1);
    const Id first = mul(e, row, e.scalar(static_cast<double>(n), DType::i32));
    const Id ids = reshape(e, add(e, rows, first), 0, {free_dim});
    const Id diff = scatter_add(e, reshape(e, g.diff_dst(), 0, {free_dim, 1}), ids, flat);
    g.set(0, reshape_like(e, diff, g.src(0)));
  }
};

struct CumulateOp final : OpOf<CumulateOp, "cumulate", attributes::Cumulation> {
  std::vector<Operand> infer(Operands src) const override {
    want_number(op, src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    Cumulate back = how;
    back.product = false, back.reverse = !how.reverse;
    if (!how.product) return g.set(0, cumulate(e, g.diff_dst(), axis, back));
    // As in TensorFlow: 0 where x is 0.
    const Id x = g.src(0), sum = cumulate(e, mul(e, g.diff_dst(), g.dst()), axis, back), zero = e.scalar(0);
    const Id none_there = binary(e, Binary::equal, x, zero);
    g.set(0, select(e, none_there, zero, div(e, sum, select(e, none_there, e.scalar(1), x))));
  }
};

struct BucketizeOp final : StopsGradients<BucketizeOp, "bucketize", attributes::Bucketize> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    want_float("the bounds of bucketize", src[1]);
    if (src[1].shape.rank() != 1) fail(Code::shape_mismatch, "bucketize expects bounds (K), got ", src[1].shape);
    return {{DType::i32, src[0].shape}};
  }
};

// In one slice and in double: counts of large batches stay exact, and the bits don't depend on the threads.
struct BucketSumsOp final : NotDifferentiable<BucketSumsOp, "bucket_sums", attributes::BucketSums> {
  std::vector<Operand> infer(Operands src) const override {
    want_type("the buckets of bucket_sums", src[0], DType::i32);
    if (src[1].present) {
      want_float(op, src[1]);
      same_shape(op, src[0].shape, src[1].shape);
    }
    return {{DType::f32, {count}}};
  }
};

struct TopKOp final : StopsGradients<TopKOp, "top_k", attributes::TopK> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    const Shape &x = src[0].shape;
    if (x.rank() < 1 || (x.last() != free_dim && x.last() < k))
      fail(Code::shape_mismatch, "the ", k, " largest of a last axis: expected at least ", k, " elements, got ", x);
    return {{DType::boolean, x}};
  }
};

struct NonMaxSuppressionOp final
    : StopsGradients<NonMaxSuppressionOp, "non_max_suppression", attributes::NonMaxSuppression> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &boxes = src[0].shape, &scores = src[1].shape;
    if (src[0].dtype != DType::f32 || src[1].dtype != DType::f32 || boxes.rank() != 3 || scores.rank() != 3 ||
        (boxes[2] != 4 && boxes[2] != free_dim) || !agree(boxes[0], scores[0]) || !agree(boxes[1], scores[2]))
      fail(Code::shape_mismatch, "non_max_suppression expects float32 boxes (B, N, 4) and scores (B, C, N), got ",
           src[0].dtype, ' ', boxes, " and ", src[1].dtype, ' ', scores);
    const bool known = scores.known();
    return {{DType::i64, {known ? checked_mul(scores[0], scores[1], std::min(how.most, scores[2])) : free_dim, 3}},
            {DType::i64, {}}};
  }

 private:
  static bool agree(int64_t a, int64_t b) { return a == free_dim || b == free_dim || a == b; }
};

}  // namespace

Sorted sort(Emit &e, Id x, bool descending) {
  const std::vector<Id> made = e.step(make<SortOp>(descending), {x});
  return {made[0], made[1]};
}
Id cumulate(Emit &e, Id x, int axis, const Cumulate &how) {
  return e.value(make<CumulateOp>(e.shape(x).axis(axis), how), {x});
}

Id bucketize(Emit &e, Id x, Id bounds) { return e.value(make<BucketizeOp>(), {x, bounds}); }

Id bucket_sums(Emit &e, Id buckets, Id weights, int64_t count) {
  return e.value(make<BucketSumsOp>(count), {buckets, weights});
}

Id top_k(Emit &e, Id x, int64_t k) { return e.value(make<TopKOp>(k), {x}); }

Chosen non_max_suppression(Emit &e, Id boxes, Id scores, const Suppression &how) {
  const auto made = e.step(make<NonMaxSuppressionOp>(how), {boxes, scores});
  return {made[0], made[1]};
}

}  // namespace dl4::ops
