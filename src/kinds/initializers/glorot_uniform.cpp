// GlorotUniform.
#include "kinds/initializers/variance_scaling.hpp"

namespace dl4::kinds {
namespace {

struct GlorotUniform : FanInitializer {
  static constexpr const char *name = "GlorotUniform";
  static constexpr const char *doc = "uniform within sqrt(6 / (fan_in + fan_out)) of 0";
  static auto fields() { return fan_fields(); }
  void fill(Tensor &t, const Seed &graph) const override {
    fill_scaled(t, graph, 1, Fan::average, Distribution::uniform);
  }
};

}  // namespace

DL4_KIND(GlorotUniform)

}  // namespace dl4::kinds
