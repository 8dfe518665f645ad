// Convolutions by tiles: every geometry, the order of their sums, the ends of the range, and errors.
#include "backend/cpu/kernels/conv/conv.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include "backend/cpu/kernels/conv/patches.hpp"
#include "conv_cases.hpp"
#include "targets.hpp"
#include "tile_cases.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using namespace testing;
using Kernels = std::vector<std::unique_ptr<Kernel>>;

class AmxConv : public ::testing::Test {
  dl4_test::WithTiles tiles_;
};

template <class... K>
Kernels list(K... kernels) {
  Kernels all;
  (all.push_back(std::move(kernels)), ...);
  for (const auto &k : all) EXPECT_TRUE(k->name.starts_with("amx_conv")) << k->name;
  return all;
}

// Each in one number of slices: emulation takes time. Where there is nothing to multiply there is no such kernel.
TEST_F(AmxConv, EveryGeometry) {
  check_forward(61, [](const Conv &c, const Constant &weights, int64_t slices) {
    if (slices != (c.bias ? 3 : 1) || c.is_empty()) return Kernels();
    return list(blocked_conv(c, slices, c.bias ? &weights : nullptr, 6));
  });
}
TEST_F(AmxConv, EveryGeometryBySource) {
  check_by_source(62, [](const Conv &c, const Constant &weights, int64_t slices) {
    return slices == 2 && !c.is_empty() ? list(blocked_conv_data(c, slices, &weights, 6)) : Kernels();
  });
}
TEST_F(AmxConv, EveryGeometryByWeights) {
  check_by_weights(63, [](const Conv &c, int64_t slices) {
    return slices == (c.bias ? 2 : 7) && !c.is_empty() ? list(blocked_conv_weights(c, slices, 6)) : Kernels();
  });
}

// A convolution and its gradients, each with its sources and result.
struct Three {
  Data d;
  Constant weights{d.weights.begin()};

  explicit Three(const Sizes &s, uint32_t seed, bool bias = false)
      : Three(s, bias, std::make_unique<std::mt19937>(seed)) {}
  std::vector<std::vector<double>> exactly() const { return {d.forward(), d.data(), d.by_weights()}; }
  // tiles: products of parts; 0: multiply-adds.
  std::vector<Guarded> run(int tiles, bool constant = false, int64_t slices = 1) {
    std::vector<Guarded> got;
    const auto by = [&](const Kernel &k, std::vector<void *> args, int64_t size) {
      args.push_back(got.emplace_back(size).begin());
      EXPECT_EQ(run_kernel(k, args), Fault::none);
    };
    const Conv &c = d.c;
    Conv without = c;
    without.bias = false;
    std::vector<void *> args{d.src.begin(), d.weights.begin()};
    if (c.bias) args.push_back(d.bias.begin());
    got.reserve(3);
    by(*blocked_conv(c, slices, constant ? &weights : nullptr, tiles), args, d.diff_dst.size());
    by(*blocked_conv_data(without, slices, nullptr, tiles), {d.diff_dst.begin(), d.weights.begin()}, d.src.size());
    by(*blocked_conv_weights(without, slices, tiles), {d.src.begin(), d.diff_dst.begin()}, d.weights.size());
    return got;
  }

 private:
  Three(const Sizes &s, bool bias, std::unique_ptr<std::mt19937> random) : d(conv_of(s, bias), *random) {}
};

std::vector<float> floats(const Guarded &g) { return {g.begin(), g.begin() + g.size()}; }

// In any number of slices.
TEST_F(AmxConv, SumsAreThoseOfTheFormula) {
  const Sizes sizes{"", 1, 9, 7, 32, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  Three three(sizes, 5, true);
  const Conv &c = three.d.c;
  const int64_t pixels = c.oh * c.ow, taps = window_floats(c);
  std::vector<float> windows(static_cast<size_t>(pixels * taps));
  put_patches(c, three.d.src.begin(), 0, 0, pixels, 0, taps, windows.data(), taps, [](int64_t) {});
  const auto window = [&](int64_t i, int64_t l) { return windows[static_cast<size_t>(i * taps + l)]; };
  const auto diff = [&](int64_t i, int64_t l) { return three.d.diff_dst[i * c.oc + l]; };
  // What pixel i of the source meets: tap by tap of the destination.
  const auto met = [&](int64_t i, int64_t l) {
    const int64_t tap = l / c.oc, y = i / c.w + 1 - tap / c.kw, x = i % c.w + 1 - tap % c.kw;
    return y < 0 || y >= c.oh || x < 0 || x >= c.ow ? 0.0f : diff(y * c.ow + x, l % c.oc);
  };
  const auto weight = [&](int64_t l, int64_t j) { return three.d.weights[l * c.oc + j]; };
  const auto weight_of = [&](int64_t l, int64_t j) { return weight(l / c.oc * c.c + j, l % c.oc); };
  for (int products : {6, 3}) {
    auto forward = by_formula(pixels, c.oc, taps, products, window, weight);
    for (size_t i = 0; i < forward.size(); ++i) forward[i] += three.d.bias[static_cast<int64_t>(i) % c.oc];
    const auto by_source = by_formula(c.h * c.w, c.c, c.kh * c.kw * c.oc, products, met, weight_of);
    // Transposed, as it is computed.
    const auto by_weights = by_formula(
        c.oc, taps, pixels, products, [&](int64_t i, int64_t l) { return diff(l, i); }, window);
    on_every_target([&] {
      for (int64_t slices : {1, 3}) {
        const auto got = three.run(products, slices > 1, slices);
        EXPECT_EQ(bits_of(floats(got[0])), bits_of(forward));
        EXPECT_EQ(bits_of(floats(got[1])), bits_of(by_source));
        std::vector<float> turned;
        for (int64_t i = 0; i < c.oc; ++i)
          for (int64_t j = 0; j < taps; ++j) turned.push_back(got[2][j * c.oc + i]);
        EXPECT_EQ(bits_of(turned), bits_of(by_weights));
      }
    });
  }
}

// Of no shape and no gradient are the numbers further from the exact ones than those of multiply-adds.
TEST_F(AmxConv, ErrorIsNotAboveThatOfMultiplyAdds) {
  std::mt19937 random(6);
  const AnySize any{random};
  double three = 0, size = 0;
  for (uint32_t shape = 0; shape < 200; ++shape) {
    Sizes s{"", any(1, 2), any(5, 9), any(5, 9), any(16, 40), any(16, 40), any(1, 3), any(1, 3)};
    s.stride_h = s.stride_w = any(1, 2);
    s.top = s.left = s.bottom = s.right = s.kh / 2;
    Three t(s, 2000 + shape);
    const auto exact = t.exactly();
    const auto tiles = t.run(6, shape % 2), adds = t.run(0), fewer = t.run(3);
    for (size_t i = 0; i < 3; ++i) {
      const double of_tiles = mean_square(tiles[i].begin(), exact[i]), of_adds = mean_square(adds[i].begin(), exact[i]);
      EXPECT_LE(of_tiles, of_adds) << "result " << i << " of " << s.n << 'x' << s.h << 'x' << s.w << 'x' << s.c << ", "
                                   << s.kh << 'x' << s.kw << " by " << s.stride_h << ", " << s.oc;
      three += mean_square(fewer[i].begin(), exact[i]);
      size += mean_square(std::vector<float>(exact[i].size()).data(), exact[i]);
    }
  }
  EXPECT_LT(three, 5e-6 * size);
}

// What has no three normal parts is multiplied as elsewhere, also by weights that were laid out before.
TEST_F(AmxConv, EndsOfTheRange) {
  const float tiny = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max();
  const Sizes sizes{"", 1, 6, 7, 32, 33, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1};
  for (float special : {nan, inf, -inf, tiny, 1e-38f, 1e-20f, 1e30f, most})
    for (int side = 0; side < 3; ++side) {
      Three t(sizes, 7);
      Guarded &x = side == 0 ? t.d.src : side == 1 ? t.d.weights : t.d.diff_dst;
      for (int64_t i = 0; i < (special == most ? 1 : 32); ++i) x[32 * 5 + i] = special * (i % 2 ? 1.0f : 0.5f);
      if (side == 1 && !std::isfinite(special)) {
        EXPECT_EQ(blocked_conv(t.d.c, 1, &t.weights, 6), nullptr);
      }
      const double absolute = std::isfinite(special) ? 1e-5 * std::max(1.0f, special) : 1e-5;
      const auto got = t.run(6, side != 1), want = t.run(0);
      for (size_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < got[i].size(); ++j)
          EXPECT_TRUE(near(want[i][j], got[i][j], 1e-4, absolute))
              << special << " of side " << side << ", result " << i << " at " << j;
    }
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
#endif
