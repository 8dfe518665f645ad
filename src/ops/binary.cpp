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
  Id a = g.src(0), b = g.src(1), d = g.diff_dst();
  if (d == none || e.dtype(a) != DType::f32 || is_comparison(f)) return;
  auto to = [&](int i, Id diff) {
    Id x = g.src(i);
    g.set(i, fills(e.shape(x), e.shape(g.src(1 - i))) ? diff : sum_like(e, diff, x));
  };
  // 1 where max or min selects operand i.
  auto taken = [&](Binary compare, int i) {
    Id first = binary(e, compare, a, b), zero = e.scalar(0);
    return i == 0 ? select(e, first, d, zero) : select(e, first, zero, d);
  };
  for (int i = 0; i < 2; ++i) {
    if (!g.wants(i)) continue;
    bool left = i == 0;
    switch (f) {
      case Binary::add:
        to(i, d);
        break;
      case Binary::sub:
        to(i, left ? d : unary(e, Unary::neg, d));
        break;
      case Binary::mul:
        to(i, mul(e, d, left ? b : a));
        break;
      case Binary::div:
        to(i, left ? div(e, d, b) : unary(e, Unary::neg, div(e, mul(e, d, g.dst()), b)));
        break;
      case Binary::max:
        to(i, taken(Binary::greater_equal, i));
        break;
      case Binary::min:
        to(i, taken(Binary::less_equal, i));
        break;
      case Binary::pow:
        if (left) {
          to(i, mul(e, mul(e, d, b), binary(e, Binary::pow, a, sub(e, b, e.scalar(1)))));
        } else {
          // log a where a > 0; 0^b does not depend on b > 0.
          Id log = unary(e, Unary::log, a), zero = e.scalar(0);
          to(i, mul(e, d, mul(e, g.dst(), select(e, binary(e, Binary::greater, a, zero), log, zero))));
        }
        break;
      case Binary::atan2: {
        Id square = add(e, unary(e, Unary::square, a), unary(e, Unary::square, b));
        to(i, div(e, mul(e, d, left ? b : unary(e, Unary::neg, a)), square));
        break;
      }
      case Binary::mod:  // a minus b times an integer
        to(i, left ? d : unary(e, Unary::neg, mul(e, d, unary(e, Unary::floor, div(e, a, b)))));
        break;
      case Binary::fmod:
        to(i, left ? d : mul(e, d, div(e, sub(e, g.dst(), a), b)));
        break;
      case Binary::floor_div:  // piecewise constant
        to(i, mul(e, d, e.scalar(0)));
        break;
      case Binary::squared_difference:
        to(i, mul(e, d, scale(e, sub(e, a, b), left ? 2.0f : -2.0f)));
        break;
      default:
        break;
    }
  }
}

Id binary(Emit &e, Binary f, Id a, Id b) {
  int into = fills(e.shape(a), e.shape(b)) || !fills(e.shape(b), e.shape(a)) ? 0 : 1;
  return e.value(std::make_shared<BinaryOp>(f, into), {a, b});
}

}  // namespace dl4::ops
