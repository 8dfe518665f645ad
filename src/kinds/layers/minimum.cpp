// Minimum: the smallest of inputs.
#include "kinds/layers/merge.hpp"

namespace dl4::kinds {
namespace {

struct Minimum : Merge {
  static constexpr const char *name = "Minimum";
  static constexpr const char *doc = "The smallest of the inputs; masked places don't count.";

  ops::Id merge(ops::Emit &e, const std::vector<Part> &parts) const override {
    return fold_valid(e, ops::Binary::min, parts);
  }
};

}  // namespace
DL4_KIND(Minimum)
}  // namespace dl4::kinds
