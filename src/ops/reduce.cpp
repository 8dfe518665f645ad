// reduce: sums, means, extremes and products over axes; integers wrap; for booleans "any" and "all". square_sum: sum of
// squares in double, for the norm of a block of gradients. all_reduce: a sum over all workers during a run, by the
// host's function.
#include <algorithm>

#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
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

}  // namespace dl4::ops
