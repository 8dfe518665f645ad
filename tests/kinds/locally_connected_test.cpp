// LocallyConnected1D and 2D: the formula in double.
#include "layer_call.hpp"
#include "layer_case.hpp"

namespace dl4::test::DL4_FILE {
namespace {

TEST(LocallyConnected1D, Formula) {
  // x (2, 7, 3), windows of 2 with steps of 2: 3 places; kernel (3, 6, 4), bias (3, 4).
  const Json config = {{"filters", 4}, {"kernel_size", 2}, {"strides", 2}};
  check(layer_case("LocallyConnected1D", config, randoms({{2, 7, 3}, {3, 6, 4}, {3, 4}}), 2, [](const auto &in) {
    Array y = zeros({2, 3, 4});
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t o = 0; o < 3; ++o)
        for (int64_t f = 0; f < 4; ++f) {
          double sum = in[2][o * 4 + f];
          for (int64_t k = 0; k < 6; ++k) sum += in[0][b * 21 + o * 6 + k] * in[1][(o * 6 + k) * 4 + f];
          y[(b * 3 + o) * 4 + f] = sum;
        }
    return std::vector<Array>{y};
  }));
}

TEST(LocallyConnected2D, Formula) {
  // x (2, 3, 4, 2), windows of 2 x 3: places 2 x 2; kernel (4, 12, 3).
  const Json config = {{"filters", 3}, {"kernel_size", {2, 3}}, {"use_bias", false}};
  check(layer_case("LocallyConnected2D", config, randoms({{2, 3, 4, 2}, {4, 12, 3}}), 1, [](const auto &in) {
    Array y = zeros({2, 2, 2, 3});
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t r = 0; r < 2; ++r)
        for (int64_t c = 0; c < 2; ++c)
          for (int64_t f = 0; f < 3; ++f) {
            double sum = 0;
            for (int64_t i = 0; i < 2; ++i)
              for (int64_t j = 0; j < 3; ++j)
                for (int64_t k = 0; k < 2; ++k)
                  sum += in[0][((b * 3 + r + i) * 4 + c + j) * 2 + k] *
                         in[1][((r * 2 + c) * 12 + (i * 3 + j) * 2 + k) * 3 + f];
            y[((b * 2 + r) * 2 + c) * 3 + f] = sum;
          }
    return std::vector<Array>{y};
  }));
}

TEST(LocallyConnected1D, Refuses) {
  expect_config_refusal("LocallyConnected1D", {{"filters", 1}, {"kernel_size", 2}, {"implementation", 3}},
                        Code::unsupported, "only 1 is supported, got 3");
  expect_config_refusal("LocallyConnected1D", {{"filters", 1}, {"kernel_size", 2}, {"padding", "same"}},
                        Code::unsupported, "\"same\" is not supported");
  expect_call_refusal("LocallyConnected1D", {{"filters", 1}, {"kernel_size", 2}}, {{2, free_dim, 3}},
                      "known but for the batch");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
