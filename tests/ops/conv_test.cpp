// Convolution and its gradients: geometry, groups, dilation, candidates, refusals.
#include <algorithm>
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

// Padding from its definition: how many cells stand before the first one.
int64_t before(int64_t n, int64_t k, int64_t s, int64_t d, Padding p) {
  if (p == Padding::valid) return 0;
  if (p == Padding::causal) return (k - 1) * d;
  int64_t out = (n + s - 1) / s;
  return std::max<int64_t>((out - 1) * s + (k - 1) * d + 1 - n, 0) / 2;
}

int64_t length(int64_t n, int64_t k, int64_t s, int64_t d, Padding p) {
  return p == Padding::valid ? (n - (k - 1) * d - 1) / s + 1 : (n + s - 1) / s;
}

std::vector<Array> naive(const std::vector<Array> &in, const Conv &how) {
  const Array &x = in[0], &w = in[1];
  int64_t sh = how.strides[0], sw = how.strides[1], dh = how.dilation[0], dw = how.dilation[1];
  Padding rows = how.padding == Padding::causal ? Padding::valid : how.padding;
  int64_t top = before(x.shape[1], w.shape[0], sh, dh, rows);
  int64_t left = before(x.shape[2], w.shape[1], sw, dw, how.padding);
  int64_t n = x.shape[0], oh = length(x.shape[1], w.shape[0], sh, dh, rows);
  int64_t ow = length(x.shape[2], w.shape[1], sw, dw, how.padding);
  int64_t c = x.shape[3], f = w.shape[3], each = w.shape[2], filters = f / how.groups;
  Array y = zeros({n, oh, ow, f});
  for (int64_t b = 0; b < n; ++b)
    for (int64_t i = 0; i < oh; ++i)
      for (int64_t j = 0; j < ow; ++j)
        for (int64_t o = 0; o < f; ++o) {
          double s = in.size() > 2 ? in[2][o] : 0;
          for (int64_t k = 0; k < w.shape[0]; ++k)
            for (int64_t l = 0; l < w.shape[1]; ++l) {
              int64_t h = i * sh + k * dh - top, v = j * sw + l * dw - left;
              if (h < 0 || h >= x.shape[1] || v < 0 || v >= x.shape[2]) continue;
              for (int64_t q = 0; q < each; ++q)
                s += x[((b * x.shape[1] + h) * x.shape[2] + v) * c + o / filters * each + q] *
                     w[((k * w.shape[1] + l) * each + q) * f + o];
            }
          y[((b * oh + i) * ow + j) * f + o] = s;
        }
  return {y};
}

Case conv_case(Shape x, Shape w, Conv how, bool bias = true) {
  Case c;
  c.build = one([=](Emit &e, const auto &in) { return conv(e, in[0], in[1], bias ? in[2] : none, how); });
  c.inputs = randoms({x, w});
  c.constants = {1};
  if (bias) c.constants.push_back(2), c.inputs.push_back(random({w[3]}, 3, -1, 1));
  c.reference = [=](const auto &in) { return naive(in, how); };
  c.kernels = {"depthwise_conv",
               "direct_conv",
               "winograd_conv",
               "packed_conv",
               "dnnl_conv",
               "reference_conv",
               "winograd_conv_data",
               "dnnl_conv_data",
               "reference_conv_data",
               "dnnl_conv_weights",
               "reference_conv_weights",
               "blocked_conv",
               "blocked_conv_data",
               "blocked_conv_weights",
               "channels_conv",
               "channels_conv_data",
               "channels_conv_weights",
               "turned_conv_data",
               "planar_conv",
               "planar_conv_data",
               "shifted_conv",
               "shifted_conv_data",
               "direct_conv_weights"};
  return c;
}

TEST(Conv, Paddings) {
  for (Padding p : {Padding::valid, Padding::same, Padding::causal})
    for (int64_t n : {5, 8}) check(conv_case({2, n, n + 1, 3}, {3, 2, 3, 4}, {{1, 1}, {1, 1}, p}));
}

TEST(Conv, StridesAndDilation) {
  for (Padding p : {Padding::valid, Padding::same, Padding::causal}) {
    check(conv_case({2, 7, 8, 2}, {3, 3, 2, 3}, {{2, 3}, {1, 1}, p}));
    check(conv_case({2, 7, 8, 2}, {3, 3, 2, 3}, {{1, 1}, {2, 3}, p}));
    check(conv_case({1, 9, 8, 2}, {3, 2, 2, 3}, {{2, 2}, {2, 3}, p}));
  }
  check(conv_case({2, 5, 6, 3}, {1, 1, 3, 4}, {{2, 2}, {1, 1}, Padding::same}));
  for (int64_t d : {1 << 20, 1073741823})  // all but one tap in the padding
    for (Padding p : {Padding::same, Padding::causal}) {
      if (p == Padding::same) check(conv_case({1, 6, 7, 3}, {3, 3, 3, 4}, {{1, 1}, {d, d}, p}));
      check(conv_case({2, 1, 12, 16}, {1, 3, 16, 16}, {{1, 1}, {1, d}, p}));
    }
  check(conv_case({1, 8, 9, 2}, {2, 2, 2, 2}, {{3, 4}, {1, 1}, Padding::valid}, false));
}

TEST(Conv, Groups) {
  check(conv_case({2, 5, 5, 6}, {3, 3, 2, 9}, {{1, 1}, {1, 1}, Padding::same, 3}));
  check(conv_case({2, 5, 5, 4}, {3, 3, 1, 8}, {{1, 1}, {1, 1}, Padding::valid, 4}, false));
}

TEST(Conv, Depthwise) {
  check(conv_case({2, 6, 9, 20}, {3, 3, 1, 20}, {{1, 1}, {1, 1}, Padding::same, 20}));
  check(conv_case({1, 9, 11, 5}, {4, 2, 1, 5}, {{2, 3}, {1, 1}, Padding::same, 5}, false));
  check(conv_case({2, 1, 12, 7}, {1, 3, 1, 7}, {{1, 1}, {1, 4}, Padding::causal, 7}));
  check_fused(conv_case({3, 9, 9, 18}, {3, 3, 1, 18}, {{1, 1}, {1, 1}, Padding::same, 18}), {Unary::relu, Unary::gelu});
}

TEST(Conv, OneAxis) { check(conv_case({3, 1, 9, 2}, {1, 3, 2, 5}, {{1, 1}, {1, 2}, Padding::causal})); }

TEST(Conv, Large) {
  Case c = conv_case({3, 14, 14, 32}, {3, 3, 32, 48}, {{1, 1}, {1, 1}, Padding::same});
  c.gradient = false;
  check(c);
}

TEST(Conv, FreeSizes) {
  Case c = conv_case({2, 6, 7, 3}, {3, 3, 3, 4}, {{2, 1}, {1, 1}, Padding::same});
  c.free_axes = {0, 1, 2};
  check(c);
}

TEST(Conv, ZeroSizes) {
  check(conv_case({0, 5, 5, 2}, {3, 3, 2, 3}, {}));
  check(conv_case({2, 0, 5, 2}, {3, 3, 2, 3}, {{1, 1}, {1, 1}, Padding::same}));
  check(conv_case({2, 4, 5, 0}, {3, 3, 0, 3}, {{1, 1}, {1, 1}, Padding::same}));
}

TEST(Conv, KeepsNaN) {
  Case c = conv_case({2, 5, 5, 2}, {3, 3, 2, 3}, {});
  c.gradient = false;
  c.inputs[0].as<float>()[7] = NAN;
  check(c);
}

TEST(Conv, FusedActivationHasTheSameBits) {
  check_fused(conv_case({3, 9, 9, 5}, {3, 3, 5, 7}, {{1, 1}, {1, 1}, Padding::same}),
              {Unary::relu, Unary::tanh, Unary::leaky_relu, Unary::gelu});
}

TEST(Conv, Refusals) {
  auto refuse = [](Shape x, Shape w, Conv how, const std::string &words, Code code = Code::shape_mismatch) {
    check_refused([&](Emit &e, const auto &v) { return conv(e, v[0], v[1], none, how); }, {x, w}, code, words);
  };
  refuse({1, 3, 8, 2}, {5, 5, 2, 3}, {}, "kernel_size 5 does not fit in 3");
  refuse({1, 8, 8, 2}, {5, 5, 2, 3}, {{1, 1}, {2, 2}},
         "kernel_size 5 (9 cells with dilation_rate 2) does not fit in 8");
  refuse({1, 8, 8, 3}, {3, 3, 2, 3}, {}, "expected 2 input channels, got 3");
  refuse({1, 8, 8, 3}, {3, 3, 1, 4}, {{1, 1}, {1, 1}, Padding::same, 3},
         "filters must be divisible by the number of groups", Code::invalid_argument);
  refuse({1, 8, 8, 4}, {3, 3, 1, 3}, {{1, 1}, {1, 1}, Padding::same, 3},
         "channels must be divisible by the number of groups");
  refuse({1, 8, 2}, {3, 3, 2, 3}, {}, "expected an input of 4 axes");
  refuse({1, 8, 8, 2}, {3, 3, 2, 3}, {{0, 1}}, "strides must be at least 1, got 0", Code::invalid_argument);
  refuse({1, 8, 8, 2}, {3, 3, 2, 3}, {{1, 1}, {1, -2}}, "dilation_rate must be at least 1, got -2",
         Code::invalid_argument);
  check_refused([](Emit &e, const auto &v) { return conv(e, v[0], v[1], none, {}); },
                {Operand{DType::i32, {1, 4, 4, 1}}, Operand{DType::f32, {1, 1, 1, 1}}}, Code::invalid_argument,
                "expects float32, got int32");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
