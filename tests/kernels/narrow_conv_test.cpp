// Convolutions in integers: bit for bit what their formula says, on every instruction set.
#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/gemm/narrow_gemm.hpp"
#include "run_kernel.hpp"
#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

struct Codes {
  std::vector<int> codes;
  float scale;
};
Codes codes_of(const std::vector<float> &x) {
  float largest = 0;
  for (float v : x) largest = std::max(largest, std::fabs(v));
  Codes all{{}, largest / 127};
  for (float v : x) all.codes.push_back(static_cast<int>(std::nearbyint(v * (127 / largest))));
  return all;
}

std::vector<float> by_formula(const Conv &c, const std::vector<float> &x, const std::vector<float> &w,
                              const std::vector<float> &bias) {
  std::vector<Codes> filters;
  const int64_t taps = c.kh * c.kw * c.c, pixels = c.h * c.w * c.c;
  for (int64_t o = 0; o < c.oc; ++o) {
    std::vector<float> one;
    for (int64_t t = 0; t < taps; ++t) one.push_back(w[at(t * c.oc + o)]);
    filters.push_back(codes_of(one));
  }
  std::vector<float> y;
  for (int64_t n = 0; n < c.n; ++n) {
    const Codes image = codes_of({x.begin() + n * pixels, x.begin() + (n + 1) * pixels});
    for (int64_t i = 0; i < c.oh; ++i)
      for (int64_t j = 0; j < c.ow; ++j)
        for (int64_t o = 0; o < c.oc; ++o) {
          int64_t sum = 0, tap = 0;
          for (int64_t a = 0; a < c.kh; ++a)
            for (int64_t b = 0; b < c.kw; ++b) {
              const int64_t row = i * c.stride_h + a * c.dil_h - c.pad_top, col = j * c.stride_w + b - c.pad_left;
              for (int64_t k = 0; k < c.c; ++k, ++tap)
                if (row >= 0 && row < c.h && col >= 0 && col < c.w)
                  sum += image.codes[at((row * c.w + col) * c.c + k)] * filters[at(o)].codes[at(tap)];
            }
          const float scaled = static_cast<float>(sum) * filters[at(o)].scale;
          const float v = scaled * image.scale + bias[at(o)];
          y.push_back(c.epilogue.relu && v <= 0 ? 0 : v);
        }
  }
  return y;
}

Conv conv(int64_t n, int64_t h, int64_t w, int64_t channels, int64_t kh, int64_t kw, int64_t oc, int64_t stride,
          int64_t pad) {
  Conv c;
  c.n = n, c.h = h, c.w = w, c.c = channels, c.kh = kh, c.kw = kw, c.oc = oc;
  c.stride_h = c.stride_w = stride;
  c.pad_top = c.pad_left = pad;
  c.oh = (h + 2 * pad - kh) / stride + 1, c.ow = (w + 2 * pad - kw) / stride + 1;
  c.pad_bottom = (c.oh - 1) * stride + kh - h - pad, c.pad_right = (c.ow - 1) * stride + kw - w - pad;
  c.bias = true;
  return c;
}

TEST(NarrowConv, IsTheFormulaBitForBit) {
  std::vector<Conv> convs = {conv(1, 5, 5, 4, 1, 1, 1, 1, 0),    conv(2, 9, 7, 4, 3, 3, 33, 1, 1),
                             conv(1, 20, 20, 4, 8, 8, 32, 4, 0), conv(3, 6, 11, 32, 4, 4, 64, 2, 0),
                             conv(1, 9, 9, 64, 3, 3, 40, 1, 0),  conv(2, 8, 8, 8, 5, 5, 70, 2, 2),
                             conv(1, 7, 30, 2, 3, 2, 35, 1, 1),  conv(1, 10, 10, 8, 3, 3, 32, 3, 0)};
  convs[4].dil_h = 2, convs[4].oh = 5, convs[4].pad_bottom = 0;
  convs[1].epilogue.relu = true;
  convs[1].epilogue.run = [](float *, int64_t, int64_t, int64_t) { ADD_FAILURE() << "relu is done by the product"; };
  for (const Conv &c : convs) {
    ASSERT_TRUE(is_for_narrow(c));
    const auto x = random_floats(c.n * c.h * c.w * c.c), w = random_floats(c.kh * c.kw * c.c * c.oc, -1, 1, 7);
    const auto bias = random_floats(c.oc, -1, 1, 9), want = by_formula(c, x, w, bias);
    auto check = [&] {
      for (int64_t slices : {1, 2, 5}) {
        const auto kernel = narrow_conv(c, slices, {w.data()});
        Edge<float> src(x), weights(w), add(bias), dst(static_cast<int64_t>(want.size()));
        testing::run_kernel(*kernel, {src.data(), weights.data(), add.data(), dst.data()});
        ASSERT_EQ(want, dst.vector()) << kernel->name << ": " << c.h << " x " << c.w << " x " << c.c << ", " << c.oc;
      }
    };
    on_every_target(check);
    if ((hwy::SupportedTargets() & HWY_AVX3_DL) == 0) continue;
    hwy::SetSupportedTargetsForTest(HWY_AVX3 | HWY_AVX3_DL);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

TEST(NarrowConv, IsForWholeQuadsAlone) {
  EXPECT_FALSE(is_for_narrow(conv(1, 9, 9, 1, 3, 3, 32, 1, 0)));
  EXPECT_FALSE(is_for_narrow(conv(1, 9, 9, 3, 3, 3, 32, 1, 0)));
  EXPECT_TRUE(is_for_narrow(conv(1, 9, 9, 3, 3, 4, 32, 1, 0)));
  Conv grouped = conv(1, 9, 9, 8, 3, 3, 32, 1, 0);
  grouped.groups = 2;
  EXPECT_FALSE(is_for_narrow(grouped));
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
