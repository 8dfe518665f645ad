// GlorotNormal.
#include "kinds/initializers/variance_scaling.hpp"

namespace dl4::kinds {
namespace {

struct GlorotNormal : FanInitializer {
  static constexpr const char *name = "GlorotNormal";
  static constexpr const char *doc = "truncated normal of variance 2 / (fan_in + fan_out)";
  static auto fields() { return fan_fields(); }
  void fill(Tensor &t, const Seed &graph) const override {
    fill_scaled(t, graph, 1, Fan::average, Distribution::truncated_normal);
  }
};

}  // namespace

DL4_KIND(GlorotNormal)

}  // namespace dl4::kinds
