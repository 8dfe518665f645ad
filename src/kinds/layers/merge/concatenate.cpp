// Concatenate.
#include <algorithm>

#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {
namespace {

struct Concatenate : LayerOf<Concatenate> {
  static constexpr const char *name = "Concatenate";
  static constexpr const char *doc = "The inputs one after the other along an axis.";
  int64_t axis = -1;

  void fields(Fields &f) override { f("axis", axis).doc("the axis along which they are joined"); }
  static constexpr PlainFacts plain{
      .inputs = {{"x...", "(B, ...), equal but for the axis"}},
      .outputs = {{"y", "(B, ...)"}},
      .mask =
          "joined along the axis, or, behind the mask's axes, valid where any input is; an input "
          "without a mask counts as valid, and there is none if no input has one"};
  Arity arity() const override { return {1, any_number}; }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    int along = c.shape().axis(axis), count = static_cast<int>(c.in.size());
    for (int i = 1; i < count; ++i) {
      const Shape first = c.shape(0), s = c.shape(i);
      if (s.rank() != first.rank() || !compatible(first.with(along, 0), s.with(along, 0)))
        fail(Code::shape_mismatch, "inputs must have matching shapes except for the concatenation axis ", along,
             ". Received shapes ", first, " and ", s);
    }
    c.join_types();
    std::vector<ops::Id> values;
    for (int i = 0; i < count; ++i) values.push_back(c.x(i));
    return {{ops::concat(c.e, values, along), mask(c, along)}};
  }

 private:
  static ops::Id mask(Call &c, int along) {
    int count = static_cast<int>(c.in.size()), rank = std::max(c.shape().rank() - 1, 1);
    bool found = false;
    for (int i = 0; i < count; ++i) {
      if (c.mask(i) == ops::none) continue;
      found = true;
      rank = std::min(rank, c.e.rank(c.mask(i)));
    }
    if (!found) return ops::none;
    std::vector<ops::Id> masks;
    for (int i = 0; i < count; ++i) {
      ops::Id m = c.mask(i);
      if (m == ops::none) m = ops::fill(c.e, DType::boolean, 1, c.x(i), rank, {});
      while (c.e.rank(m) > rank) m = any(c.e, m, -1, false);
      masks.push_back(m);
    }
    return along < rank ? ops::concat(c.e, masks, along) : any_of(c.e, masks);
  }
};

}  // namespace
DL4_KIND(Concatenate)
}  // namespace dl4::kinds
