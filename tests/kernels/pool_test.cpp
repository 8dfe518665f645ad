// Pooling and its gradients against plain loops, with padding, strides, NaN, slices, every instruction set.
#include "backend/cpu/kernels/reduce/pool.hpp"

#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

// body(index of the output, index of a real cell) for every pair, windows and cells in row-major order.
template <class Body>
void pairs(const Pool &p, const Body &body) {
  auto begin = [&](const PoolAxis &a, int64_t o) {
    return p.adaptive ? o * a.n / a.out : std::max(o * a.stride - a.pad, int64_t{0});
  };
  auto end = [&](const PoolAxis &a, int64_t o) {
    return p.adaptive ? ((o + 1) * a.n + a.out - 1) / a.out : std::min(o * a.stride - a.pad + a.size, a.n);
  };
  for (int64_t o = 0; o < p.n * p.outputs(); ++o) {
    const int64_t ow = o % p.w.out, oh = o / p.w.out % p.h.out, od = o / p.w.out / p.h.out % p.d.out;
    for (int64_t c = 0; c < p.c; ++c)
      for (int64_t d = begin(p.d, od); d < end(p.d, od); ++d)
        for (int64_t h = begin(p.h, oh); h < end(p.h, oh); ++h)
          for (int64_t w = begin(p.w, ow); w < end(p.w, ow); ++w)
            body(o * p.c + c, (o / p.outputs() * p.cells() + (d * p.h.n + h) * p.w.n + w) * p.c + c);
  }
}

const PoolAxis one;
const int64_t huge = int64_t{1} << 62;
const Pool shapes[] = {
    {2, 3, one, {6, 2, 3, 2}, {8, 2, 4, 2}},
    {1, 70, one, {7, 3, 4, 2, 1}, {5, 3, 3, 2, 1}},
    {3, 17, one, {1, 1, 1}, {9, 4, 9, 1, 1}},
    {2, 16, one, {4, 4, 1}, {4, 4, 1}},
    {1, 1, one, {5, 1, 3, 2}, {5, 1, 3, 2}},
    {1, 3, one, {3, 2, 3}, {701, 5, 351, 2, 2}},
    {1, 3, one, {2, 2, 1}, {701, 400, 5, 70}},
    {2, 3, {4, 2, 2, 2}, {5, 3, 3, 2, 1}, {6, 2, 3, 2}},
    {1, 20, {3, 2, 3, 1, 0}, {2, 2, 1}, {5, 2, 3, 2}},
    {2, 3, one, {7, 3, 3}, {5, 2, 2}, true},
    {1, 33, {4, 3, 3}, {2, 5, 5}, {5, 1, 1}, true},
    {2, 30, one, {6, 4, 3}, {9, 4, 6}},
    {1, 40, one, {5, 3, 5, 1, 1}, {7, 3, 7, 1, 1}},
    {1, 156, {4, 3, 2}, {3, 2, 2}, {30, 5, 30, 1, 2}},
    // Few channels and strides, one row of two strips; planes; columns of many channels; a stride of any width.
    {2, 2, one, {9, 3, 5, 2, 1}, {11, 3, 6, 2, 1}},
    {1, 1, one, {7, 2, 3, 2}, {67, 4, 17, 4, 1}},
    {3, 5, one, {5, 3, 2, 2}, {14, 2, 5, 3, 1}},
    {1, 8, one, {2, 1, 2}, {600, 3, 300, 2, 1}},
    {2, 1, {5, 3, 5, 1, 1}, {4, 3, 4, 1, 1}, {6, 3, 6, 1, 1}},
    {2, 3, {4, 4, 4, 1, 1}, {3, 2, 2}, {5, 4, 3, 2, 2}},
    {1, 700, one, {4, 3, 4, 1, 1}, {9, 3, 9, 1, 1}},
    {1, 17, one, {8, 4, 4, 2, 1}, {9, 4, 4, 2, 1}},
    {1, 3, one, {8, 2, 3, 3}, {10, 2, 3, 3}},
    {1, 100, one, {7, 2, 3, 2}, {5, 2, 3, 2, 1}},
    {1, 4, one, {3, 2, 1, huge}, {5, 3, 1, huge}},
    {1, 20, one, {3, 2, 1, huge}, {5, 3, 1, huge}},
};

TEST(Pool, MatchesPlainLoops) {
  on_every_target([] {
    for (const Pool &p : shapes) {
      const int64_t in = p.n * p.cells() * p.c, out = p.n * p.outputs() * p.c;
      std::vector<float> values = random_floats(in, -3, 3);
      for (float &v : values) v = std::round(v);  // ties
      for (const float middle : {1.0f, nan, inf, -inf, 1e-40f}) {
        values[static_cast<size_t>(in / 2)] = middle;
        Edge<float> x(values), y(out), a(out), dy(random_floats(out, 1, 2)), dx(in), da(in);
        const int64_t rows = p.n * p.d.out * p.h.out;
        for (int64_t begin = 0, end; begin < rows; begin = end) {  // slices of 1, 2, 3, 5 ... rows
          end = std::min(begin + begin / 2 + 1, rows);
          max_pool(p, x, y, begin, end);
          average_pool(p, x, a, begin, end);
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

// What "portable" promises, of any number of channels, window and slices.
TEST(Pool, SumsHaveTheSameBitsOnEveryInstructionSet) {
  for (int64_t c = 1; c <= 40; ++c)
    for (const PoolAxis &w : {PoolAxis{9, 3, 7, 1}, {9, 2, 4, 2}, {9, 3, 5, 2, 1}, {9, 4, 2, 4}, {11, 4, 5, 3, 2}}) {
      const Pool p{2, c, {3, 2, 2, 1}, {6, 3, 4, 1}, w};
      const int64_t rows = p.n * p.d.out * p.h.out, in = p.n * p.cells() * c, out = p.n * p.outputs() * c;
      const std::vector<float> x = random_floats(in, -3, 3), dy = random_floats(out, 1, 2, 2);
      std::vector<std::vector<float>> first;
      on_every_target([&] {
        std::vector<float> y(dy), z(dy), most(dy), dx(x), da(x);
        average_pool(p, x.data(), y.data(), 0, rows);
        for (int64_t r = 0; r < rows; ++r) average_pool(p, x.data(), z.data(), r, r + 1);
        EXPECT_EQ(y, z) << c << " channels";
        max_pool(p, x.data(), most.data(), 0, rows);
        max_pool_grad(p, x.data(), most.data(), dy.data(), dx.data(), 0, p.n);
        average_pool_grad(p, dy.data(), da.data(), 0, p.n);
        const std::vector<std::vector<float>> all{y, most, dx, da};
        if (first.empty()) first = all;
        EXPECT_EQ(first, all) << c << " channels";
      });
    }
}

// Its product with the channels would wrap to 0.
TEST(Pool, AWindowMayBeOfAnyWidth) {
  on_every_target([] {
    const Pool p{1, 4, one, one, {400, huge, 1}};
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
}  // namespace dl4::kernels::DL4_FILE
