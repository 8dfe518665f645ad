// TruncatedNormal.
#include "kernels/random.hpp"
#include "kinds/initializers/random.hpp"

namespace dl4::kinds {
namespace {

struct TruncatedNormal : RandomInitializer {
  static constexpr const char *name = "TruncatedNormal";
  static constexpr const char *doc = "normal random numbers, drawn again where more than two deviations from the mean";
  double mean = 0, stddev = 0;

  static auto fields() {
    return std::tuple{
        field("mean", &TruncatedNormal::mean).otherwise(0.0).doc("mean"),
        field("stddev", &TruncatedNormal::stddev).otherwise(0.05).at_least(0).doc("standard deviation before the cut"),
        seed_field(),
    };
  }
  void fill(Tensor &t, const Seed &graph) const override {
    kernels::fill_truncated_normal(stream(graph), 0, static_cast<float>(mean), static_cast<float>(stddev),
                                   t.as<float>(), t.elements());
  }
};

}  // namespace

DL4_KIND(TruncatedNormal)

}  // namespace dl4::kinds
