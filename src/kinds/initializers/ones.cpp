// Ones.
#include <algorithm>

#include "kinds/initializer.hpp"

namespace dl4::kinds {
namespace {

struct Ones : Initializer {
  static constexpr const char *name = "Ones";
  static constexpr const char *doc = "all 1";
  static constexpr const char *aliases[] = {"one"};
  static auto fields() { return std::tuple{}; }
  void fill(Tensor &t, const Seed &) const override { std::fill_n(t.as<float>(), t.elements(), 1.0f); }
};

}  // namespace

DL4_KIND(Ones)

}  // namespace dl4::kinds
