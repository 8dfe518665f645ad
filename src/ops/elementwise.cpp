// unary: y = f(x). binary: f(a, b) with NumPy's broadcasting. select: a where the mask is true, else b; the other side
// never affects the result.
#include "ops/elementwise.hpp"

#include "ops/attributes.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// dx from dy and x or y.
struct UnaryGradOp final : OpOf<UnaryGradOp, "unary_grad", attributes::UnaryGrad> {
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape(op, src[0].shape, src[1].shape)}};
  }
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    if (g.wants(0)) g.set(0, e.value(make<UnaryGradOp>(function), {g.diff_dst(), g.src(1)}));
    if (!g.wants(1)) return;
    if (Id by = curvature(e, function, g.src(1)); by != none)
      g.set(1, mul(e, mul(e, g.diff_dst(), g.src(0)), by));
    else
      g.stop(1);
  }
  int overwrites(int) const override { return 0; }
};

// Of integers, which wrap around; none of other functions.
Id of_integers(Emit &e, Unary f, Id x) {
  const auto number = [&](double v) { return e.scalar(v, e.dtype(x)); };
  switch (f) {
    case Unary::neg:
      return sub(e, number(0), x);
    case Unary::abs:
      return binary(e, Binary::max, x, sub(e, number(0), x));
    case Unary::sign:
      return binary(e, Binary::max, binary(e, Binary::min, x, number(1)), number(-1));
    case Unary::square:
      return mul(e, x, x);
    default:
      return none;
  }
}

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

struct SelectOp final : OpOf<SelectOp, "select", attributes::Select> {
  bool takes_strings() const override { return true; }

  std::vector<Operand> infer(Operands src) const override {
    want_type("the mask of select", src[0], DType::boolean);
    if (src[1].dtype != src[2].dtype)
      fail(Code::invalid_argument, "expected values of one dtype, got ", src[1].dtype, " and ", src[2].dtype);
    return {{src[1].dtype, broadcast(src[0].shape, broadcast(src[1].shape, src[2].shape))}};
  }

  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    Id mask = g.src(0), d = g.diff_dst();
    Id zero = e.scalar(0);
    if (g.wants(1)) g.set(1, sum_like(e, select(e, mask, d, zero), g.src(1)));
    if (g.wants(2)) g.set(2, sum_like(e, select(e, mask, zero, d), g.src(2)));
  }
};

}  // namespace

std::string to_string(const Function &f) {
  std::string s(info(f.f).name);
  return f.params().empty() ? s : s + numbers(f.params());
}

std::vector<Operand> UnaryOp::infer(Operands src) const {
  want_float(info(function.f).name.data(), src[0]);
  return {src[0]};
}

void UnaryOp::gradient(Gradient &g) const {
  Id of = grad_from(function.f, function.param.data()) == GradFrom::output ? g.dst() : g.src(0);
  g.set(0, g.e.value(make<UnaryGradOp>(function), {g.diff_dst(), of}));
}

Id unary(Emit &e, Unary f, Id x, std::array<float, 3> param) {
  if (const DType t = e.dtype(x); t == DType::i32 || t == DType::i64)
    if (const Id y = of_integers(e, f, x); y != none) return y;
  return e.value(std::make_shared<UnaryOp>(Function{f, param}), {x});
}

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

Id select(Emit &e, Id mask, Id a, Id b) { return e.value(make<SelectOp>(), {mask, a, b}); }

}  // namespace dl4::ops
