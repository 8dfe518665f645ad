// Constant.
#include <algorithm>

#include "kinds/initializer.hpp"

namespace dl4::kinds {
namespace {

struct Constant : Initializer {
  static constexpr const char *name = "Constant";
  static constexpr const char *doc = "all the same value";
  double value = 0;
  static auto fields() { return std::tuple{field("value", &Constant::value).otherwise(0.0).doc("of every element")}; }
  void fill(Tensor &t, const Seed &) const override {
    std::fill_n(t.as<float>(), t.elements(), static_cast<float>(value));
  }
};

}  // namespace

DL4_KIND(Constant)

}  // namespace dl4::kinds
