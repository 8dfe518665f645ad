// Our own convolutions and their gradients against sums in double.
#include "backend/cpu/kernels/conv/planar_conv.hpp"
#include "conv_cases.hpp"
#include "special_values.hpp"
#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using namespace testing;

constexpr int by_channels = 9;  // cases whose channels are each convolved by themselves

// Cases in which a tap meets an element; the reference kernels alone are for the others.
int live() {
  return static_cast<int>(
      std::count_if(std::begin(table), std::end(table), [](const Sizes &s) { return !conv_of(s, false).is_empty(); }));
}

TEST(Conv, ForwardByOwnKernels) {
  on_every_target([] {
    int few = 0, winograd = 0, depthwise = 0, packed = 0, channels = 0, blocked = 0, planar = 0;
    check_forward(6, [&](const Conv &c, const Constant &weights, int64_t slices) {
      const bool wide = c.pad_left > 1000;  // laid out in memory by these two, which the op then does not offer
      std::array kernels{wide ? nullptr : direct_conv(c, slices),
                         winograd_conv(c, slices, &weights),
                         winograd_conv(c, slices),
                         depthwise_conv(c, slices),
                         wide ? nullptr : packed_conv(c, slices, &weights),
                         channels_conv(c, slices),
                         planar_conv(c, slices),
                         blocked_conv(c, slices),
                         blocked_conv(c, slices, &weights),
                         slices < 3 ? reference_conv(c, slices) : nullptr};
      few += kernels[0] != nullptr;
      winograd += kernels[1] != nullptr;
      depthwise += kernels[3] != nullptr;
      packed += kernels[4] != nullptr;
      channels += kernels[5] != nullptr;
      planar += kernels[6] != nullptr;
      blocked += kernels[7] && kernels[8];
      return kernels;
    });
    EXPECT_GE(few, 8);  // fewer lanes, fewer shapes
    EXPECT_GE(winograd, 20);
    EXPECT_EQ(depthwise, 8 * 8);  // "one channel" is one too
    EXPECT_EQ(packed, 16 * 8);
    EXPECT_EQ(channels, by_channels * 8);
    EXPECT_EQ(blocked, live() * 8);
    EXPECT_GE(planar, (live() - 5) * 8);
  });
}

TEST(Conv, GradientByTheSourceByOwnKernel) {
  on_every_target([] {
    int winograd = 0, blocked = 0, channels = 0, turned = 0, planar = 0;
    check_by_source(7, [&](const Conv &c, const Constant &weights, int64_t slices) {
      std::array kernels{winograd_conv_data(c, slices),
                         winograd_conv_data(c, slices, &weights),
                         blocked_conv_data(c, slices),
                         blocked_conv_data(c, slices, &weights),
                         channels_conv_data(c, slices),
                         planar_conv_data(c, slices),
                         c.pad_left > 1000 ? nullptr : turned_conv_data(c, slices),
                         slices < 3 ? reference_conv_data(c, slices) : nullptr};
      winograd += kernels[0] && kernels[1];
      blocked += kernels[2] && kernels[3];
      channels += kernels[4] != nullptr;
      planar += kernels[5] != nullptr;
      turned += kernels[6] != nullptr;
      return kernels;
    });
    EXPECT_GE(winograd, 10);
    EXPECT_EQ(channels, by_channels * 4);
    EXPECT_GE(turned, 12);
    EXPECT_GE(planar, (live() - 8) * 4);
    EXPECT_EQ(blocked, live() * 4);
  });
}

TEST(Conv, GradientByTheWeightsByOwnKernels) {
  on_every_target([] {
    int channels = 0, blocked = 0, direct = 0;
    check_by_weights(3, [&](const Conv &c, int64_t slices) {
      std::array kernels{channels_conv_weights(c, slices), blocked_conv_weights(c, slices),
                         c.pad_left > 1000 ? nullptr : direct_conv_weights(c, slices),
                         slices < 2 ? reference_conv_weights(c, slices) : nullptr};
      channels += kernels[0] != nullptr;
      blocked += kernels[1] != nullptr;
      direct += kernels[2] != nullptr;
      return kernels;
    });
    EXPECT_EQ(channels, by_channels * 8);
    EXPECT_EQ(blocked, live() * 8);
    EXPECT_GE(direct, 100);
  });
}

// The products of each pixel and all taps, which a product has made.
std::vector<float> products_of(const Data &d, bool by_source) {
  const Conv &c = d.c;
  const int64_t taps = c.kh * c.kw, filters = by_source ? c.c : c.oc, channels = by_source ? c.oc : c.c;
  const Guarded &src = by_source ? d.diff_dst : d.src;
  std::vector<float> all;
  for (int64_t pixel = 0; pixel < src.size() / channels; ++pixel)
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t f = 0; f < filters; ++f) {
        double sum = 0;
        for (int64_t i = 0; i < channels; ++i)
          sum += double{src[pixel * channels + i]} *
                 d.weights[by_source ? (t * c.c + f) * c.oc + i : (t * c.c + i) * c.oc + f];
        all.push_back(static_cast<float>(sum));
      }
  return all;
}

TEST(Conv, SumsOfProductsThatAreShifted) {
  on_every_target([] {
    std::mt19937 random(8);
    int forward = 0, by_source = 0, rows = 0;
    for (const Sizes &s : table) {
      if (s.groups != 1 || s.left > 1000) continue;
      Data d(conv_of(s, true), random);
      const auto want = d.forward(), want_source = d.data();
      auto products = products_of(d, false), products_by_source = products_of(d, true);
      for (int64_t slices : {1, 3}) {
        const auto sums = shifted_sums(d.c, false, slices), sums_by_source = shifted_sums(d.c, true, slices);
        const auto added = added_rows(d.c, slices);
        forward += sums != nullptr, by_source += sums_by_source != nullptr, rows += added != nullptr;
        check(sums.get(), {products.data(), d.bias.begin()}, want, s.name);
        check(sums_by_source.get(), {products_by_source.data()}, want_source, s.name);
        check(added.get(), {products_by_source.data()}, want_source, s.name);
      }
    }
    EXPECT_GE(forward, 2 * 10);
    EXPECT_GE(by_source, 2 * 18);
    EXPECT_EQ(rows, 2 * 16);
  });
}

TEST(Conv, CasesWithoutALiveTap) { EXPECT_EQ(live(), static_cast<int>(std::size(table)) - 2); }

TEST(Conv, NothingToDo) {
  Conv c = conv_of(table[0], true);
  c.n = 0;
  Constant none{nullptr};
  EXPECT_EQ(direct_conv(c, 2), nullptr);
  EXPECT_EQ(depthwise_conv(c, 2), nullptr);
  EXPECT_EQ(winograd_conv(c, 2, &none), nullptr);
  EXPECT_EQ(packed_conv(c, 2, &none), nullptr);
  EXPECT_EQ(winograd_conv_data(c, 2), nullptr);
  EXPECT_EQ(blocked_conv(c, 2), nullptr);
  EXPECT_EQ(channels_conv(c, 2), nullptr);
  EXPECT_EQ(blocked_conv_data(c, 2), nullptr);
  EXPECT_EQ(channels_conv_data(c, 2), nullptr);
  EXPECT_EQ(blocked_conv_weights(c, 2), nullptr);
  EXPECT_EQ(channels_conv_weights(c, 2), nullptr);
  EXPECT_EQ(reference_conv(c, 2)->slices, 0);
  EXPECT_EQ(reference_conv_data(c, 2)->slices, 0);
  Guarded weights(3 * 3 * 16 * 32), bias(32);
  run_kernel(*reference_conv_weights(c, 2), {nullptr, nullptr, weights.begin(), bias.begin()}, Who::caller, 2);
  EXPECT_TRUE(near(weights, std::vector<double>(3 * 3 * 16 * 32, 0.0), 0));
}

// Padded, the source would have some 2^64 pixels.
TEST(Conv, DirectLeavesMuchPaddingToOthers) {
  std::mt19937 random(9);
  constexpr int64_t far = 2147483642;
  Data d(conv_of({"", 1, 12, 12, 3, 8, 3, 3, 1, 1, far, far, far, far, far, far}, false), random);
  EXPECT_EQ(direct_conv(d.c, 1), nullptr);
  auto reference = reference_conv(d.c, 1);
  check(reference.get(), {d.src.begin(), d.weights.begin()}, d.forward(), "far taps");
}

TEST(Conv, PlainLoopsTakeSpecialValues) {
  std::mt19937 random(8);
  Data d(conv_of({"", 1, 3, 3, 3, 3, 2, 2, 1, 1, 1, 1, 1, 0, 0, 1, 3}, true), random);
  auto expect = [](const std::unique_ptr<Kernel> &kernel, std::vector<void *> args, const std::vector<double> &want) {
    Guarded out(static_cast<int64_t>(want.size()));
    args.push_back(out.begin());
    EXPECT_EQ(run_kernel(*kernel, args), Fault::none);
    ASSERT_TRUE(near(out, want, 2e-5)) << kernel->name;
  };
  for (Guarded *x : {&d.src, &d.weights, &d.bias, &d.diff_dst})
    for (int64_t i = 0; i < x->size(); ++i)
      for (const float v : specials) {
        const float keep = std::exchange((*x)[i], v);
        expect(reference_conv(d.c, 2), {d.src.begin(), d.weights.begin(), d.bias.begin()}, d.forward());
        expect(reference_conv_data(d.c, 2), {d.diff_dst.begin(), d.weights.begin()}, d.data());
        Guarded by_bias(d.c.oc);
        run_kernel(*reference_conv_weights(d.c, 2), {d.src.begin(), d.diff_dst.begin(), nullptr, by_bias.begin()},
                   Who::caller, 2);
        ASSERT_TRUE(near(by_bias, d.by_bias(), 2e-5));
        d.c.bias = false;
        expect(reference_conv_weights(d.c, 2), {d.src.begin(), d.diff_dst.begin()}, d.by_weights());
        d.c.bias = true;
        (*x)[i] = keep;
      }
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
