// The table of elementwise functions, and their layers.
#include "kinds/layers/elementwise/functions.hpp"

#include "kinds/layer.hpp"
#include "ops/text.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary;
using ops::Emit;
using ops::Id;
using ops::Unary;
using Takes = Function::Takes;

constexpr double infinity = std::numeric_limits<double>::infinity();

DType taken(const Function &f, DType given) {
  const bool stays =
      f.takes == Takes::any || (f.takes == Takes::numbers && (given == DType::i32 || given == DType::i64));
  return stays ? given : f.takes == Takes::flags ? DType::boolean : DType::f32;
}

struct OfOne final : LayerOf<OfOne> {
  using Row = Function;
  explicit OfOne(const Row &row) : row(row) {}
  const Row &row;

  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};
  Json more() const override { return function_facts(facts(), row); }
  std::vector<Symbol> call(Call &c) const override {
    const DType type = taken(row, c.e.dtype(c.x()));
    if (type == DType::f32) c.need_float(0);
    const Id x = ops::cast(c.e, c.x(), type);
    return {{row.unary ? ops::unary(c.e, *row.unary, x) : row.of_one(c.e, x)}};
  }

  static Json function_facts(const Facts &facts, const Row &row) {
    Json all = facts.json();
    all["takes"] = row.takes == Takes::flags ? "bool" : row.takes == Takes::any ? "any" : "float32";
    if (row.takes == Takes::numbers) all["integers"] = true;
    return all;
  }
};

struct OfTwo final : LayerOf<OfTwo> {
  using Row = Function;
  explicit OfTwo(const Row &row) : row(row) {}
  const Row &row;
  std::optional<double> x1, x2;

  void fields(Fields &f) override {
    f("x1", x1, "a number in place of the first input");
    f("x2", x2, "a number in place of the second input");
  }
  void check() override {
    if (x1 && x2) refuse_attribute("x2", "expected null where \"x1\" is given");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"x1", "(...)", "x1 null"}, {"x2", "(...), shapes that broadcast", "x2 null"}},
      .outputs = {{"y", "(...)"}}};
  Json more() const override { return OfOne::function_facts(facts(), row); }
  Arity arity() const override { return x1 || x2 ? Arity{1, 1} : Arity{2, 2}; }

  std::vector<Symbol> call(Call &c) const override {
    const auto prepared = [&](int i) { return ops::cast(c.e, c.x(i), taken(row, c.e.dtype(c.x(i)))); };
    Id a = prepared(0), b = a;
    if (x1 || x2)
      (x1 ? a : b) = c.e.scalar(x1 ? *x1 : *x2, c.e.dtype(a));
    else
      b = prepared(1);
    if (c.e.dtype(a) != c.e.dtype(b))
      fail(Code::invalid_argument, "input 1: expected dtype=", c.e.dtype(a),
           " as input 0 has, found dtype=", c.e.dtype(b));
    if (c.e.dtype(a) == DType::string && (row.binary == Binary::equal || row.binary == Binary::not_equal)) {
      const Id same = ops::texts_equal(c.e, a, b);
      return {
          {row.binary == Binary::equal ? same : ops::binary(c.e, Binary::equal, same, c.e.scalar(0, DType::boolean))}};
    }
    return {{row.binary ? ops::binary(c.e, *row.binary, a, b) : row.of_two(c.e, a, b)}};
  }
};

// ---- composed functions -------------------------------------------------------------------------------------------

Id deg2rad(Emit &e, Id x) { return ops::mul(e, x, e.scalar(3.14159265358979324 / 180)); }
Id rad2deg(Emit &e, Id x) { return ops::mul(e, x, e.scalar(180 / 3.14159265358979324)); }
Id reciprocal(Emit &e, Id x) { return ops::div(e, e.scalar(1), x); }
Id log2(Emit &e, Id x) { return ops::scale(e, ops::unary(e, Unary::log, x), 1.44269504f); }
Id log10(Emit &e, Id x) { return ops::scale(e, ops::unary(e, Unary::log, x), 0.434294482f); }
Id exp2(Emit &e, Id x) { return ops::binary(e, Binary::pow, e.scalar(2), x); }
Id trunc(Emit &e, Id x) {
  return ops::mul(e, ops::unary(e, Unary::sign, x), ops::unary(e, Unary::floor, ops::unary(e, Unary::abs, x)));
}
Id is_inf(Emit &e, Id x) { return ops::binary(e, Binary::equal, ops::unary(e, Unary::abs, x), e.scalar(infinity)); }
Id is_positive_inf(Emit &e, Id x) { return ops::binary(e, Binary::equal, x, e.scalar(infinity)); }
Id is_negative_inf(Emit &e, Id x) { return ops::binary(e, Binary::equal, x, e.scalar(-infinity)); }
Id is_finite(Emit &e, Id x) { return ops::binary(e, Binary::less, ops::unary(e, Unary::abs, x), e.scalar(infinity)); }
Id is_nan(Emit &e, Id x) { return ops::binary(e, Binary::not_equal, x, x); }
Id is_zero(Emit &e, Id x) { return ops::binary(e, Binary::equal, x, e.scalar(0, e.dtype(x))); }
Id bitwise_not(Emit &e, Id x) {
  const DType t = e.dtype(x);
  return ops::binary(e, Binary::bitwise_xor, x, e.scalar(t == DType::boolean ? 1 : t == DType::u8 ? 255 : -1, t));
}

// Factors out the larger one, so that no square overflows; 0 with gradient 0 where both are 0.
Id hypot(Emit &e, Id a, Id b) {
  const Id most = ops::binary(e, Binary::max, ops::unary(e, Unary::abs, a), ops::unary(e, Unary::abs, b));
  const Id size = ops::stop_gradient(e, most), zero = ops::binary(e, Binary::equal, size, e.scalar(0));
  const Id by = ops::select(e, zero, e.scalar(1), size);
  const auto square = [&](Id x) { return ops::unary(e, Unary::square, ops::div(e, x, by)); };
  const Id sum = ops::select(e, zero, e.scalar(1), ops::add(e, square(a), square(b)));
  return ops::mul(e, size, ops::unary(e, Unary::sqrt, sum));
}
// Logarithm to a base, given by its logarithm, of the sum of its powers. Equal infinities differ by 0.
Id log_of_sum(Emit &e, Id a, Id b, double base) {
  const Id apart = ops::sub(e, a, b), off = ops::mul(e, ops::unary(e, Unary::abs, apart), e.scalar(-base));
  const Id more = ops::mul(e, ops::unary(e, Unary::log1p, ops::unary(e, Unary::exp, off)), e.scalar(1 / base));
  const Id near = ops::add(e, ops::binary(e, Binary::max, a, b), more);
  return ops::select(e, is_nan(e, apart), ops::add(e, a, b), near);
}
Id logaddexp(Emit &e, Id a, Id b) { return log_of_sum(e, a, b, 1); }
Id logaddexp2(Emit &e, Id a, Id b) { return log_of_sum(e, a, b, 0.693147180559945309); }
Id heaviside(Emit &e, Id a, Id b) {
  const Id above = ops::cast(e, ops::binary(e, Binary::greater, a, e.scalar(0)), DType::f32);
  return ops::select(e, is_nan(e, a), a, ops::select(e, is_zero(e, a), b, above));
}
Id divide_no_nan(Emit &e, Id a, Id b) {
  const Id zero = is_zero(e, b);
  return ops::select(e, zero, e.scalar(0), ops::div(e, a, ops::select(e, zero, e.scalar(1), b)));
}

// ---- the table -----------------------------------------------------------------------------------------------------

struct Known {
  const char *onnx = "";
  const char *keras = "numpy.";  // also the class, if its name is not the layer's
  Takes takes = Takes::floats;
  const char *alias = "";
};

template <class L>
constexpr Entry entry(const char *name, const char *doc, const Known &k) {
  return row_of<L>(name, doc, k.alias, k.keras, k.onnx);
}
constexpr Function one(const char *name, const char *doc, Unary f, const Known &k) {
  return {entry<OfOne>(name, doc, k), k.takes, f};
}
constexpr Function one(const char *name, const char *doc, Id (*f)(Emit &, Id), const Known &k = {}) {
  return {entry<OfOne>(name, doc, k), k.takes, {}, {}, f};
}
constexpr Function two(const char *name, const char *doc, Binary f, const Known &k) {
  return {entry<OfTwo>(name, doc, k), k.takes, {}, f};
}
constexpr Function two(const char *name, const char *doc, Id (*f)(Emit &, Id, Id), const Known &k = {}) {
  return {entry<OfTwo>(name, doc, k), k.takes, {}, {}, nullptr, f};
}

}  // namespace

std::span<const Function> functions() {
  constexpr Takes any = Takes::any, flags = Takes::flags, numbers = Takes::numbers;
  static constexpr Function rows[] = {
      one("Absolute", "|x|.", Unary::abs, {.onnx = "Abs", .takes = numbers, .alias = "Abs"}),
      one("Negative", "-x.", Unary::neg, {.onnx = "Neg", .takes = numbers}),
      one("Sign", "-1, 0 or 1.", Unary::sign, {.onnx = "Sign", .takes = numbers}),
      one("Square", "x * x.", Unary::square, {.takes = numbers}),
      one("Sqrt", "The square root.", Unary::sqrt, {.onnx = "Sqrt"}),
      one("Rsqrt", "1 / sqrt(x).", Unary::rsqrt, {.keras = "math.Rsqrt"}),
      one("Cbrt", "The cube root.", Unary::cbrt, {}),
      one("Reciprocal", "1 / x.", reciprocal, {.onnx = "Reciprocal"}),
      one("Exp", "e to the power of x.", Unary::exp, {.onnx = "Exp"}),
      one("Exp2", "2 to the power of x.", exp2),
      one("Expm1", "e to the power of x, less 1.", Unary::expm1, {}),
      one("Log", "The natural logarithm.", Unary::log, {.onnx = "Log"}),
      one("Log1p", "The natural logarithm of 1 + x.", Unary::log1p, {}),
      one("Log2", "The logarithm to base 2.", log2),
      one("Log10", "The logarithm to base 10.", log10),
      one("Sin", "The sine of x, in radians.", Unary::sin, {.onnx = "Sin"}),
      one("Cos", "The cosine of x, in radians.", Unary::cos, {.onnx = "Cos"}),
      one("Tan", "The tangent of x, in radians.", Unary::tan, {.onnx = "Tan"}),
      one("Arcsin", "The angle whose sine is x.", Unary::asin, {.onnx = "Asin"}),
      one("Arccos", "The angle whose cosine is x.", Unary::acos, {.onnx = "Acos"}),
      one("Arctan", "The angle whose tangent is x.", Unary::atan, {.onnx = "Atan"}),
      one("Sinh", "The hyperbolic sine.", Unary::sinh, {.onnx = "Sinh"}),
      one("Cosh", "The hyperbolic cosine.", Unary::cosh, {.onnx = "Cosh"}),
      one("Tanh", "The hyperbolic tangent.", Unary::tanh, {.onnx = "Tanh"}),
      one("Arcsinh", "The value whose hyperbolic sine is x.", Unary::asinh, {.onnx = "Asinh"}),
      one("Arccosh", "The value from 0 up whose hyperbolic cosine is x.", Unary::acosh, {.onnx = "Acosh"}),
      one("Arctanh", "The value whose hyperbolic tangent is x.", Unary::atanh, {.onnx = "Atanh"}),
      one("Deg2rad", "Degrees in radians.", deg2rad),
      one("Rad2deg", "Radians in degrees.", rad2deg),
      one("Erf", "The error function.", Unary::erf, {.onnx = "Erf", .keras = "math.Erf"}),
      one("Erfc", "1 - erf(x), exact where that is small.", Unary::erfc, {.keras = "math.Erfc"}),
      one("Erfinv", "The value whose erf is x.", Unary::erfinv, {.keras = "math.Erfinv"}),
      one("Floor", "The largest whole number that is not above x.", Unary::floor, {.onnx = "Floor"}),
      one("Ceil", "The smallest whole number that is not below x.", Unary::ceil, {.onnx = "Ceil"}),
      one("Round", "The nearest whole number, of two the even one.", Unary::round, {.onnx = "Round", .alias = "Rint"}),
      one("Trunc", "x without what is behind the point.", trunc, {.alias = "Fix"}),
      one("Isnan", "Whether x is no number: bool.", is_nan, {.onnx = "IsNaN"}),
      one("Isinf", "Whether x is infinite: bool.", is_inf),
      one("Isposinf", "Whether x is infinity: bool.", is_positive_inf),
      one("Isneginf", "Whether x is -infinity: bool.", is_negative_inf),
      one("Isfinite", "Whether x is a number and finite: bool.", is_finite),
      one("LogicalNot", "Whether x is 0 or false: bool.", is_zero, {.onnx = "Not", .takes = flags}),
      one("BitwiseNot", "Every bit of an integer turned round; of a bool its opposite.", bitwise_not,
          {.onnx = "BitwiseNot", .takes = any, .alias = "BitwiseInvert"}),

      two("BroadcastAdd", "x1 + x2, where Add wants one batch size: keras.ops.add.", Binary::add,
          {.onnx = "Add", .keras = "numpy.Add", .takes = any}),
      two("BroadcastSubtract", "x1 - x2, where Subtract wants one batch size: keras.ops.subtract.", Binary::sub,
          {.onnx = "Sub", .keras = "numpy.Subtract", .takes = any}),
      two("BroadcastMultiply", "x1 * x2, where Multiply wants one batch size: keras.ops.multiply.", Binary::mul,
          {.onnx = "Mul", .keras = "numpy.Multiply", .takes = any}),
      two("BroadcastMaximum", "The larger of x1 and x2: keras.ops.maximum.", Binary::max,
          {.onnx = "Max", .keras = "numpy.Maximum", .takes = any}),
      two("BroadcastMinimum", "The smaller of x1 and x2: keras.ops.minimum.", Binary::min,
          {.onnx = "Min", .keras = "numpy.Minimum", .takes = any}),
      two("Divide", "x1 / x2, in float32.", Binary::div, {.onnx = "Div", .alias = "TrueDivide"}),
      two("DivideNoNan", "x1 / x2, 0 where x2 is 0, in float32.", divide_no_nan),
      two("FloorDivide", "x1 / x2 rounded down; of integers 0 where x2 is 0.", Binary::floor_div, {.takes = any}),
      two("Mod", "What is left of x1 / x2 rounded down, of the sign of x2; of integers 0 where x2 is 0.", Binary::mod,
          {.takes = any}),
      two("Fmod", "What is left of x1 / x2 rounded to 0, of the sign of x1; of integers 0 where x2 is 0.", Binary::fmod,
          {.takes = any}),
      two("Power", "x1 to the power of x2, in float32.", Binary::pow, {.onnx = "Pow"}),
      two("SquaredDifference", "The square of x1 - x2, in float32.", Binary::squared_difference, {.keras = ""}),
      two("Hypot", "The hypotenuse over the sides x1 and x2, in float32.", hypot),
      two("Arctan2", "The angle of the point (x2, x1), in float32.", Binary::atan2, {}),
      two("Logaddexp", "The logarithm of exp(x1) + exp(x2), in float32.", logaddexp),
      two("Logaddexp2", "The logarithm to base 2 of 2^x1 + 2^x2, in float32.", logaddexp2),
      two("Heaviside", "0 where x1 < 0, 1 where x1 > 0, else x2, in float32.", heaviside),
      two("Equal", "x1 == x2: bool.", Binary::equal, {.onnx = "Equal", .takes = any}),
      two("NotEqual", "x1 != x2: bool.", Binary::not_equal, {.takes = any}),
      two("Less", "x1 < x2: bool.", Binary::less, {.onnx = "Less", .takes = any}),
      two("LessEqual", "x1 <= x2: bool.", Binary::less_equal, {.onnx = "LessOrEqual", .takes = any}),
      two("Greater", "x1 > x2: bool.", Binary::greater, {.onnx = "Greater", .takes = any}),
      two("GreaterEqual", "x1 >= x2: bool.", Binary::greater_equal, {.onnx = "GreaterOrEqual", .takes = any}),
      two("LogicalAnd", "Whether both are true: bool.", Binary::logical_and, {.onnx = "And", .takes = flags}),
      two("LogicalOr", "Whether either is true: bool.", Binary::logical_or, {.onnx = "Or", .takes = flags}),
      two("LogicalXor", "Whether one of them alone is true: bool.", Binary::not_equal, {.onnx = "Xor", .takes = flags}),
      two("BitwiseAnd", "The bits that both integers have.", Binary::bitwise_and, {.onnx = "BitwiseAnd", .takes = any}),
      two("BitwiseOr", "The bits that either integer has.", Binary::bitwise_or, {.onnx = "BitwiseOr", .takes = any}),
      two("BitwiseXor", "The bits that one integer alone has.", Binary::bitwise_xor,
          {.onnx = "BitwiseXor", .takes = any}),
      two("LeftShift", "An integer whose bits move x2 places up.", Binary::left_shift,
          {.takes = any, .alias = "BitwiseLeftShift"}),
      two("RightShift", "An integer whose bits move x2 places down, below zero with its sign.", Binary::right_shift,
          {.takes = any, .alias = "BitwiseRightShift"}),
  };
  return rows;
}

const Function *function(std::string_view name) {
  for (const Function &f : functions())
    if (f.name == name) return &f;
  return nullptr;
}

std::string_view onnx_op(Unary f) {
  for (const Function &row : functions())
    if (row.unary == f) return row.onnx;
  // An activation that consists of one op has its name.
  const std::string name = to_string(f);
  for (const Entry *activation : entries("activation"))
    if (activation->name == name) return activation->onnx;
  return {};
}

std::string_view onnx_op(Binary f) {
  for (const Function &row : functions())
    if (row.binary == f) return row.onnx;
  return {};
}

DL4_TABLE(functions, functions())

}  // namespace dl4::kinds
