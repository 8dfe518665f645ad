// Subtract: one input less another.
#include "kinds/layers/merge.hpp"

namespace dl4::kinds {
namespace {

struct Subtract : Merge {
  static constexpr const char *name = "Subtract";
  static constexpr const char *doc = "The first input less the second.";

  Arity arity() const override { return {2, 2}; }
  ops::Id merge(ops::Emit &e, const std::vector<Part> &parts) const override {
    return fold(e, ops::Binary::sub, parts);
  }
};

}  // namespace
DL4_KIND(Subtract)
}  // namespace dl4::kinds
