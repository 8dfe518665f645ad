// Zeros.
#include <algorithm>

#include "kinds/initializer.hpp"

namespace dl4::kinds {
namespace {

struct Zeros : Initializer {
  static constexpr const char *name = "Zeros";
  static constexpr const char *doc = "all 0";
  static constexpr const char *aliases[] = {"zero"};
  static auto fields() { return std::tuple{}; }
  void fill(Tensor &t, const Seed &) const override { std::fill_n(t.as<float>(), t.elements(), 0.0f); }
};

}  // namespace

DL4_KIND(Zeros)

}  // namespace dl4::kinds
