// LocalResponseNormalization: the formula in double.
#include <cmath>

#include "layer_call.hpp"
#include "layer_case.hpp"

namespace dl4::test::DL4_FILE {
namespace {

TEST(LocalResponseNormalization, Formula) {
  for (const Shape &s : {Shape{2, 3, 2, 7}, Shape{4, 5}, Shape{2, 3, 1}})
    for (const int64_t radius : {0, 1, 2, 30}) {
      const Json config = {{"depth_radius", radius}, {"bias", 2.0}, {"alpha", 0.3}, {"beta", 0.75}};
      SCOPED_TRACE(text(s, config.shown()));
      check(layer_case("LocalResponseNormalization", config, randoms({s}), 0, [=](const auto &in) {
        Array y = in[0];
        const int64_t n = s.last();
        for (int64_t i = 0; i < s.elements(); ++i) {
          double sum = 0;
          for (int64_t j = i - i % n; j < i - i % n + n; ++j)
            if (std::abs(j - i) <= radius) sum += in[0][j] * in[0][j];
          y[i] = in[0][i] / std::pow(2 + 0.3 * sum, 0.75);
        }
        return std::vector<Array>{y};
      }));
    }
}

TEST(LocalResponseNormalization, Refuses) {
  expect_config_refusal("LocalResponseNormalization", {{"depth_radius", -1}}, Code::invalid_argument,
                        "\"depth_radius\": expected at least 0, got -1");
  expect_call_refusal("LocalResponseNormalization", Json::object(), {{2, free_dim}}, "last dimension of input 0");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
