// Identity, Cast and activations of a value.
#include "kinds/layer.hpp"
#include "ops/text.hpp"

namespace dl4::kinds {
namespace {

struct IdentityLayer final : LayerOf<IdentityLayer> {
  static constexpr const char *name = "Identity";
  static constexpr const char *doc = "The input as it is.";

  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  std::vector<Symbol> call(Call &c) const override { return {{c.x(), c.mask()}}; }
};

struct Rescaling final : LayerOf<Rescaling> {
  static constexpr const char *doc = "x * scale + offset, in float32: images of bytes become numbers of a small range.";
  std::vector<double> scale, offset{0};

  void fields(Fields &f) override {
    f("scale", scale, "a number, or one for each place of the last axis").required("2");
    f("offset", offset, "a number, or one for each place of the last axis");
  }
  void check() override {
    for (const char *key : {"scale", "offset"})
      if ((key[0] == 's' ? scale : offset).empty()) refuse_attribute(key, "expected at least one number");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  std::vector<Symbol> call(Call &c) const override {
    ops::Id x = ops::cast(c.e, c.x(), DType::f32);
    if (scale.size() == 1 && offset.size() == 1) {
      const auto by = static_cast<float>(scale[0]), plus = static_cast<float>(offset[0]);
      return {{ops::unary(c.e, ops::Unary::scale_shift, x, {by, plus}), c.mask()}};
    }
    return {{ops::add(c.e, ops::mul(c.e, x, constant(c, scale)), constant(c, offset)), c.mask()}};
  }

 private:
  static ops::Id constant(Call &c, const std::vector<double> &v) {
    if (v.size() == 1) return c.e.scalar(v[0]);
    const auto n = static_cast<int64_t>(v.size());
    if (c.shape().rank() < 1 || (c.shape().last() != free_dim && c.shape().last() != n))
      fail(Code::shape_mismatch, "expected ", n, " places along the last axis, as \"scale\" and \"offset\" have, got ",
           c.shape());
    Tensor t = make_tensor(DType::f32, {n});
    for (size_t i = 0; i < v.size(); ++i) t.as<float>()[i] = static_cast<float>(v[i]);
    return c.e.constant(std::move(t));
  }
};

struct Cast : LayerOf<Cast> {
  static constexpr const char *keras = "core.Cast";
  static constexpr const char *doc =
      "The same numbers in another type of data: keras.ops.cast. Fractions are cut off. Strings: numbers in decimal "
      "digits, floats with at most 8, INF and NaN; one that is no number of the type is an error of the run.";
  enum class To { float32, int32, int64, uint8, boolean, string } to = To::float32;

  void fields(Fields &f) override {
    f("to", to, {"float32", "int32", "int64", "uint8", "bool", "string"}, "the type of the output")
        .required(R"("int32")");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};

  std::vector<Symbol> call(Call &c) const override {
    constexpr DType types[] = {DType::f32, DType::i32, DType::i64, DType::u8, DType::boolean, DType::string};
    const DType from = c.e.dtype(c.x()), type = types[static_cast<size_t>(to)];
    if (from == type) return {{c.x()}};
    if (type == DType::string) return {{ops::numbers_as_texts(c.e, c.x())}};
    if (from == DType::string) {
      if (to == To::uint8 || to == To::boolean)
        fail(Code::unsupported, "input 0: expected numbers for ", type, ", got strings");
      return {{ops::texts_as_numbers(c.e, c.x(), type)}};
    }
    if (to == To::boolean) return {{ops::binary(c.e, ops::Binary::not_equal, c.x(), c.e.scalar(0, c.e.dtype(c.x())))}};
    return {{ops::cast(c.e, c.x(), type)}};
  }
};

struct ReducePrecision : LayerOf<ReducePrecision> {
  static constexpr const char *doc =
      "Rounds to the nearest float of fewer bits, ties to even, and to infinity past the largest: "
      "jax.lax.reduce_precision. The gradient passes unchanged.";
  int64_t exponent_bits = 0, mantissa_bits = 0;

  void fields(Fields &f) override {
    f("exponent_bits", exponent_bits, "of float16 5, of bfloat16 8").required("5").within(2, 8);
    f("mantissa_bits", mantissa_bits, "of float16 10, of bfloat16 7").required("10").within(1, 23);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const auto bits = [](int64_t n) { return static_cast<int>(n); };
    const ops::Id y = ops::reduce_precision(c.e, c.x(), bits(exponent_bits), bits(mantissa_bits));
    return {{ops::straight_through(c.e, y, c.x()), c.mask()}};
  }
};

struct StopGradient : LayerOf<StopGradient> {
  static constexpr const char *keras = "core.StopGradient";
  static constexpr const char *doc = "x, through which no gradient passes: keras.ops.stop_gradient.";

  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  std::vector<Symbol> call(Call &c) const override { return {{ops::stop_gradient(c.e, c.x()), c.mask()}}; }
};

struct ActivationLayer : LayerOf<ActivationLayer> {
  static constexpr const char *name = "Activation";
  static constexpr const char *doc = "Applies an activation function.";
  Activation activation;

  void fields(Fields &f) override { f("activation", activation, "the function").required(R"("relu")"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    const DType type = c.e.dtype(c.x());
    if (activation.is_linear()) return {{c.x(), c.mask()}};
    if ((type == DType::i32 || type == DType::i64) && activation.name() == "relu" && activation.to_json() == "relu")
      return {{ops::binary(c.e, ops::Binary::max, c.x(), c.e.scalar(0, type)), c.mask()}};
    c.as_float(0);
    return {{activation(c.e, c.x()), c.mask()}};
  }
};

struct ActivityRegularization : LayerOf<ActivityRegularization> {
  static constexpr const char *doc =
      "Passes its input on and adds l1 * sum(|x|) + l2 * sum(x^2), divided by the batch size, to the loss.";
  double l1 = 0, l2 = 0;
  Of<Regularizer> penalty;

  void fields(Fields &f) override {
    f("l1", l1, "factor of the sum of absolute values").at_least(0);
    f("l2", l2, "factor of the sum of squares").at_least(0);
  }
  void check() override {
    penalty = parse<Regularizer>({{"class_name", "L1L2"}, {"config", {{"l1", l1}, {"l2", l2}}}});
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    c.penalize(penalty, c.x());
    return {{c.x(), c.mask()}};
  }
};

}  // namespace
DL4_KINDS(identity, ActivationLayer, IdentityLayer, Rescaling, ActivityRegularization, Cast, ReducePrecision,
          StopGradient)
}  // namespace dl4::kinds
