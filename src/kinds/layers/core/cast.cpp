// Cast, ReducePrecision and StopGradient: values in another type, with fewer digits, or without gradient.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct Cast : Layer {
  static constexpr const char *name = "Cast";
  static constexpr const char *keras = "core.Cast";
  static constexpr const char *doc = "The same numbers in another type of data: keras.ops.cast. Fractions are cut off.";
  enum class To { float32, int32, int64, uint8, boolean } to = To::float32;

  void fields(Fields &f) override {
    f("to", to, {"float32", "int32", "int64", "uint8", "bool"}).required(R"("int32")").doc("the type of the output");
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    constexpr DType types[] = {DType::f32, DType::i32, DType::i64, DType::u8, DType::boolean};
    if (to == To::boolean && c.e.dtype(c.x()) != DType::boolean)
      return {{ops::binary(c.e, ops::Binary::not_equal, c.x(), c.e.scalar(0, c.e.dtype(c.x())))}};
    return {{ops::cast(c.e, c.x(), types[static_cast<size_t>(to)])}};
  }
};

struct ReducePrecision : Layer {
  static constexpr const char *name = "ReducePrecision";
  static constexpr const char *doc =
      "Rounds to the nearest float of fewer bits, ties to even, and to infinity past the largest: "
      "jax.lax.reduce_precision. The gradient passes unchanged.";
  int64_t exponent_bits = 0, mantissa_bits = 0;

  void fields(Fields &f) override {
    f("exponent_bits", exponent_bits).required("5").at_least(2).at_most(8).doc("of float16 5, of bfloat16 8");
    f("mantissa_bits", mantissa_bits).required("10").at_least(1).at_most(23).doc("of float16 10, of bfloat16 7");
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const auto bits = [](int64_t n) { return static_cast<int>(n); };
    const ops::Id y = ops::reduce_precision(c.e, c.x(), bits(exponent_bits), bits(mantissa_bits));
    return {{ops::straight_through(c.e, y, c.x()), c.mask()}};
  }
};

struct StopGradient : Layer {
  static constexpr const char *name = "StopGradient";
  static constexpr const char *keras = "core.StopGradient";
  static constexpr const char *doc = "x, through which no gradient passes: keras.ops.stop_gradient.";

  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
    return plain;
  }
  std::vector<Symbol> call(Call &c) const override { return {{ops::stop_gradient(c.e, c.x()), c.mask()}}; }
};

}  // namespace
DL4_KIND(Cast)
DL4_KIND(ReducePrecision)
DL4_KIND(StopGradient)
}  // namespace dl4::kinds
