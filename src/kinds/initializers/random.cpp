// RandomNormal, TruncatedNormal, RandomUniform, and the random stream of initializers.
#include "kinds/initializers/random.hpp"

#include "backend/backend.hpp"

namespace dl4::kinds {

void RandomInitializer::fields(Fields &f) {
  f("seed", seed).doc("fixes the draw: the same numbers at every call, whatever the context's seed");
}

Stream RandomInitializer::stream(const Seed &graph) const {
  if (!seed) return {graph.global, graph.op};
  // Keras maps the seed to an int32 by a floored remainder; TensorFlow's stateless ops then scramble the pair (seed,
  // 0).
  constexpr int64_t divisor = INT32_MAX - 1;
  int64_t small = (*seed % divisor + divisor) % divisor;
  PhiloxBlock mix = philox({0x02461e29'3ec8f720, 0}, static_cast<uint64_t>(small));
  return {mix[0] | uint64_t{mix[1]} << 32, mix[2] | uint64_t{mix[3]} << 32};
}

namespace {

struct RandomNormal : RandomInitializer {
  static constexpr const char *doc = "normal random numbers";
  static constexpr const char *aliases[] = {"normal"};
  double mean = 0, stddev = 0.05;

  void fields(Fields &f) override {
    f("mean", mean).doc("mean");
    f("stddev", stddev).at_least(0).doc("standard deviation");
    RandomInitializer::fields(f);
  }
  void fill(Tensor &t, const Seed &graph) const override {
    kernels::fill_normal(stream(graph), 0, static_cast<float>(mean), static_cast<float>(stddev), t.as<float>(),
                         t.elements());
  }
};

struct TruncatedNormal : RandomInitializer {
  static constexpr const char *doc = "normal random numbers, drawn again where more than two deviations from the mean";
  double mean = 0, stddev = 0.05;

  void fields(Fields &f) override {
    f("mean", mean).doc("mean");
    f("stddev", stddev).at_least(0).doc("standard deviation before the cut");
    RandomInitializer::fields(f);
  }
  void fill(Tensor &t, const Seed &graph) const override {
    kernels::fill_truncated_normal(stream(graph), 0, static_cast<float>(mean), static_cast<float>(stddev),
                                   t.as<float>(), t.elements());
  }
};

struct RandomUniform : RandomInitializer {
  static constexpr const char *doc = "uniform random numbers";
  static constexpr const char *aliases[] = {"uniform"};
  double minval = -0.05, maxval = 0.05;

  void fields(Fields &f) override {
    f("minval", minval).doc("least number");
    f("maxval", maxval).doc("greatest number, itself left out");
    RandomInitializer::fields(f);
  }
  void fill(Tensor &t, const Seed &graph) const override {
    kernels::fill_uniform(stream(graph), 0, static_cast<float>(minval), static_cast<float>(maxval), t.as<float>(),
                          t.elements());
  }
};

}  // namespace

DL4_KINDS(random, RandomNormal, RandomUniform, TruncatedNormal)

}  // namespace dl4::kinds
