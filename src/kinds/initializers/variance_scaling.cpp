// VarianceScaling and what its named special cases share.
#include "kinds/initializers/variance_scaling.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/random.hpp"

namespace dl4::kinds {
namespace {

double product(const Shape &shape, const std::vector<int64_t> &axes) {
  double n = 1;
  for (int64_t axis : axes) n *= static_cast<double>(shape[shape.axis(axis)]);
  return n;
}

struct VarianceScaling : FanInitializer {
  static constexpr const char *name = "VarianceScaling";
  static constexpr const char *doc = "random numbers of variance scale / fan";
  double scale = 1;
  std::string mode, distribution;

  static auto fields() {
    return std::tuple_cat(
        std::tuple{
            field("scale", &VarianceScaling::scale).otherwise(1.0).doc("above 0"),
            field("mode", &VarianceScaling::mode)
                .otherwise("fan_in")
                .one_of({"fan_in", "fan_out", "fan_avg"})
                .doc("which fan divides"),
            field("distribution", &VarianceScaling::distribution)
                .otherwise("truncated_normal")
                .one_of({"truncated_normal", "untruncated_normal", "uniform", "normal"})
                .doc("normal is another word for truncated_normal"),
        },
        fan_fields());
  }
  void check() const {
    if (!(scale > 0))
      throw Error(Code::invalid_argument, "expected above 0").with("attribute", "scale").in("\"scale\"");
  }
  void fill(Tensor &t, const Seed &graph) const override {
    Fan fan = mode == "fan_in" ? Fan::in : mode == "fan_out" ? Fan::out : Fan::average;
    Distribution d = distribution == "uniform"              ? Distribution::uniform
                     : distribution == "untruncated_normal" ? Distribution::untruncated_normal
                                                            : Distribution::truncated_normal;
    fill_scaled(t, graph, scale, fan, d);
  }
};

}  // namespace

void FanInitializer::fill_scaled(Tensor &t, const Seed &graph, double scale, Fan fan, Distribution distribution) const {
  const Shape &s = t.shape;
  double in = 1, out = 1;
  if (input_axes && output_axes) {
    in = product(s, *input_axes);
    out = product(s, *output_axes);
  } else if (s.rank() == 1) {
    in = out = static_cast<double>(s[0]);
  } else if (s.rank() > 1) {
    double receptive = static_cast<double>(s.elements(0, s.rank() - 2));
    in = receptive * static_cast<double>(s[-2]);
    out = receptive * static_cast<double>(s[-1]);
  }
  double divisor = fan == Fan::in ? in : fan == Fan::out ? out : (in + out) / 2;
  double variance = scale / std::max(1.0, divisor);
  float *y = t.as<float>();
  int64_t n = t.elements();
  switch (distribution) {
    case Distribution::truncated_normal: {
      // The deviation of a standard normal cut at two.
      float stddev = static_cast<float>(std::sqrt(variance) / 0.87962566103423978);
      kernels::fill_truncated_normal(stream(graph), 0, 0, stddev, y, n);
      break;
    }
    case Distribution::untruncated_normal:
      kernels::fill_normal(stream(graph), 0, 0, static_cast<float>(std::sqrt(variance)), y, n);
      break;
    case Distribution::uniform: {
      float limit = static_cast<float>(std::sqrt(3 * variance));
      kernels::fill_uniform(stream(graph), 0, -limit, limit, y, n);
      break;
    }
  }
}

DL4_KIND(VarianceScaling)

}  // namespace dl4::kinds
