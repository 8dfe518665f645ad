// Pooling and its gradient.
#include <algorithm>

#include "every_way.hpp"

namespace dl4::ops {
namespace {

using namespace every_way;

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

Case pool_case(const std::string &name, Shape x, Pool how) {
  Case c;
  c.name = text(how.average ? "average " : "max ", name);
  c.inputs = {{x}};
  c.emit = [=](Emit &e, const std::vector<Id> &in) { return std::vector<Id>{pool(e, in[0], how)}; };
  c.reference = [=](const std::vector<Array> &in) { return naive(in, how); };
  return c;
}

TEST(Pool, Geometry) {
  for (bool average : {false, true})
    for (Padding p : {Padding::valid, Padding::same}) {
      check(pool_case("2x2", {2, 6, 8, 3}, {average, {2, 2}, {2, 2}, p}));
      check(pool_case("3x2 by 2x1", {2, 7, 5, 5}, {average, {3, 2}, {2, 1}, p}));
      check(pool_case("gaps", {1, 9, 9, 2}, {average, {2, 2}, {4, 3}, p}));
      check(pool_case("many channels", {1, 4, 4, 70}, {average, {3, 3}, {1, 1}, p}));
      check(pool_case("no images", {0, 4, 4, 2}, {average, {2, 2}, {2, 2}, p}));
      check(pool_case("no channels", {2, 4, 4, 0}, {average, {2, 2}, {2, 2}, p}));
      Case free = pool_case("free", {2, 5, 6, 3}, {average, {2, 2}, {2, 2}, p});
      free.free_axes = {0, 1, 2};
      check(free);
    }
  check(pool_case("no rows", {2, 0, 4, 2}, {false, {2, 2}, {2, 2}, Padding::same}));
}

TEST(Pool, KeepsNaN) {
  for (bool average : {false, true})
    for (int64_t channels : {1, 3, 40}) {
      Case c = pool_case("NaN", {2, 5, 5, channels}, {average, {2, 2}, {2, 2}, Padding::same});
      auto in = draw(c, 3);
      in[0][7 * channels] = std::nan("");
      in[0][9 * channels] = -INFINITY;
      check_forward(c, in);
    }
}

TEST(Pool, TheFirstOfEqualMaximaTakesTheGradient) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {1, 2, 2, 1}), dy = e.input("dy", DType::f32, {1, 1, 1, 1});
  Id dx = backward(e, {x}, {pool(e, x, {})}, {dy})[0];
  e.output(dx);
  Tensor ones = make_tensor(DType::f32, {1, 2, 2, 1}), three = make_tensor(DType::f32, {1, 1, 1, 1});
  std::fill_n(ones.as<float>(), 4, 1.f);
  *three.as<float>() = 3;
  auto got = evaluate(p, {{x, ones}, {dy, three}}, {}, {});
  EXPECT_EQ(got[dx].as<float>()[0], 3);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(got[dx].as<float>()[i], 0);
}

TEST(Pool, Refusals) {
  auto refuse = [](Shape x, Pool how, const std::string &words) {
    expect_refusal([&](Emit &e) { pool(e, e.input("x", DType::f32, x), how); }, words);
  };
  refuse({1, 2, 8, 2}, {false, {3, 3}, {1, 1}}, "pool_size 3 does not fit in 2");
  refuse({1, 8, 2}, {}, "expected an input of 4 axes");
  refuse({1, 8, 8, 2}, {false, {0, 2}, {1, 1}}, "pool_size must be at least 1, got 0");
  refuse({1, 8, 8, 2}, {false, {2, 2}, {1, 0}}, "strides must be at least 1, got 0");
  refuse({1, 8, 8, 2}, {false, {2, 2}, {1, 1}, Padding::causal}, "padding must be valid or same, got causal");
  expect_refusal([](Emit &e) { pool(e, e.input("x", DType::i64, {1, 4, 4, 1}), {}); }, "wants float32, got int64");
}

}  // namespace
}  // namespace dl4::ops
