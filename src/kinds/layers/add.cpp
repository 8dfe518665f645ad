// Add: the sum of inputs.
#include "kinds/layers/merge.hpp"

namespace dl4::kinds {
namespace {

struct Add : Merge {
  static constexpr const char *name = "Add";
  static constexpr const char *doc = "The sum of the inputs.";

  ops::Id merge(ops::Emit &e, const std::vector<Part> &parts) const override {
    return fold(e, ops::Binary::add, parts);
  }
};

}  // namespace
DL4_KIND(Add)
}  // namespace dl4::kinds
