// LecunNormal.
#include "kinds/initializers/variance_scaling.hpp"

namespace dl4::kinds {
namespace {

struct LecunNormal : FanInitializer {
  static constexpr const char *name = "LecunNormal";
  static constexpr const char *doc = "truncated normal of variance 1 / fan_in";
  static auto fields() { return fan_fields(); }
  void fill(Tensor &t, const Seed &graph) const override {
    fill_scaled(t, graph, 1, Fan::in, Distribution::truncated_normal);
  }
};

}  // namespace

DL4_KIND(LecunNormal)

}  // namespace dl4::kinds
