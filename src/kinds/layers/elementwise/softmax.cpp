// Softmax over one or several axes, with a mask.
#include <limits>

#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {
namespace {

struct Softmax : LayerOf<Softmax> {
  static constexpr const char *keras = "nn.Softmax";
  static constexpr const char *doc = "exp(x) over its sum along an axis, or along several axes together.";
  std::vector<int64_t> axis{-1};

  void fields(Fields &f) override { f("axis", axis).doc("the axis, or a list of axes"); }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(...)"}},
      .outputs = {{"y", "(...)"}},
      .arguments = {{"mask", "tensor", "what to keep: bool, or more than 0.5; broadcasts to x. Other places are 0"}},
      .mask = "used and passed on"};
  void check() override {
    if (axis.empty()) refuse_attribute("axis", "expected at least one axis");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    ops::Id keep = mask(c);
    ops::Id x = c.x();
    // Masked positions get the lowest score, so their weight is 0 whatever their value.
    if (keep != ops::none) x = ops::select(c.e, keep, x, c.e.scalar(std::numeric_limits<float>::lowest()));
    ops::Id y = axis.size() == 1 ? ops::softmax(c.e, x, c.shape().axis(axis[0])) : over_several(c, x);
    if (keep != ops::none) y = ops::select(c.e, keep, y, c.e.scalar(0));
    return {{y, passed_on(c)}};
  }

 private:
  static ops::Id mask(Call &c) {
    auto given = c.symbols("mask");
    if (given.empty()) return c.mask() == ops::none ? ops::none : spread(c.e, c.mask(), c.shape().rank());
    ops::Id m = given[0].value;
    if (m == ops::none) return m;
    const Shape s = c.e.shape(m);
    for (int i = 1; i <= s.rank(); ++i) {
      bool fits = i <= c.shape().rank() &&
                  (s[-i] == 1 || s[-i] == free_dim || c.shape()[-i] == free_dim || s[-i] == c.shape()[-i]);
      if (!fits) fail(Code::shape_mismatch, "\"mask\": expected a shape that broadcasts to ", c.shape(), ", got ", s);
    }
    if (c.e.dtype(m) == DType::f32) return ops::binary(c.e, ops::Binary::greater, m, c.e.scalar(0.5f));
    return ops::cast(c.e, m, DType::boolean);
  }

  // A passed mask is forwarded only if it covers the first axes of the output, as masks must.
  static ops::Id passed_on(Call &c) {
    auto given = c.symbols("mask");
    if (given.empty()) return c.mask();
    if (given[0].value == ops::none) return ops::none;
    const Shape s = c.e.shape(given[0].value);
    return compatible(s, c.shape().first(s.rank())) ? mask(c) : ops::none;
  }

  ops::Id over_several(Call &c, ops::Id x) const {
    std::vector<int> axes;
    for (int64_t a : axis) axes.push_back(c.shape().axis(a));
    ops::Id top = ops::reduce(c.e, ops::Reduce::max, x, axes, true);
    ops::Id y = ops::unary(c.e, ops::Unary::exp, ops::sub(c.e, x, top));
    return ops::div(c.e, y, ops::reduce(c.e, ops::Reduce::sum, y, axes, true));
  }
};

}  // namespace
DL4_KINDS(softmax, Softmax)
}  // namespace dl4::kinds
