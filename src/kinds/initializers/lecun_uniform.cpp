// LecunUniform.
#include "kinds/initializers/variance_scaling.hpp"

namespace dl4::kinds {
namespace {

struct LecunUniform : FanInitializer {
  static constexpr const char *name = "LecunUniform";
  static constexpr const char *doc = "uniform within sqrt(3 / fan_in) of 0";
  static auto fields() { return fan_fields(); }
  void fill(Tensor &t, const Seed &graph) const override { fill_scaled(t, graph, 1, Fan::in, Distribution::uniform); }
};

}  // namespace

DL4_KIND(LecunUniform)

}  // namespace dl4::kinds
