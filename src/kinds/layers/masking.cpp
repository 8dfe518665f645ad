// Masking: a step whose features all equal a value is masked.
#include "kinds/layers/masks.hpp"

namespace dl4::kinds {
namespace {

struct Masking : Layer {
  static constexpr const char *name = "Masking";
  static constexpr const char *doc = "Masks the steps whose features all equal mask_value, and sets them to 0.";
  double mask_value = 0;

  void fields(Fields &f) override { f("mask_value", mask_value).doc("what every feature of a masked step equals"); }
  Facts facts() const override {
    return {.inputs = {{"x", "(B, T, ...)"}}, .outputs = {{"y", "(B, T, ...)"}}, .mask = "made"};
  }

  bool by_step(int) const override { return true; }
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    c.need_float(0);
    ops::Id other = ops::binary(c.e, ops::Binary::not_equal, c.x(), c.e.scalar(static_cast<float>(mask_value)));
    ops::Id valid = any(c.e, other, -1, false);
    return {{where_valid(c.e, valid, c.x(), 0), valid}};
  }
};

}  // namespace
DL4_KIND(Masking)
}  // namespace dl4::kinds
