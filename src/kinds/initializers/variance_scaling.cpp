// VarianceScaling and its named special cases: the variance depends on the numbers of inputs and outputs (fans).
#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "base/error.hpp"
#include "kinds/initializers/random.hpp"

namespace dl4::kinds {
namespace {

enum class Fan { in, out, average };
enum class Distribution { truncated_normal, untruncated_normal, uniform, normal };

double product(const Shape &shape, const std::vector<int64_t> &axes) {
  double n = 1;
  for (int64_t axis : axes) n *= static_cast<double>(shape[shape.axis(axis)]);
  return n;
}

struct FanInitializer final : RandomInitializer {
  struct Row : Entry {
    double scale;
    Fan fan;
    Distribution distribution;
    bool given = false;  // set by the user
  };

  explicit FanInitializer(const Row &row) : row(row), scale(row.scale), mode(row.fan), distribution(row.distribution) {}
  const Row &row;
  double scale;
  Fan mode;
  Distribution distribution;
  std::optional<std::vector<int64_t>> input_axes, output_axes;

  void fields(Fields &f) override {
    if (row.given) {
      f("scale", scale).doc("above 0");
      f("mode", mode, {"fan_in", "fan_out", "fan_avg"}).doc("which fan divides");
      f("distribution", distribution, {"truncated_normal", "untruncated_normal", "uniform", "normal"})
          .doc("normal is another word for truncated_normal");
    }
    RandomInitializer::fields(f);
    f("input_axes", input_axes)
        .doc("axes whose product is fan_in; with output_axes, in place of the rule for dense and convolution kernels");
    f("output_axes", output_axes).doc("axes whose product is fan_out");
  }
  void check() override {
    if (!(scale > 0))
      throw Error(Code::invalid_argument, "expected above 0").with("attribute", "scale").in("\"scale\"");
  }
  void fill(Tensor &t, const Seed &graph) const override {
    double variance = scale / std::max(1.0, fan(t.shape));
    float *y = t.as<float>();
    int64_t n = t.elements();
    switch (distribution) {
      case Distribution::truncated_normal:
      case Distribution::normal: {
        // Standard deviation of a standard normal truncated at two.
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

 private:
  double fan(const Shape &s) const {
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
    return mode == Fan::in ? in : mode == Fan::out ? out : (in + out) / 2;
  }
};

constexpr FanInitializer::Row row(const char *name, const char *doc, double scale, Fan fan, Distribution distribution,
                                  bool given = false) {
  return {row_of<FanInitializer>(name, doc), scale, fan, distribution, given};
}

constexpr auto normal = Distribution::truncated_normal, uniform = Distribution::uniform;
constexpr FanInitializer::Row fan_initializers[] = {
    row("VarianceScaling", "random numbers of variance scale / fan", 1, Fan::in, normal, true),
    row("GlorotNormal", "truncated normal of variance 2 / (fan_in + fan_out)", 1, Fan::average, normal),
    row("GlorotUniform", "uniform within sqrt(6 / (fan_in + fan_out)) of 0", 1, Fan::average, uniform),
    row("HeNormal", "truncated normal of variance 2 / fan_in", 2, Fan::in, normal),
    row("HeUniform", "uniform within sqrt(6 / fan_in) of 0", 2, Fan::in, uniform),
    row("LecunNormal", "truncated normal of variance 1 / fan_in", 1, Fan::in, normal),
    row("LecunUniform", "uniform within sqrt(3 / fan_in) of 0", 1, Fan::in, uniform),
};

}  // namespace

DL4_TABLE(variance_scaling, fan_initializers)

}  // namespace dl4::kinds
