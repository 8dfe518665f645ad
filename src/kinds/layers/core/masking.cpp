// Masking: masks steps whose features all equal a value.
#include <cmath>

#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {
namespace {

struct Masking : Layer {
  static constexpr const char *name = "Masking";
  static constexpr const char *doc = "Masks the steps whose features all equal mask_value, and sets them to 0.";
  double mask_value = 0;

  void fields(Fields &f) override { f("mask_value", mask_value).doc("what every feature of a masked step equals"); }
  Facts facts() const override {
    static constexpr PlainFacts plain{
        .inputs = {{"x", "(B, T, ...)"}}, .outputs = {{"y", "(B, T, ...)"}}, .mask = "made"};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    if (c.e.dtype(c.x()) == DType::boolean) c.need_float(0);
    // A fractional value equals no integer.
    const ops::Id x = mask_value == std::floor(mask_value) ? c.x() : ops::cast(c.e, c.x(), DType::f32);
    ops::Id other = ops::binary(c.e, ops::Binary::not_equal, x, c.e.scalar(mask_value, c.e.dtype(x)));
    ops::Id valid = any(c.e, other, -1, false);
    return {{where_valid(c.e, valid, c.x(), 0), valid}};
  }
};

}  // namespace
DL4_KIND(Masking)
}  // namespace dl4::kinds
