// Pooling and its gradients against plain loops, with padding, strides, NaN, slices, every instruction set.
#include "kernels/reduce/pool.hpp"

#include "targets.hpp"

namespace dl4::kernels {
namespace {

// body(index of the output, index of a real cell) for every pair, windows and cells in row-major order.
template <class Body>
void pairs(const Pool &p, const Body &body) {
  for (int64_t n = 0; n < p.n; ++n)
    for (int64_t oh = 0; oh < p.oh; ++oh)
      for (int64_t ow = 0; ow < p.ow; ++ow)
        for (int64_t c = 0; c < p.c; ++c)
          for (int64_t i = 0; i < p.kh; ++i)
            for (int64_t j = 0; j < p.kw; ++j) {
              const int64_t h = oh * p.stride_h - p.pad_top + i, w = ow * p.stride_w - p.pad_left + j;
              if (h < 0 || h >= p.h || w < 0 || w >= p.w) continue;
              body(((n * p.oh + oh) * p.ow + ow) * p.c + c, ((n * p.h + h) * p.w + w) * p.c + c);
            }
}

const Pool shapes[] = {
    {.n = 2, .h = 6, .w = 8, .c = 3, .kh = 2, .kw = 2, .oh = 3, .ow = 4, .stride_h = 2, .stride_w = 2},
    {.n = 1,
     .h = 7,
     .w = 5,
     .c = 70,
     .kh = 3,
     .kw = 3,
     .oh = 4,
     .ow = 3,
     .stride_h = 2,
     .stride_w = 2,
     .pad_top = 1,
     .pad_left = 1},
    {.n = 3, .h = 1, .w = 9, .c = 17, .kh = 1, .kw = 4, .oh = 1, .ow = 9, .pad_left = 1},
    {.n = 2, .h = 4, .w = 4, .c = 16, .kh = 4, .kw = 4, .oh = 1, .ow = 1},
    {.n = 1, .h = 5, .w = 5, .c = 1, .kh = 1, .kw = 1, .oh = 3, .ow = 3, .stride_h = 2, .stride_w = 2},
    {.n = 1, .h = 3, .w = 701, .c = 3, .kh = 2, .kw = 5, .oh = 3, .ow = 351, .stride_w = 2, .pad_left = 2},
    {.n = 1, .h = 2, .w = 701, .c = 3, .kh = 2, .kw = 400, .oh = 1, .ow = 5, .stride_w = 70},
};

TEST(Pool, MatchesPlainLoops) {
  on_every_target([] {
    for (const Pool &p : shapes) {
      const int64_t in = p.n * p.h * p.w * p.c, out = p.n * p.oh * p.ow * p.c;
      std::vector<float> values = random_floats(in, -3, 3);
      for (float &v : values) v = std::round(v);  // ties
      for (const float middle : {1.0f, nan, inf, -inf, 1e-40f}) {
        values[static_cast<size_t>(in / 2)] = middle;
        Edge<float> x(values), y(out), a(out), dy(random_floats(out, 1, 2)), dx(in), da(in);
        for (int64_t r = 0; r < p.n * p.oh; ++r) {
          max_pool(p, x, y, r, r + 1);
          average_pool(p, x, a, r, r + 1);
        }
        for (int64_t n = 0; n < p.n; ++n) {
          max_pool_grad(p, x, y, dy, dx, n, n + 1);
          average_pool_grad(p, dy, da, n, n + 1);
        }
        std::vector<int64_t> first(static_cast<size_t>(out), -1);
        std::vector<double> sum(first.size()), count(first.size()), want_dx(static_cast<size_t>(in)), want_da(want_dx);
        pairs(p, [&](int64_t o, int64_t i) {
          int64_t &f = first[static_cast<size_t>(o)];
          if (f < 0 || x[i] > x[f] || (std::isnan(x[i]) && !std::isnan(x[f]))) f = i;
          sum[static_cast<size_t>(o)] += static_cast<double>(x[i]);
          count[static_cast<size_t>(o)] += 1;
        });
        pairs(p, [&](int64_t o, int64_t i) {
          const size_t at = static_cast<size_t>(o);
          if (first[at] == i) want_dx[static_cast<size_t>(i)] += static_cast<double>(dy[o]);
          want_da[static_cast<size_t>(i)] += static_cast<double>(dy[o]) / count[at];
        });
        for (int64_t o = 0; o < out; ++o) {
          const size_t at = static_cast<size_t>(o);
          ASSERT_TRUE(near(static_cast<double>(x[first[at]]), static_cast<double>(y[o]), 0, 0));
          ASSERT_TRUE(near(sum[at] / count[at], static_cast<double>(a[o])));
        }
        for (int64_t i = 0; i < in; ++i) {
          ASSERT_TRUE(near(want_dx[static_cast<size_t>(i)], static_cast<double>(dx[i]))) << i;
          ASSERT_TRUE(near(want_da[static_cast<size_t>(i)], static_cast<double>(da[i]))) << i;
        }
      }
    }
  });
}

// Its product with the channels would wrap to 0.
TEST(Pool, AWindowMayBeOfAnyWidth) {
  on_every_target([] {
    const Pool p{.n = 1, .h = 1, .w = 400, .c = 4, .kh = 1, .kw = int64_t{1} << 62, .oh = 1, .ow = 1};
    Edge<float> x(std::vector<float>(1600, 3.0f)), y(4), a(4);
    max_pool(p, x, y, 0, 1);
    average_pool(p, x, a, 0, 1);
    for (int64_t c = 0; c < 4; ++c) {
      EXPECT_EQ(y[c], 3.0f);
      EXPECT_EQ(a[c], 3.0f);
    }
  });
}

}  // namespace
}  // namespace dl4::kernels
