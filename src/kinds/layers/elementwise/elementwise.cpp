// Elementwise functions of keras.ops as layers: tables of rows.
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary;
using ops::Emit;
using ops::Id;
using ops::Unary;

constexpr double infinity = std::numeric_limits<double>::infinity();

struct ElementwiseLayer final : Layer {
  struct Row : Entry {
    DType takes;
    Id (*f)(Emit &, Id);
  };

  explicit ElementwiseLayer(const Row &row) : row(row) {}
  const Row &row;

  Facts facts() const override { return {.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}}; }
  bool by_step(int) const override { return true; }
  std::vector<Symbol> call(Call &c) const override {
    if (row.takes == DType::f32) c.need_float(0);
    return {{row.f(c.e, ops::cast(c.e, c.x(), row.takes))}};
  }
};

template <Unary f>
Id plain(Emit &e, Id x) {
  return ops::unary(e, f, x);
}
Id reciprocal(Emit &e, Id x) { return ops::div(e, e.scalar(1), x); }
Id log2(Emit &e, Id x) { return ops::scale(e, ops::unary(e, Unary::log, x), 1.44269504f); }
Id log10(Emit &e, Id x) { return ops::scale(e, ops::unary(e, Unary::log, x), 0.434294482f); }
Id tan(Emit &e, Id x) { return ops::div(e, ops::unary(e, Unary::sin, x), ops::unary(e, Unary::cos, x)); }
Id is_inf(Emit &e, Id x) { return ops::binary(e, Binary::equal, ops::unary(e, Unary::abs, x), e.scalar(infinity)); }
Id is_finite(Emit &e, Id x) { return ops::binary(e, Binary::less, ops::unary(e, Unary::abs, x), e.scalar(infinity)); }
Id is_nan(Emit &e, Id x) { return ops::binary(e, Binary::not_equal, x, x); }
Id logical_not(Emit &e, Id x) { return ops::binary(e, Binary::equal, x, e.scalar(0, DType::boolean)); }

Id arctan(Emit &e, Id x) { return ops::binary(e, Binary::atan2, x, e.scalar(1)); }
// The other side of the triangle whose longest is 1.
Id other_side(Emit &e, Id x) {
  return ops::unary(e, Unary::sqrt, ops::mul(e, ops::sub(e, e.scalar(1), x), ops::add(e, x, e.scalar(1))));
}
Id arcsin(Emit &e, Id x) { return ops::binary(e, Binary::atan2, x, other_side(e, x)); }
Id arccos(Emit &e, Id x) { return ops::binary(e, Binary::atan2, other_side(e, x), x); }
Id sinh(Emit &e, Id x) {
  const Id m = ops::unary(e, Unary::expm1, ops::unary(e, Unary::abs, x));
  const Id twice = ops::add(e, m, ops::div(e, m, ops::add(e, m, e.scalar(1))));
  return ops::mul(e, ops::unary(e, Unary::sign, x), ops::scale(e, twice, 0.5f));
}
Id cosh(Emit &e, Id x) {
  const Id half = ops::scale(e, ops::unary(e, Unary::exp, ops::unary(e, Unary::abs, x)), 0.5f);
  return ops::add(e, half, ops::div(e, e.scalar(0.25), half));
}
Id exp2(Emit &e, Id x) { return ops::binary(e, Binary::pow, e.scalar(2), x); }
Id trunc(Emit &e, Id x) {
  return ops::mul(e, ops::unary(e, Unary::sign, x), ops::unary(e, Unary::floor, ops::unary(e, Unary::abs, x)));
}

const std::vector<ElementwiseLayer::Row> &elementwise() {
  auto row = [](const char *name, const char *doc, Id (*f)(Emit &, Id), std::vector<std::string> aliases = {},
                DType takes = DType::f32) {
    return ElementwiseLayer::Row{{"layer", name, doc, fresh<ElementwiseLayer>, std::move(aliases)}, takes, f};
  };
  static const std::vector<ElementwiseLayer::Row> rows{
      row("Absolute", "|x|.", plain<Unary::abs>, {"Abs"}),
      row("Negative", "-x.", plain<Unary::neg>),
      row("Sign", "-1, 0 or 1.", plain<Unary::sign>),
      row("Square", "x * x.", plain<Unary::square>),
      row("Sqrt", "The square root.", plain<Unary::sqrt>),
      row("Rsqrt", "1 / sqrt(x).", plain<Unary::rsqrt>),
      row("Reciprocal", "1 / x.", reciprocal),
      row("Exp", "e to the power of x.", plain<Unary::exp>),
      row("Log", "The natural logarithm.", plain<Unary::log>),
      row("Log1p", "The natural logarithm of 1 + x.", plain<Unary::log1p>),
      row("Log2", "The logarithm to base 2.", log2),
      row("Log10", "The logarithm to base 10.", log10),
      row("Expm1", "e to the power of x, less 1.", plain<Unary::expm1>),
      row("Sin", "The sine of x, in radians.", plain<Unary::sin>),
      row("Cos", "The cosine of x, in radians.", plain<Unary::cos>),
      row("Tan", "The tangent of x, in radians.", tan),
      row("Arcsin", "The angle whose sine is x.", arcsin),
      row("Arccos", "The angle whose cosine is x.", arccos),
      row("Arctan", "The angle whose tangent is x.", arctan),
      row("Sinh", "The hyperbolic sine.", sinh),
      row("Cosh", "The hyperbolic cosine.", cosh),
      row("Exp2", "2 to the power of x.", exp2),
      row("Trunc", "x without what is behind the point.", trunc),
      row("Erf", "The error function.", plain<Unary::erf>),
      row("Floor", "The largest whole number that is not above x.", plain<Unary::floor>),
      row("Ceil", "The smallest whole number that is not below x.", plain<Unary::ceil>),
      row("Round", "The nearest whole number, of two the even one.", plain<Unary::round>),
      row("Tanh", "The hyperbolic tangent.", plain<Unary::tanh>),
      row("Isnan", "Whether x is no number: bool.", is_nan),
      row("Isinf", "Whether x is infinite: bool.", is_inf),
      row("Isfinite", "Whether x is a number and finite: bool.", is_finite),
      row("LogicalNot", "Whether x is 0 or false: bool.", logical_not, {}, DType::boolean),
  };
  return rows;
}

struct Pairwise final : Layer {
  struct Row : Entry {
    enum Takes { any, floats, flags } takes;
    Binary f;
  };

  explicit Pairwise(const Row &row) : row(row) {}
  const Row &row;
  std::optional<double> x1, x2;

  void fields(Fields &f) override {
    f("x1", x1).doc("a number in place of the first input");
    f("x2", x2).doc("a number in place of the second input");
  }
  void check() override {
    if (x1 && x2)
      throw Error(Code::invalid_argument, "\"x2\": expected null where \"x1\" is given").with("attribute", "x2");
  }
  Facts facts() const override {
    return {.inputs = {{"x1", "(...)", "x1 null"}, {"x2", "(...), shapes that broadcast", "x2 null"}},
            .outputs = {{"y", "(...)"}}};
  }
  Arity arity() const override { return x1 || x2 ? Arity{1, 1} : Arity{2, 2}; }

  bool by_step(int) const override { return true; }
  std::vector<Symbol> call(Call &c) const override {
    Id a = prepared(c, 0), b = a;
    if (x1 || x2)
      (x1 ? a : b) = c.e.scalar(x1 ? *x1 : *x2, c.e.dtype(a));
    else
      b = prepared(c, 1);
    if (c.e.dtype(a) != c.e.dtype(b))
      fail(Code::invalid_argument, "input 1: expected dtype=", c.e.dtype(a),
           " as input 0 has, found dtype=", c.e.dtype(b));
    return {{ops::binary(c.e, row.f, a, b)}};
  }

 private:
  Id prepared(Call &c, int i) const {
    if (row.takes == Row::any) return c.x(i);
    return ops::cast(c.e, c.x(i), row.takes == Row::flags ? DType::boolean : DType::f32);
  }
};

const std::vector<Pairwise::Row> &pairwise() {
  auto row = [](const char *name, const char *doc, Binary f, Pairwise::Row::Takes takes = Pairwise::Row::any,
                std::vector<std::string> aliases = {}) {
    return Pairwise::Row{{"layer", name, doc, fresh<Pairwise>, std::move(aliases)}, takes, f};
  };
  static const std::vector<Pairwise::Row> rows{
      row("BroadcastAdd", "x1 + x2, where Add wants one batch size: keras.ops.add.", Binary::add),
      row("BroadcastSubtract", "x1 - x2, where Subtract wants one batch size: keras.ops.subtract.", Binary::sub),
      row("BroadcastMultiply", "x1 * x2, where Multiply wants one batch size: keras.ops.multiply.", Binary::mul),
      row("BroadcastMaximum", "The larger of x1 and x2: keras.ops.maximum.", Binary::max),
      row("BroadcastMinimum", "The smaller of x1 and x2: keras.ops.minimum.", Binary::min),
      row("Divide", "x1 / x2, in float32.", Binary::div, Pairwise::Row::floats, {"TrueDivide"}),
      row("Power", "x1 to the power of x2, in float32.", Binary::pow, Pairwise::Row::floats),
      row("Arctan2", "The angle of the point (x2, x1), in float32.", Binary::atan2, Pairwise::Row::floats),
      row("Equal", "x1 == x2: bool.", Binary::equal),
      row("NotEqual", "x1 != x2: bool.", Binary::not_equal),
      row("Less", "x1 < x2: bool.", Binary::less),
      row("LessEqual", "x1 <= x2: bool.", Binary::less_equal),
      row("Greater", "x1 > x2: bool.", Binary::greater),
      row("GreaterEqual", "x1 >= x2: bool.", Binary::greater_equal),
      row("LogicalAnd", "Whether both are true: bool.", Binary::logical_and, Pairwise::Row::flags),
      row("LogicalOr", "Whether either is true: bool.", Binary::logical_or, Pairwise::Row::flags),
  };
  return rows;
}

struct Clip final : Layer {
  static constexpr const char *name = "Clip";
  static constexpr const char *doc = "x, but x_min where it is below that and x_max where it is above: keras.ops.clip.";
  double x_min = 0, x_max = 0;

  void fields(Fields &f) override {
    f("x_min", x_min).required("0").doc("the smallest value");
    f("x_max", x_max).required("1").doc("the largest value; not below x_min");
  }
  void check() override {
    if (x_min > x_max)
      throw Error(Code::invalid_argument,
                  text("\"x_max\": expected at least x_min, ", Json(x_min).dump(), ", got ", Json(x_max).dump()))
          .with("attribute", "x_max");
  }
  Facts facts() const override { return {.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}}; }
  bool by_step(int) const override { return true; }
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    return {{ops::unary(c.e, Unary::clip, c.x(), {static_cast<float>(x_min), static_cast<float>(x_max)})}};
  }
};

struct Where final : Layer {
  static constexpr const char *name = "Where";
  static constexpr const char *doc = "x1 where a condition holds, else x2: keras.ops.where.";
  std::optional<double> x1, x2;

  void fields(Fields &f) override {
    f("x1", x1).doc("a number in place of the input x1");
    f("x2", x2).doc("a number in place of the input x2");
  }
  Facts facts() const override {
    return {.inputs = {{"condition", "(...): bool, or not 0"},
                       {"x1", "(...), shapes that broadcast", "x1 null"},
                       {"x2", "(...), shapes that broadcast", "x2 null"}},
            .outputs = {{"y", "(...)"}}};
  }
  Arity arity() const override {
    const int n = 3 - (x1 ? 1 : 0) - (x2 ? 1 : 0);
    return {n, n};
  }
  bool by_step(int) const override { return true; }
  std::vector<Symbol> call(Call &c) const override {
    const DType type = x1 && x2 ? DType::f32 : c.e.dtype(c.x(1));
    Id a = x1 ? c.e.scalar(*x1, type) : c.x(1);
    Id b = x2 ? c.e.scalar(*x2, type) : c.x(x1 ? 1 : 2);
    if (c.e.dtype(a) != c.e.dtype(b))
      fail(Code::invalid_argument, "input 2: expected dtype=", c.e.dtype(a),
           " as input 1 has, found dtype=", c.e.dtype(b));
    return {{ops::select(c.e, ops::cast(c.e, c.x(), DType::boolean), a, b)}};
  }
};

}  // namespace
DL4_KINDS(Elementwises, elementwise())
DL4_KINDS(Pairwises, pairwise())
DL4_KIND(Clip)
DL4_KIND(Where)
}  // namespace dl4::kinds
