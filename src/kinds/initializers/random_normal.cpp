// RandomNormal.
#include "kernels/random.hpp"
#include "kinds/initializers/random.hpp"

namespace dl4::kinds {
namespace {

struct RandomNormal : RandomInitializer {
  static constexpr const char *name = "RandomNormal";
  static constexpr const char *doc = "normal random numbers";
  static constexpr const char *aliases[] = {"normal"};
  double mean = 0, stddev = 0;

  static auto fields() {
    return std::tuple{
        field("mean", &RandomNormal::mean).otherwise(0.0).doc("mean"),
        field("stddev", &RandomNormal::stddev).otherwise(0.05).at_least(0).doc("standard deviation"),
        seed_field(),
    };
  }
  void fill(Tensor &t, const Seed &graph) const override {
    kernels::fill_normal(stream(graph), 0, static_cast<float>(mean), static_cast<float>(stddev), t.as<float>(),
                         t.elements());
  }
};

}  // namespace

DL4_KIND(RandomNormal)

}  // namespace dl4::kinds
