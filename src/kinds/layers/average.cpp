// Average: the mean of inputs.
#include "kinds/layers/merge.hpp"

namespace dl4::kinds {
namespace {

struct Average : Merge {
  static constexpr const char *name = "Average";
  static constexpr const char *doc = "The mean of the inputs.";

  ops::Id merge(ops::Emit &e, const std::vector<Part> &parts) const override {
    return ops::div(e, fold(e, ops::Binary::add, parts), e.scalar(static_cast<float>(parts.size())));
  }
};

}  // namespace
DL4_KIND(Average)
}  // namespace dl4::kinds
