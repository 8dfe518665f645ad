// Which kernel computes which convolution, by measured thresholds.
#include "dispatch/conv.hpp"

#include <algorithm>

#include "base/cpu.hpp"
#include "dispatch/choose.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Kernel;

// Measured on one core of an AVX-512 EPYC, best of many runs, microseconds of ours / oneDNN 2.6.3 for n h x w c,
// window, oc:
//   direct    4 32x32 3, 3x3, 8         21 /   37     32 14x14 6, 5x5, 16    133 /  160
//             32 28x28 1, 5x5, 6       151 /  266      8 32x32 16, 3x3, 16   336 /  332
//             8 32x32 3, 1x1, 16      16.4 / 12.4
// and on one of a Xeon of Sapphire Rapids:
//             32 84x84 4, 8x8 by 4, 32  1763 / 2203      1 84x84 4, 8x8 by 4, 32    50.5 / 52.5
//             8 32x32 3, 3x3, 32        121 /  143     8 32x32 8, 3x3, 32          319 /  398
//             8 28x28 1, 5x5, 32         91 /  120     8 32x32 12, 3x3, 24         557 /  545
bool few_channels(const kernels::Conv &c) {
  if (c.is_3d()) return false;
  const int64_t most = cpu::type() == cpu::Type::intel_avx512 ? 32 : 16;
  return (c.oc <= 16 ? c.c < 16 : c.oc <= most && c.c <= 8) && checked_mul(c.kh, c.kw, c.c) >= 9;
}

// More padding than input: a kernel that leaves out the taps which meet padding alone is better than one that lays it
// out in memory.
bool padding_dwarfs(const kernels::Conv &c) {
  return c.pad_top > c.h || c.pad_bottom > c.h || c.pad_left > c.w || c.pad_right > c.w;
}

// Counted in multiplications for a pair of channels: those of a direct convolution, and those of the tiles with what it
// costs to transform pixels and weights. Fits what was measured on one core of an AVX-512 EPYC (ours / oneDNN 2.6.3,
// microseconds; n, size, channels; weights that are no constant, transformed anew):
//   forward          1 56x56 64>64    1055 / 1966     32 9x9 64>64, valid    740 / 1016     1 4x4 64>64     16 / 10
//                    1 14x14 256>256  1129 / 1938     8 16x16 16>64          228 /  316     1 7x7 512>512 2888 / 3285
//                    32 7x7 512>512  50059 / 57180    32 32x32 16>16        1238 / 1329     8 16x16 3>32    64 / 41
//   by the source    1 56x56 64>64    1075 / 1966     32 9x9 64>64, valid   1191 / 1035     1 4x4 64>64     24 / 14
//                    1 14x14 256>256  1595 / 2003     4 7x7 512>512        11285 / 9185     8 16x16 32>8    88 / 76
bool winograd_pays(const kernels::Conv &c, bool by_source, bool constant_weights) {
  const int64_t h = by_source ? c.h : c.oh, w = by_source ? c.w : c.ow, channels = by_source ? c.c : c.oc;
  if (c.is_3d() || checked_mul(h, w) < 16) return false;
  auto real = [](int64_t v) { return static_cast<double>(v); };
  const double tiles = real(c.n) * real((h + 1) / 2) * real((w + 1) / 2);
  const double padding = real(round_up(channels, 16)) / real(channels), pixels = 9 / real(c.c) + 9 / real(c.oc);
  const double weights = constant_weights ? 0 : by_source ? 800 : 400;
  return 16 * tiles * (padding + pixels) + weights < 0.95 * 9 * real(c.n) * real(c.oh) * real(c.ow);
}

int64_t conv_slices(const Site &site, const kernels::Conv &c) {
  double positions =
      static_cast<double>(c.n) * static_cast<double>(checked_mul(c.od, c.oh)) * static_cast<double>(c.ow);
  double each = 2 * static_cast<double>(checked_mul(c.kd, c.kh, c.kw)) * static_cast<double>(c.c / c.groups) *
                static_cast<double>(c.oc);
  return std::max<int64_t>(1, site.cutting.slices(checked_mul(c.n, c.oh), positions * each / 60e3));
}

// What there is to choose from.
struct At {
  const kernels::Conv &c;
  int64_t slices;
  const kernels::Constant *weights;                                               // constant, or nullptr
  bool is_empty() const { return c.d == 0 || c.h == 0 || c.w == 0 || c.c == 0; }  // the bias alone
};

constexpr Candidate<At> forward[] = {
    {"direct_conv", [](const At &at) { return few_channels(at.c) && !padding_dwarfs(at.c); },
     [](const At &at) { return kernels::direct_conv(at.c, at.slices); }},
    {"winograd_conv", [](const At &at) { return winograd_pays(at.c, false, at.weights); },
     [](const At &at) { return kernels::winograd_conv(at.c, at.slices, at.weights); }},
    {"dnnl_conv", [](const At &at) { return !at.is_empty(); },
     [](const At &at) { return kernels::dnnl_conv(at.c, at.slices, at.weights); }},
    {"reference_conv", always, [](const At &at) { return kernels::reference_conv(at.c, at.slices); }},
};

constexpr Candidate<At> by_source[] = {
    {"winograd_conv_data", [](const At &at) { return winograd_pays(at.c, true, at.weights); },
     [](const At &at) { return kernels::winograd_conv_data(at.c, at.slices, at.weights); }},
    {"dnnl_conv_data", always, [](const At &at) { return kernels::dnnl_conv_data(at.c, at.slices, at.weights); }},
    {"reference_conv_data", always, [](const At &at) { return kernels::reference_conv_data(at.c, at.slices); }},
};

constexpr Candidate<At> by_weights[] = {
    {"dnnl_conv_weights", [](const At &at) { return !at.is_empty() && at.c.n > 0; },
     [](const At &at) { return kernels::dnnl_conv_weights(at.c, at.slices); }},
    {"reference_conv_weights", always, [](const At &at) { return kernels::reference_conv_weights(at.c, at.slices); }},
};

}  // namespace

std::unique_ptr<Kernel> conv(const Site &site, const kernels::Conv &c, const kernels::Constant *weights) {
  return choose<At>(site, forward, {c, conv_slices(site, c), weights});
}

std::unique_ptr<Kernel> conv_data(const Site &site, const kernels::Conv &c, const kernels::Constant *weights) {
  return choose<At>(site, by_source, {c, conv_slices(site, c), weights});
}

std::unique_ptr<Kernel> conv_weights(const Site &site, const kernels::Conv &c) {
  return choose<At>(site, by_weights, {c, conv_slices(site, c), nullptr});
}

std::vector<std::string> conv_switches() {
  std::vector<std::string> all;
  for (const auto &list : {switches<At>(forward), switches<At>(by_source), switches<At>(by_weights)})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace dl4::dispatch
