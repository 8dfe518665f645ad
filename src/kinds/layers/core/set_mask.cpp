// SetMask: a value with another mask.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct SetMask : Layer {
  static constexpr const char *name = "SetMask";
  static constexpr const char *doc = "The first input with the second as its mask, in place of the one it carries.";

  Facts facts() const override {
    static constexpr PlainFacts plain{
        .inputs = {{"x", "(B, T, ...)"}, {"mask", "(B, T), or other first axes of x; 0 or false: masked"}},
        .outputs = {{"x", "(B, T, ...)"}},
        .mask = "the second input"};
    return plain;
  }
  Arity arity() const override { return {2, 2}; }

  std::vector<Symbol> call(Call &c) const override {
    const Shape mask = c.shape(1), x = c.shape(0);
    if (mask.rank() < 1 || mask.rank() > x.rank() || !compatible(mask, x.first(mask.rank())))
      fail(Code::shape_mismatch, "mask: expected the first axes of x with shape ", x, ", got ", mask);
    return {{c.x(0), ops::cast(c.e, c.x(1), DType::boolean)}};
  }
};

}  // namespace
DL4_KIND(SetMask)
}  // namespace dl4::kinds
