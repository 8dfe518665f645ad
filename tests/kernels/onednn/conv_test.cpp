// Convolutions and their gradients by oneDNN against sums in double.
#include "kernels/conv_cases.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using namespace testing;

// oneDNN's convolutions of channels that lie last: on arm64 2.6 has none but, with vectors of 512 bits, of one channel
// a group.
#if defined(__x86_64__)
constexpr bool dnnl_convolves = true;
#else
constexpr bool dnnl_convolves = false;
#endif

TEST(DnnlConv, Forward) {
  int applied = 0;
  check_forward(1, [&](const Conv &c, const Constant &weights, int64_t slices) {
    std::array kernels{dnnl_conv(c, slices), dnnl_conv(c, slices, &weights)};
    applied += kernels[0] != nullptr;
    return kernels;
  });
  EXPECT_GE(applied, dnnl_convolves ? 100 : 0);
}

TEST(DnnlConv, GradientByTheSource) {
  int applied = 0;
  check_by_source(2, [&](const Conv &c, const Constant &weights, int64_t slices) {
    std::array kernels{dnnl_conv_data(c, slices), dnnl_conv_data(c, slices, &weights)};
    applied += kernels[0] != nullptr;
    return kernels;
  });
  EXPECT_GE(applied, dnnl_convolves ? 50 : 0);
}

TEST(DnnlConv, GradientByTheWeights) {
  int applied = 0;
  check_by_weights(3, [&](const Conv &c, int64_t slices) {
    std::array kernels{dnnl_conv_weights(c, slices)};
    applied += kernels[0] != nullptr;
    return kernels;
  });
  EXPECT_GE(applied, dnnl_convolves ? 100 : 0);
}

TEST(DnnlConv, NothingToDo) {
  Conv c = conv_of(table[0], true);
  c.n = 0;
  EXPECT_EQ(dnnl_conv(c, 2), nullptr);
  EXPECT_EQ(dnnl_conv_data(c, 2), nullptr);
  EXPECT_EQ(dnnl_conv_weights(c, 2), nullptr);
}

// oneDNN would make code for every column of padding: gigabytes.
TEST(DnnlConv, WidePaddingIsLeftToOthers) {
  Conv c = conv_of({"", 1, 1, 20000, 16, 16, 1, 2, 1, 1, 1, 16384, 0, 16384, 0, 0}, false);
  EXPECT_EQ(dnnl_conv(c, 2), nullptr);
  EXPECT_EQ(dnnl_conv_data(c, 2), nullptr);
  EXPECT_EQ(dnnl_conv_weights(c, 2), nullptr);
}

// Where oneDNN is wrong there is no kernel of its.
TEST(DnnlConv, WindowsWiderThanTheRow) {
  std::mt19937 random(5);
  int applied = 0;
  for (int64_t w : {27, 31, 41, 49})
    for (int64_t taps : {w, w + 1, w + 2}) {
      Data d(conv_of({"", 2, 1, w, 3, 16, 1, taps, 1, 1, 1, 1, 0, (taps - 1) / 2, 0, taps / 2}, false), random);
      const auto kernel = dnnl_conv(d.c, 1);
      applied += kernel != nullptr;
      check(kernel.get(), {d.src.begin(), d.weights.begin()}, d.forward(), "a wide window");
      check(dnnl_conv_data(d.c, 1).get(), {d.diff_dst.begin(), d.weights.begin()}, d.data(), "a wide window");
      check(dnnl_conv_weights(d.c, 1).get(), {d.src.begin(), d.diff_dst.begin()}, d.by_weights(), "a wide window");
    }
  EXPECT_EQ(applied, dnnl_convolves ? 6 : 0);
}

TEST(DnnlConv, NanPassesThrough) {
  if (!dnnl_convolves) GTEST_SKIP() << "oneDNN has nothing for this machine";
  std::mt19937 random(4);
  Data d(conv_of(table[0], false), random);
  d.src[d.src.size() / 2] = std::nanf("");
  Guarded out(d.diff_dst.size());
  auto kernel = dnnl_conv(d.c, 2);
  ASSERT_NE(kernel, nullptr);
  run_kernel(*kernel, {d.src.begin(), d.weights.begin(), out.begin()});
  EXPECT_TRUE(near(out, d.forward(), 2e-5));
}

TEST(DnnlConv, NoThreadAppears) {
  if (!dnnl_convolves) GTEST_SKIP() << "oneDNN has nothing for this machine";
  std::mt19937 random(5);
  int64_t before = os_threads();
  Data d(conv_of({"", 8, 30, 30, 32, 32, 3, 3}, false), random);
  Guarded dst(d.diff_dst.size()), src(d.src.size()), weights(d.weights.size());
  run_kernel(*dnnl_conv(d.c, 1), {d.src.begin(), d.weights.begin(), dst.begin()});
  run_kernel(*dnnl_conv_data(d.c, 1), {d.diff_dst.begin(), d.weights.begin(), src.begin()});
  run_kernel(*dnnl_conv_weights(d.c, 1), {d.src.begin(), d.diff_dst.begin(), weights.begin()});
  EXPECT_EQ(os_threads(), before);
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
