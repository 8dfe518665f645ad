// Identity, Rescaling.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct IdentityLayer final : Layer {
  static constexpr const char *name = "Identity";
  static constexpr const char *doc = "The input as it is.";

  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
    return plain;
  }
  std::vector<Symbol> call(Call &c) const override { return {{c.x(), c.mask()}}; }
};

struct Rescaling final : Layer {
  static constexpr const char *name = "Rescaling";
  static constexpr const char *doc = "x * scale + offset, in float32: images of bytes become numbers of a small range.";
  std::vector<double> scale, offset{0};

  void fields(Fields &f) override {
    f("scale", scale).required("2").doc("a number, or one for each place of the last axis");
    f("offset", offset).doc("a number, or one for each place of the last axis");
  }
  void check() override {
    for (const char *key : {"scale", "offset"})
      if ((key[0] == 's' ? scale : offset).empty())
        throw Error(Code::invalid_argument, text('"', key, "\": expected at least one number")).with("attribute", key);
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
    return plain;
  }
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

}  // namespace
DL4_KIND(IdentityLayer)
DL4_KIND(Rescaling)
}  // namespace dl4::kinds
