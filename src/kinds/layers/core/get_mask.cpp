// GetMask: a value's mask as a value.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct GetMask : Layer {
  static constexpr const char *name = "GetMask";
  static constexpr const char *doc = "The mask that the input carries, as a value; an input without one is refused.";

  Facts facts() const override {
    Facts facts = PlainFacts{.inputs = {{"x", "(B, ...)"}}, .outputs = {{"mask", "the first axes of x, bool"}}};
    facts.mask.noted = true;
    return facts;
  }

  std::vector<Symbol> call(Call &c) const override {
    if (c.mask() == ops::none) fail(Code::invalid_argument, "expected an input with a mask, got one without");
    return {{c.mask()}};
  }
};

}  // namespace
DL4_KIND(GetMask)
}  // namespace dl4::kinds
