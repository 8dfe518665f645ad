// GaussianNoise, GaussianDropout, AlphaDropout.
#include <cmath>

#include "kinds/layers/random/dropping.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct Noise : Layer {
  std::optional<int64_t> seed;

  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
    return plain;
  }
};

void need_below_1(double rate) {
  if (rate == 1) unsupported_attribute("rate", "expected less than 1, got 1: training divides by 1 - rate");
}

// Normal random numbers shaped as the input; none if not needed.
Id normals(Call &c, bool drawn, const std::optional<int64_t> &seed) {
  if (!drawn) return ops::none;
  // Requested in every mode, so that a layer's seed does not depend on how its graph is first used.
  const uint64_t key = c.host.random_seed(seed);
  return c.training() ? random_normal(c.e, key, c.host.draws(), c.x(), c.e.rank(c.x()), {}) : ops::none;
}

struct GaussianNoise : Noise {
  static constexpr const char *doc = "In training, adds normal noise of mean 0.";
  double stddev = 0;

  void fields(Fields &f) override {
    f("stddev", stddev).required("0.3").at_least(0).at_most(1).doc("the noise's standard deviation");
    seed_field(f, seed);
  }
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const Id noise = normals(c, stddev > 0, seed);
    return {{noise == ops::none ? c.x() : add(c.e, c.x(), scale(c.e, noise, static_cast<float>(stddev))), c.mask()}};
  }
};

struct GaussianDropout : Noise {
  static constexpr const char *doc =
      "In training, multiplies by normal noise of mean 1 and standard deviation sqrt(rate / (1 - rate)).";
  double rate = 0;

  void fields(Fields &f) override {
    f("rate", rate)
        .required("0.3")
        .at_least(0)
        .at_most(1)
        .doc("as strong as a dropout of that rate; 1 is not supported");
    seed_field(f, seed);
  }
  void check() override { need_below_1(rate); }
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const Id noise = normals(c, rate > 0, seed);
    if (noise == ops::none) return {{c.x(), c.mask()}};
    return {{mul(c.e, c.x(), scale_shift(c.e, noise, std::sqrt(rate / (1 - rate)), 1)), c.mask()}};
  }
};

struct AlphaDropout : Noise {
  static constexpr const char *doc =
      "In training, sets values to SELU's negative limit with probability rate, then scales and shifts all of them so "
      "that a mean of 0 and a variance of 1 stay.";
  double rate = 0;
  std::optional<NoiseShape> noise_shape;

  void fields(Fields &f) override {
    f("rate", rate).required("0.3").at_least(0).at_most(1).doc("the fraction to drop; 1 is not supported");
    noise_shape_field(f, noise_shape);
    seed_field(f, seed);
  }
  void check() override { need_below_1(rate); }
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    ops::Emit &e = c.e;
    const Id keep = keep_mask(c, rate, seed, noise_shape);
    if (keep == ops::none) return {{c.x(), c.mask()}};
    constexpr double limit = -1.6732632423543772 * 1.0507009873554805;
    const double a = 1 / std::sqrt((1 - rate) * (1 + rate * limit * limit)), b = -a * limit * rate;
    Id kept = select(e, binary(e, ops::Binary::greater, keep, e.scalar(0)), c.x(), e.scalar(limit));
    return {{scale_shift(e, kept, a, b), c.mask()}};
  }
};

}  // namespace
DL4_KINDS(noise, GaussianNoise, GaussianDropout, AlphaDropout)
}  // namespace dl4::kinds
