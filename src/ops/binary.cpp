// binary: f(a, b) with NumPy's broadcasting.
#include "ops/elementwise.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// Whether the result has the shape of `a` whatever the free dims are.
bool fills(const Shape &a, const Shape &other) {
  if (a.rank() < other.rank()) return false;
  for (int i = 1; i <= other.rank(); ++i)
    if (other[-i] != 1 && (a[-i] == 1 || a[-i] == free_dim)) return false;
  return true;
}

// The gradient by source i, of the shape of the result.
Id partial(const Gradient &g, Binary f, int i) {
  Emit &e = g.e;
  const Id a = g.src(0), b = g.src(1), d = g.diff_dst();
  const bool left = i == 0;
  const auto negative = [&](Id x) { return unary(e, Unary::neg, x); };
  // 1 where max or min selects operand i.
  const auto taken = [&](Binary compare) {
    Id first = binary(e, compare, a, b), zero = e.scalar(0);
    return left ? select(e, first, d, zero) : select(e, first, zero, d);
  };
  switch (f) {
    case Binary::add:
      return d;
    case Binary::sub:
      return left ? d : negative(d);
    case Binary::mul:
      return mul(e, d, left ? b : a);
    case Binary::div:
      return left ? div(e, d, b) : negative(div(e, mul(e, d, g.dst()), b));
    case Binary::max:
      return taken(Binary::greater_equal);
    case Binary::min:
      return taken(Binary::less_equal);
    case Binary::pow: {
      if (left) return mul(e, mul(e, d, b), binary(e, Binary::pow, a, sub(e, b, e.scalar(1))));
      // log a where a > 0; 0^b does not depend on b > 0.
      Id log = unary(e, Unary::log, a), zero = e.scalar(0);
      return mul(e, d, mul(e, g.dst(), select(e, binary(e, Binary::greater, a, zero), log, zero)));
    }
    case Binary::atan2: {
      Id square = add(e, unary(e, Unary::square, a), unary(e, Unary::square, b));
      return div(e, mul(e, d, left ? b : negative(a)), square);
    }
    case Binary::mod:  // a minus b times an integer
      return left ? d : negative(mul(e, d, unary(e, Unary::floor, div(e, a, b))));
    case Binary::fmod:
      return left ? d : mul(e, d, div(e, sub(e, g.dst(), a), b));
    case Binary::floor_div:  // piecewise constant
      return mul(e, d, e.scalar(0));
    case Binary::squared_difference:
      return mul(e, d, scale(e, sub(e, a, b), left ? 2.0f : -2.0f));
    default:
      return none;
  }
}

}  // namespace

std::vector<Operand> BinaryOp::infer(Operands src) const {
  const Operand &a = src[0], &b = src[1];
  if (a.dtype != b.dtype) fail(Code::invalid_argument, "expected values of one dtype, got ", a.dtype, " and ", b.dtype);
  if (!supports(f, a.dtype)) fail(Code::invalid_argument, "does not compute with dtype ", a.dtype);
  return {{result_type(f, a.dtype), broadcast(a.shape, b.shape)}};
}

void BinaryOp::gradient(Gradient &g) const {
  if (activation) fail(Code::internal, "binary: a fused step has no gradient");
  Emit &e = g.e;
  for (int i = 0; i < 2; ++i) {
    const Id diff = g.wants(i) ? partial(g, f, i) : none;
    if (diff == none) continue;
    const Id x = g.src(i);
    g.set(i, fills(e.shape(x), e.shape(g.src(1 - i))) ? diff : sum_like(e, diff, x));
  }
}

Id binary(Emit &e, Binary f, Id a, Id b) {
  int into = fills(e.shape(a), e.shape(b)) || !fills(e.shape(b), e.shape(a)) ? 0 : 1;
  return e.value(std::make_shared<BinaryOp>(f, into), {a, b});
}

}  // namespace dl4::ops
