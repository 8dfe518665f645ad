// HeUniform.
#include "kinds/initializers/variance_scaling.hpp"

namespace dl4::kinds {
namespace {

struct HeUniform : FanInitializer {
  static constexpr const char *name = "HeUniform";
  static constexpr const char *doc = "uniform within sqrt(6 / fan_in) of 0";
  static auto fields() { return fan_fields(); }
  void fill(Tensor &t, const Seed &graph) const override { fill_scaled(t, graph, 2, Fan::in, Distribution::uniform); }
};

}  // namespace

DL4_KIND(HeUniform)

}  // namespace dl4::kinds
