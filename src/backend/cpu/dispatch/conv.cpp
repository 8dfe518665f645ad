// Which kernel computes which convolution, by measured thresholds.
#include "backend/cpu/dispatch/conv.hpp"

#include <algorithm>

#include "backend/cpu/dispatch/choose.hpp"
#include "backend/cpu/dispatch/products.hpp"
#include "backend/cpu/dispatch/thresholds.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Kernel;

bool few_channels(const kernels::Conv &c) {
  const Thresholds::Convs &t = thresholds().convs;
  if (c.is_3d() || checked_mul(c.kh, c.kw, c.c) < t.direct_weights) return false;
  for (const auto &most : t.direct)
    if (c.oc <= most.outputs) return c.c <= most.inputs;
  return false;
}

// More padding than input: a kernel that leaves out the taps which meet padding alone is better than one that lays it
// out in memory.
bool padding_dwarfs(const kernels::Conv &c) {
  return c.pad_top > c.h || c.pad_bottom > c.h || c.pad_left > c.w || c.pad_right > c.w;
}

// Counted in multiplications for a pair of channels: those of a direct convolution, and those of the tiles with what it
// costs to transform pixels and weights.
bool winograd_pays(const kernels::Conv &c, bool by_source, bool constant_weights) {
  const int64_t h = by_source ? c.h : c.oh, w = by_source ? c.w : c.ow, channels = by_source ? c.c : c.oc;
  const Thresholds::Convs &t = thresholds().convs;
  if (c.is_3d() || checked_mul(h, w) < t.winograd_pixels) return false;
  auto real = [](int64_t v) { return static_cast<double>(v); };
  const double tiles = real(c.n) * real((h + 1) / 2) * real((w + 1) / 2);
  const double padding = real(round_up(channels, 16)) / real(channels), pixels = 9 / real(c.c) + 9 / real(c.oc);
  if (constant_weights && tiles < t.winograd_waiting && checked_mul(16, c.c, c.oc) > t.winograd_in_cache) return false;
  const double weights = constant_weights ? 0 : by_source ? t.winograd_weights_by_source : t.winograd_weights;
  return 16 * tiles * (padding + pixels) + weights < t.winograd_part * 9.0 * real(c.n) * real(c.oh) * real(c.ow);
}

// Worth reading ahead, and constant, so that they can be packed.
bool many_weights(const kernels::Conv &c, const kernels::Constant *weights) {
  return weights && checked_mul(c.kh, c.kw, c.c, c.oc) >= thresholds().convs.packed_weights;
}

// Windows of one pixel, without steps: a product of the pixels and the weights.
bool is_product(const kernels::Conv &c) {
  if (c.is_3d() || c.is_empty() || c.groups != 1) return false;
  for (int64_t size : {c.kh, c.kw, c.stride_h, c.stride_w})
    if (size != 1) return false;
  for (int64_t pad : {c.pad_top, c.pad_left, c.pad_bottom, c.pad_right})
    if (pad != 0) return false;
  return true;
}

int64_t conv_slices(const Site &site, const kernels::Conv &c) {
  const auto real = [](auto... sizes) { return (1.0 * ... * static_cast<double>(sizes)); };
  const double outputs = real(c.n, c.od, c.oh, c.ow, c.oc);
  const double flops = 2 * outputs * real(c.kd, c.kh, c.kw, c.c / c.groups);
  const double bytes = 4 * (real(c.n, c.d, c.h, c.w, c.c) + outputs);
  return std::max<int64_t>(1, site.cutting.slices(checked_mul(c.n, c.oh), work_microseconds(flops, bytes)));
}

// What there is to choose from.
struct At {
  const kernels::Conv &c;
  int64_t slices;
  const kernels::Constant *weights;  // constant, or nullptr
  DType dtype() const { return c.dtype; }
  bool is_empty() const { return c.d == 0 || c.h == 0 || c.w == 0 || c.c == 0; }  // the bias alone
};

constexpr Candidate<At> forward[] = {
    {"direct_conv", [](const At &at) { return few_channels(at.c) && !padding_dwarfs(at.c); },
     [](const At &at) { return kernels::direct_conv(at.c, at.slices); }},
    {"depthwise_conv", always, [](const At &at) { return kernels::depthwise_conv(at.c, at.slices); }},
    {"winograd_conv", [](const At &at) { return winograd_pays(at.c, false, at.weights); },
     [](const At &at) { return kernels::winograd_conv(at.c, at.slices, at.weights); }},
    {"packed_conv", [](const At &at) { return many_weights(at.c, at.weights) && !padding_dwarfs(at.c); },
     [](const At &at) { return kernels::packed_conv(at.c, at.slices, at.weights); }},
    {"dnnl_conv", [](const At &at) { return !at.is_empty(); },
     [](const At &at) { return kernels::dnnl_conv(at.c, at.slices, at.weights); }},
    {"packed_conv", [](const At &at) { return !padding_dwarfs(at.c); },  // where oneDNN has only plain loops
     [](const At &at) { return kernels::packed_conv(at.c, at.slices, at.weights); }},
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
  if (many_weights(c, weights) && is_product(c)) {
    kernels::Gemm g;
    g.m = checked_mul(c.n, c.oh, c.ow), g.n = c.oc, g.k = c.c;
    g.bias = c.bias, g.epilogue = c.epilogue, g.dtype = c.dtype;
    return product(site, g, product_slices(site, g), weights);
  }
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
