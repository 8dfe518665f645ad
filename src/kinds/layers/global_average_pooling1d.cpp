// GlobalAveragePooling1D: the mean of each channel over the valid steps.
#include "kinds/layers/masks.hpp"
#include "kinds/layers/pooling.hpp"

namespace dl4::kinds {
namespace {

struct GlobalAveragePooling1D : GlobalPooling<1> {
  static constexpr const char *name = "GlobalAveragePooling1D";
  static constexpr const char *doc =
      "The mean of each channel over time, over the valid steps where there is a mask. A sequence without any gives 0.";
  static constexpr const char *aliases[] = {"GlobalAvgPool1D"};

  static auto fields() { return global_pooling_fields<GlobalAveragePooling1D>(); }
  static Json more() {
    Facts f = facts();
    f.arguments = {{"mask", "tensor", "(B, T) bool: the steps to average over"}};
    f.mask = "used up";
    return f.json();
  }

  std::vector<Symbol> call(Call &c) const override {
    ops::Id mask = c.mask();
    if (mask == ops::none) return pooled(c, ops::Reduce::mean);
    c.need_rank(0, 3);
    c.need_float(0);
    ops::Id total = ops::reduce(c.e, ops::Reduce::sum, where_valid(c.e, mask, c.x(), 0), {1}, keepdims);
    ops::Id one_each = spread(c.e, ops::cast(c.e, mask, DType::f32), 3);
    ops::Id count = ops::reduce(c.e, ops::Reduce::sum, one_each, {1}, keepdims);
    return {{ops::div(c.e, total, ops::binary(c.e, ops::Binary::max, count, c.e.scalar(1)))}};
  }
};

}  // namespace
DL4_KIND(GlobalAveragePooling1D)
}  // namespace dl4::kinds
