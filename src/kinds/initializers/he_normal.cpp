// HeNormal.
#include "kinds/initializers/variance_scaling.hpp"

namespace dl4::kinds {
namespace {

struct HeNormal : FanInitializer {
  static constexpr const char *name = "HeNormal";
  static constexpr const char *doc = "truncated normal of variance 2 / fan_in";
  static auto fields() { return fan_fields(); }
  void fill(Tensor &t, const Seed &graph) const override {
    fill_scaled(t, graph, 2, Fan::in, Distribution::truncated_normal);
  }
};

}  // namespace

DL4_KIND(HeNormal)

}  // namespace dl4::kinds
