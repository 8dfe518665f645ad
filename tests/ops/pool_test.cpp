// Pooling and its gradient.
#include <algorithm>
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

std::vector<Array> naive(const std::vector<Array> &in, const Pool &how) {
  const Array &x = in[0];
  std::array<int64_t, 2> out, pad;
  for (size_t i = 0; i < 2; ++i) {
    int64_t n = x.shape[static_cast<int>(i) + 1], k = how.size[i], s = how.strides[i];
    out[i] = how.padding == Padding::valid ? (n - k) / s + 1 : (n + s - 1) / s;
    pad[i] = how.padding == Padding::valid ? 0 : std::max<int64_t>((out[i] - 1) * s + k - n, 0) / 2;
  }
  Array y = zeros({x.shape[0], out[0], out[1], x.shape[3]});
  for (int64_t at = 0; at < y.shape.elements(); ++at) {
    int64_t c = at % x.shape[3], j = at / x.shape[3] % out[1], i = at / x.shape[3] / out[1] % out[0];
    int64_t b = at / x.shape[3] / out[1] / out[0];
    double sum = 0, most = -INFINITY, cells = 0;
    for (int64_t k = 0; k < how.size[0]; ++k)
      for (int64_t l = 0; l < how.size[1]; ++l) {
        int64_t h = i * how.strides[0] + k - pad[0], w = j * how.strides[1] + l - pad[1];
        if (h < 0 || h >= x.shape[1] || w < 0 || w >= x.shape[2]) continue;
        double v = x[((b * x.shape[1] + h) * x.shape[2] + w) * x.shape[3] + c];
        sum += v;
        most = std::isnan(most) || most > v ? most : v;
        ++cells;
      }
    y[at] = how.average ? sum / cells : most;
  }
  return {y};
}

Case pool_case(Shape x, Pool how) {
  Case c;
  c.build = one([=](Emit &e, const auto &in) { return pool(e, in[0], how); });
  c.inputs = randoms({x});
  c.reference = [=](const auto &in) { return naive(in, how); };
  return c;
}

TEST(Pool, Geometry) {
  for (bool average : {false, true})
    for (Padding p : {Padding::valid, Padding::same}) {
      check(pool_case({2, 6, 8, 3}, {average, {2, 2}, {2, 2}, p}));
      check(pool_case({2, 7, 5, 5}, {average, {3, 2}, {2, 1}, p}));
      check(pool_case({1, 9, 9, 2}, {average, {2, 2}, {4, 3}, p}));
      check(pool_case({1, 4, 4, 70}, {average, {3, 3}, {1, 1}, p}));
      check(pool_case({0, 4, 4, 2}, {average, {2, 2}, {2, 2}, p}));
      check(pool_case({2, 4, 4, 0}, {average, {2, 2}, {2, 2}, p}));
      Case free = pool_case({2, 5, 6, 3}, {average, {2, 2}, {2, 2}, p});
      free.free_axes = {0, 1, 2};
      check(free);
    }
  check(pool_case({2, 0, 4, 2}, {false, {2, 2}, {2, 2}, Padding::same}));
}

TEST(Pool, KeepsNaN) {
  for (bool average : {false, true})
    for (int64_t channels : {1, 3, 40}) {
      Case c = pool_case({2, 5, 5, channels}, {average, {2, 2}, {2, 2}, Padding::same});
      c.gradient = false;
      c.inputs[0].as<float>()[7 * channels] = NAN;
      c.inputs[0].as<float>()[9 * channels] = -INFINITY;
      check(c);
    }
}

TEST(Pool, TheFirstOfEqualMaximaTakesTheGradient) {
  check(gradients(pool_case({1, 2, 2, 1}, {}).build, 1, {0}),
        {tensor<float>({1, 2, 2, 1}, {1, 1, 1, 1}), tensor<float>({1, 1, 1, 1}, {3})},
        {tensor<float>({1, 2, 2, 1}, {3, 0, 0, 0})}, 0);
}

TEST(Pool, Refusals) {
  auto refuse = [](Shape x, Pool how, const std::string &words, Code code = Code::shape_mismatch) {
    check_refused([&](Emit &e, const auto &v) { return pool(e, v[0], how); }, {x}, code, words);
  };
  refuse({1, 2, 8, 2}, {false, {3, 3}, {1, 1}}, "pool_size 3 does not fit in 2");
  refuse({1, 8, 2}, {}, "expected an input of 4 axes");
  refuse({1, 8, 8, 2}, {false, {0, 2}, {1, 1}}, "pool_size must be at least 1, got 0");
  refuse({1, 8, 8, 2}, {false, {2, 2}, {1, 0}}, "strides must be at least 1, got 0", Code::invalid_argument);
  refuse({1, 8, 8, 2}, {false, {2, 2}, {1, 1}, Padding::causal}, "padding must be valid or same, got causal",
         Code::invalid_argument);
  check_refused([](Emit &e, const auto &v) { return pool(e, v[0], {}); }, {Operand{DType::i64, {1, 4, 4, 1}}},
                Code::invalid_argument, "expects float32, got int64");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
