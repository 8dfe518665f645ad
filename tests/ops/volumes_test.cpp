// Windows along one, two and three axes: convolutions, their transposes and pooling against their definitions.
#include <algorithm>
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

int64_t spatial(const Shape &x) { return x.rank() - 2; }
int64_t flat(const Shape &s, const Index &at) {
  int64_t i = 0;
  for (int a = 0; a < s.rank(); ++a) i = i * s[a] + at[static_cast<size_t>(a)];
  return i;
}
// f(index) for every index below dims.
template <class F>
void each(const Index &dims, F f) {
  Index at(dims.size());
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i;
    for (size_t a = dims.size(); a-- > 0; rest /= dims[a]) at[a] = rest % dims[a];
    f(at);
  }
}
Index middle(const Shape &s) { return {s.begin() + 1, s.end() - 1}; }

int64_t out_size(int64_t n, int64_t k, int64_t s, int64_t d, Padding p) {
  return p == Padding::valid ? (n - (k - 1) * d - 1) / s + 1 : (n + s - 1) / s;
}
int64_t before(int64_t n, int64_t k, int64_t s, int64_t d, Padding p) {
  return p == Padding::valid ? 0 : std::max<int64_t>((out_size(n, k, s, d, p) - 1) * s + (k - 1) * d + 1 - n, 0) / 2;
}

// f(output place, input place, tap) for every pair that meets.
template <class F>
void pairs(const Index &in, const Index &out, const Index &taps, const Conv &how, F f) {
  each(out, [&](const Index &o) {
    each(taps, [&](const Index &k) {
      Index i = o;
      for (size_t a = 0; a < o.size(); ++a) {
        i[a] = o[a] * how.strides[a] + k[a] * how.dilation[a] -
               before(in[a], taps[a], how.strides[a], how.dilation[a], how.padding);
        if (i[a] < 0 || i[a] >= in[a]) return;
      }
      f(o, i, k);
    });
  });
}

Index joined(int64_t first, const Index &at, int64_t last) {
  Index all{first};
  all.insert(all.end(), at.begin(), at.end());
  all.push_back(last);
  return all;
}

std::vector<Array> naive_conv(const std::vector<Array> &in, const Conv &how) {
  const Array &x = in[0], &w = in[1];
  const Index from = middle(x.shape), taps(w.shape.begin(), w.shape.begin() + spatial(x.shape));
  Index out = from;
  for (size_t a = 0; a < out.size(); ++a)
    out[a] = out_size(from[a], taps[a], how.strides[a], how.dilation[a], how.padding);
  Array y = zeros(Shape(joined(x.shape[0], out, w.shape.last())));
  const int64_t filters = w.shape.last() / how.groups, channels = w.shape[-2];
  for (int64_t b = 0; b < x.shape[0]; ++b)
    for (int64_t o = 0; o < w.shape.last(); ++o) {
      each(out, [&](const Index &at) { y[flat(y.shape, joined(b, at, o))] = in.size() > 2 ? in[2][o] : 0; });
      pairs(from, out, taps, how, [&](const Index &to, const Index &i, const Index &k) {
        for (int64_t c = 0; c < channels; ++c) {
          Index tap = k;
          tap.push_back(c);
          tap.push_back(o);
          y[flat(y.shape, joined(b, to, o))] +=
              x[flat(x.shape, joined(b, i, o / filters * channels + c))] * w[flat(w.shape, tap)];
        }
      });
    }
  return {y};
}

Case conv_case(Shape x, Shape w, Conv how) {
  Case c;
  c.build = one([=](Emit &e, const auto &in) { return conv(e, in[0], in[1], in[2], how); });
  c.inputs = randoms({x, w, {w.last()}});
  c.constants = {1, 2};
  c.reference = [=](const auto &in) { return naive_conv(in, how); };
  c.kernels = {"dnnl_conv",           "reference_conv",      "dnnl_conv_data",
               "reference_conv_data", "dnnl_conv_weights",   "reference_conv_weights",
               "blocked_conv",        "blocked_conv_data",   "blocked_conv_weights",
               "channels_conv",       "channels_conv_data",  "channels_conv_weights",
               "turned_conv_data",    "direct_conv_weights", "planar_conv",
               "planar_conv_data",    "shifted_conv",        "shifted_conv_data"};
  return c;
}

TEST(ConvVolumes, Geometry) {
  for (Padding p : {Padding::valid, Padding::same}) {
    check(conv_case({2, 3, 4, 3, 2}, {2, 3, 2, 2, 3}, {{1, 1, 1}, {1, 1, 1}, p}));
    check(conv_case({1, 5, 2, 4, 2}, {3, 1, 2, 2, 3}, {{2, 1, 3}, {1, 1, 1}, p}));
    check(conv_case({1, 4, 3, 3, 2}, {2, 2, 1, 2, 2}, {{1, 1, 1}, {3, 2, 1}, p}));
  }
  Case wide = conv_case({3, 3, 3, 3, 16}, {3, 3, 3, 16, 17}, {{1, 1, 1}, {1, 1, 1}, Padding::same});
  wide.gradient = false;
  check(wide);
  check(conv_case({1, 3, 2, 3, 4}, {2, 2, 1, 2, 6}, {{1, 1, 1}, {1, 1, 1}, Padding::valid, 2}));
  check(conv_case({1, 3, 4, 4, 2}, {3, 3, 3, 2, 2}, {{1, 1, 1}, {2, 1, 1}, Padding::same}));  // taps in padding alone
  check(conv_case({0, 3, 4, 3, 2}, {2, 2, 2, 2, 3}, {{1, 1, 1}, {1, 1, 1}}));
  Case free = conv_case({1, 3, 4, 2, 2}, {2, 3, 2, 2, 3}, {{1, 1, 1}, {1, 1, 1}, Padding::same});
  free.free_axes = {0, 1, 2, 3};
  check(free);
}

TEST(ConvVolumes, OneAxis) {
  for (Padding p : {Padding::valid, Padding::same}) {
    check(conv_case({3, 9, 2}, {3, 2, 5}, {{1}, {2}, p}));
    check(conv_case({2, 8, 6}, {4, 1, 6}, {{3}, {1}, p, 6}));
  }
}

TEST(ConvVolumes, AFilterForEachChannel) {
  check(conv_case({1, 4, 3, 17}, {3, 2, 1, 17}, {{1, 1}, {1, 1}, Padding::same, 17}));
  for (int64_t channels : {1, 8, 37})
    for (int64_t taps : {3, 5}) {
      Case c = conv_case({2, 6, 7, channels}, {taps, taps, 1, channels}, {{1, 2}, {1, 1}, Padding::same, channels});
      c.gradient = false;
      check(c);
    }
  Case c = conv_case({1, 9, 8, 19}, {3, 2, 1, 19}, {{2, 1}, {2, 3}, Padding::same, 19});
  c.gradient = false;
  check(c);
}

// By what it is: the gradient of naive_conv by its input.
std::vector<Array> naive_transpose(const std::vector<Array> &in, const Conv &how, const Index &out) {
  const Array &x = in[0], &w = in[1];
  const Index taps(w.shape.begin(), w.shape.begin() + spatial(x.shape));
  Array y = zeros(Shape(joined(x.shape[0], out, w.shape[-2])));
  for (int64_t b = 0; b < x.shape[0]; ++b)
    pairs(out, middle(x.shape), taps, how, [&](const Index &from, const Index &to, const Index &k) {
      for (int64_t f = 0; f < w.shape[-2]; ++f)
        for (int64_t c = 0; c < w.shape.last(); ++c) {
          Index tap = k;
          tap.push_back(f);
          tap.push_back(c);
          y[flat(y.shape, joined(b, to, f))] += x[flat(x.shape, joined(b, from, c))] * w[flat(w.shape, tap)];
        }
    });
  return {y};
}

Case transpose_case(Shape x, Shape w, Conv how, Index output_padding, Index out) {
  Case c;
  c.build = one([=](Emit &e, const auto &in) { return conv_transpose(e, in[0], in[1], how, output_padding); });
  c.inputs = randoms({x, w});
  c.constants = {1};
  c.reference = [=](const auto &in) { return naive_transpose(in, how, out); };
  return c;
}

TEST(ConvTranspose, Geometry) {
  check(transpose_case({2, 4, 3}, {3, 2, 3}, {{1}, {1}}, {-1}, {6}));
  check(transpose_case({2, 4, 3}, {3, 2, 3}, {{2}, {1}}, {-1}, {9}));
  check(transpose_case({2, 4, 3}, {2, 2, 3}, {{3}, {1}}, {-1}, {12}));
  check(transpose_case({2, 4, 3}, {2, 2, 3}, {{3}, {1}}, {1}, {12}));
  check(transpose_case({2, 4, 3}, {3, 2, 3}, {{1}, {2}}, {-1}, {8}));
  check(transpose_case({2, 4, 3}, {3, 2, 3}, {{1}, {2}, Padding::same}, {-1}, {4}));
  check(transpose_case({2, 3, 4, 2}, {3, 2, 5, 2}, {{2, 1}, {1, 1}, Padding::same}, {-1, -1}, {6, 4}));
  check(transpose_case({2, 3, 4, 2}, {3, 3, 5, 2}, {{2, 2}, {1, 1}, Padding::same}, {1, 0}, {6, 7}));
  check(transpose_case({1, 2, 3, 2, 4}, {2, 3, 2, 3, 4}, {{2, 1, 2}, {1, 1, 1}}, {-1, -1, -1}, {4, 5, 4}));
  check(transpose_case({0, 3, 4, 2}, {3, 3, 5, 2}, {{2, 2}, {1, 1}}, {-1, -1}, {7, 9}));
  Case free = transpose_case({2, 3, 4, 2}, {3, 2, 5, 2}, {{2, 1}, {1, 1}, Padding::same}, {-1, -1}, {6, 4});
  free.free_axes = {0, 1, 2};
  check(free);
}

TEST(ConvTranspose, Refuses) {
  auto refuse = [](Shape x, Shape w, Conv how, Index more, const std::string &words, Code code) {
    check_refused([&](Emit &e, const auto &v) { return conv_transpose(e, v[0], v[1], how, more); }, {x, w}, code,
                  words);
  };
  refuse({1, 4, 2}, {3, 2, 2}, {{2}, {1}}, {2}, "output_padding must be less than strides, got (2) and (2)",
         Code::invalid_argument);
  refuse({1, 4, 2}, {2, 2, 2}, {{2}, {1}, Padding::same}, {0}, "corresponds to an input (1, 3, 2), got (1, 4, 2)",
         Code::shape_mismatch);
  refuse({1, 4, 2}, {3, 2, 3}, {{1}, {1}}, {-1}, "got (1, 4, 2)", Code::shape_mismatch);
  refuse({1, 4, 4, 2}, {3, 2, 2}, {{1}, {1}}, {-1}, "expected an input and a known kernel of 3 axes",
         Code::shape_mismatch);
  refuse({1, 4, 2}, {3, 2, 2}, {{1}, {1}, Padding::causal}, {-1}, "expected padding valid or same",
         Code::invalid_argument);
}

std::vector<Array> naive_pool(const std::vector<Array> &in, const Pool &how) {
  const Array &x = in[0];
  const Index from = middle(x.shape);
  Index out = from;
  for (size_t a = 0; a < out.size(); ++a)
    out[a] = how.adaptive ? how.size[a] : out_size(from[a], how.size[a], how.strides[a], 1, how.padding);
  Array y = zeros(Shape(joined(x.shape[0], out, x.shape.last())));
  each(joined(x.shape[0], out, x.shape.last()), [&](const Index &o) {
    double sum = 0, most = -INFINITY, count = 0;
    each(joined(1, from, 1), [&](const Index &i) {
      Index at = i;
      at.front() = o.front(), at.back() = o.back();
      for (size_t a = 0; a < from.size(); ++a) {
        const int64_t w = o[a + 1], n = from[a];
        const int64_t pad = how.adaptive ? 0 : before(n, how.size[a], how.strides[a], 1, how.padding);
        const double first = how.adaptive ? std::floor(static_cast<double>(w * n) / static_cast<double>(out[a]))
                                          : static_cast<double>(w * how.strides[a] - pad);
        const double last = how.adaptive ? std::ceil(static_cast<double>((w + 1) * n) / static_cast<double>(out[a]))
                                         : first + static_cast<double>(how.size[a]);
        if (static_cast<double>(i[a + 1]) < first || static_cast<double>(i[a + 1]) >= last) return;
      }
      const double v = x[flat(x.shape, at)];
      sum += v, ++count;
      most = std::max(most, v);
    });
    y[flat(y.shape, o)] = how.average ? sum / count : most;
  });
  return {y};
}

Case pool_case(Shape x, Pool how) {
  Case c;
  c.build = one([=](Emit &e, const auto &in) { return pool(e, in[0], how); });
  c.inputs = randoms({x});
  c.reference = [=](const auto &in) { return naive_pool(in, how); };
  return c;
}

TEST(PoolVolumes, Geometry) {
  for (bool average : {false, true}) {
    for (Padding p : {Padding::valid, Padding::same}) {
      check(pool_case({2, 7, 3}, {average, {3}, {2}, p}));
      check(pool_case({1, 9, 35}, {average, {2}, {4}, p}));
      check(pool_case({2, 4, 5, 3, 2}, {average, {2, 2, 2}, {2, 2, 2}, p}));
      check(pool_case({1, 4, 3, 5, 3}, {average, {3, 1, 2}, {1, 2, 3}, p}));
    }
    for (int64_t parts : {1, 2, 3, 5, 7}) {
      check(pool_case({2, 5, 3}, {average, {parts}, {}, Padding::valid, true}));
      check(pool_case({1, 5, 4, 5}, {average, {parts, 3}, {}, Padding::valid, true}));
      check(pool_case({1, 4, 3, 5, 2}, {average, {2, parts, 3}, {}, Padding::valid, true}));
    }
    Case free = pool_case({2, 4, 5, 3, 2}, {average, {2, 2, 2}, {2, 2, 2}, Padding::same});
    free.free_axes = {0, 1, 2, 3};
    check(free);
    free = pool_case({2, 4, 5, 2}, {average, {3, 2}, {}, Padding::valid, true});
    free.free_axes = {0, 1, 2};
    check(free);
  }
}

TEST(PoolVolumes, Refuses) {
  auto refuse = [](Shape x, Pool how, const std::string &words, Code code) {
    check_refused([&](Emit &e, const auto &v) { return pool(e, v[0], how); }, {x}, code, words);
  };
  refuse({1, 8, 2}, {false, {2, 2}, {1}}, "expected sizes and strides of one to three axes", Code::invalid_argument);
  refuse({1, 8, 2}, {false, {2}, {2}, Padding::valid, true}, "expected sizes and strides", Code::invalid_argument);
  refuse({1, 8, 2}, {false, {0}, {}, Padding::valid, true}, "must be at least 1, got 0", Code::invalid_argument);
  refuse({1, 0, 2}, {false, {2}, {}, Padding::valid, true}, "without places", Code::shape_mismatch);
  refuse({1, 8, 8, 2}, {false, {2, 2, 2}, {1, 1, 1}}, "expected an input of 5 axes", Code::shape_mismatch);
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
