// Multiply: the product of inputs.
#include "kinds/layers/merge.hpp"

namespace dl4::kinds {
namespace {

struct Multiply : Merge {
  static constexpr const char *name = "Multiply";
  static constexpr const char *doc =
      "The product of the inputs; masked places count as 1. Where all inputs are masked it is 0.";

  ops::Id merge(ops::Emit &e, const std::vector<Part> &parts) const override {
    std::vector<Part> valid = parts;
    std::vector<ops::Id> masks;
    for (Part &p : valid) {
      masks.push_back(p.mask);
      p.value = where_valid(e, p.mask, p.value, 1);
    }
    return where_valid(e, any_of(e, masks), fold(e, ops::Binary::mul, valid), 0);
  }
};

}  // namespace
DL4_KIND(Multiply)
}  // namespace dl4::kinds
