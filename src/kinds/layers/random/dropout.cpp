// Dropout.
#include "kinds/layers/random/dropping.hpp"

namespace dl4::kinds {
namespace {

struct Dropout : LayerOf<Dropout> {
  static constexpr const char *name = "Dropout";
  static constexpr const char *doc =
      "In training, sets values to 0 with probability rate and scales the others by 1 / (1 - rate).";
  double rate = 0;
  std::optional<NoiseShape> noise_shape;
  std::optional<int64_t> seed;

  void fields(Fields &f) override {
    f("rate", rate).required("0.3").at_least(0).at_most(1).doc("the fraction to drop");
    noise_shape_field(f, noise_shape);
    seed_field(f, seed);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    ops::Id keep = keep_mask(c, rate, seed, noise_shape);
    return {{keep == ops::none ? c.x() : ops::mul(c.e, c.x(), keep), c.mask()}};
  }
};

}  // namespace
DL4_KIND(Dropout)
}  // namespace dl4::kinds
