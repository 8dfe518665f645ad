// RandomUniform.
#include "kernels/random.hpp"
#include "kinds/initializers/random.hpp"

namespace dl4::kinds {
namespace {

struct RandomUniform : RandomInitializer {
  static constexpr const char *name = "RandomUniform";
  static constexpr const char *doc = "uniform random numbers";
  static constexpr const char *aliases[] = {"uniform"};
  double minval = 0, maxval = 0;

  static auto fields() {
    return std::tuple{
        field("minval", &RandomUniform::minval).otherwise(-0.05).doc("least number"),
        field("maxval", &RandomUniform::maxval).otherwise(0.05).doc("greatest number, itself left out"),
        seed_field(),
    };
  }
  void fill(Tensor &t, const Seed &graph) const override {
    kernels::fill_uniform(stream(graph), 0, static_cast<float>(minval), static_cast<float>(maxval), t.as<float>(),
                          t.elements());
  }
};

}  // namespace

DL4_KIND(RandomUniform)

}  // namespace dl4::kinds
