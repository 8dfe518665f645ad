// Maximum: the largest of inputs.
#include "kinds/layers/merge.hpp"

namespace dl4::kinds {
namespace {

struct Maximum : Merge {
  static constexpr const char *name = "Maximum";
  static constexpr const char *doc = "The largest of the inputs; masked places don't count.";

  ops::Id merge(ops::Emit &e, const std::vector<Part> &parts) const override {
    return fold_valid(e, ops::Binary::max, parts);
  }
};

}  // namespace
DL4_KIND(Maximum)
}  // namespace dl4::kinds
