// Chooses convolution kernels by their costs.
#include "backend/cpu/dispatch/conv.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "backend/cpu/dispatch/conv_parts.hpp"
#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/dispatch/products.hpp"
#include "backend/cpu/dispatch/shifted_conv.hpp"
#include "backend/cpu/dispatch/sliced.hpp"
#include "backend/cpu/kernels/conv/bf16_conv.hpp"
#include "backend/cpu/kernels/conv/patches.hpp"
#include "backend/cpu/kernels/conv/planar_conv.hpp"
#include "backend/cpu/kernels/rows/rows.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Kernel;

// Few enough for the sums of a direct convolution to stay in registers, and weights enough for each.
bool few_channels(const kernels::Conv &c, const Machine &m) {
  constexpr int64_t least_weights = 9, outputs = 16;
  if (c.is_3d() || checked_mul(c.kh, c.kw, c.c) < least_weights) return false;
  return c.oc <= outputs ? c.c <= 15 : m.vector >= 16 && c.oc <= 2 * outputs && c.c <= 8;
}

// More padding than input: kernels that skip taps in the padding beat one that materialises it.
bool padding_dwarfs(const kernels::Conv &c) {
  return c.pad_top > c.h || c.pad_bottom > c.h || c.pad_left > c.w || c.pad_right > c.w;
}

// Enough constant weights that packing and prefetching pay off.
bool many_weights(const kernels::Conv &c) { return checked_mul(c.kh, c.kw, c.c, c.oc) >= 1 << 15; }

// One window that covers its whole input, as in a stream's step: a product of images and weights.
bool is_one_window(const kernels::Conv &c) {
  if (c.groups != 1 || c.d != c.kd || c.h != c.kh || c.w != c.kw) return false;
  for (int64_t size : {c.od, c.oh, c.ow})
    if (size != 1) return false;
  for (int64_t pad : {c.pad_front, c.pad_back, c.pad_top, c.pad_left, c.pad_bottom, c.pad_right})
    if (pad != 0) return false;
  return std::max({c.kd > 1 ? c.dil_d : 1, c.kh > 1 ? c.dil_h : 1, c.kw > 1 ? c.dil_w : 1}) == 1;
}

// by_weights: each slice keeps sums as large as the weights. microseconds: what the convolution takes at least.
int64_t conv_slices(const Site &site, const kernels::Conv &c, bool by_weights = false, double microseconds = 0) {
  const double outputs = real(c.n, c.od, c.oh, c.ow, c.oc);
  const double flops = 2 * outputs * real(c.kd, c.kh, c.kw, c.c / c.groups);
  const double bytes = 4 * (real(c.n, c.d, c.h, c.w, c.c) + outputs);
  const int64_t parts = checked_mul(c.n, c.oh);
  const double us = std::max(microseconds, work_microseconds(flops, bytes));
  return std::max<int64_t>(1, by_weights ? site.cutting.slices(parts, us) : site.cutting.short_slices(parts, us));
}

// Images large enough that most tiles are whole. If transformed constant weights come from memory, there must also be
// enough tiles to hide that.
bool fits_winograd(const ConvAt &at, bool by_source) {
  constexpr int64_t pixels = 16, in_cache = 1 << 21;
  constexpr double waiting = 32;
  const kernels::Conv &c = at.c;
  if (!kernels::is_for_winograd(c) || c.is_3d()) return false;
  const int64_t h = by_source ? c.h : c.oh, w = by_source ? c.w : c.ow;
  return checked_mul(h, w) >= pixels &&
         (!at.weights || checked_mul(16, c.c, c.oc) <= in_cache || real(c.n, (h + 1) / 2, (w + 1) / 2) >= waiting);
}

// Few destination channels of a group: others fill vectors without planes.
bool fits_planes(const ConvAt &at, bool by_source) {
  constexpr int64_t most_channels = 48;
  const int64_t channels = (by_source ? at.c.c : at.c.oc) / at.c.groups;
  return channels <= most_channels && kernels::planes_of(at.c, by_source, false, at.slices);
}

// Cost by tiles: six products, or three, at 16 times the speed, plus packing the parts of each number, which all rows
// or columns of the other side share. Computed, not measured (tile_products()).
double by_tiles(const ConvAt &at, double laying) {
  constexpr double to_lay = 24;  // multiply-adds per number, for its patch and parts
  const kernels::Conv &c = at.c;
  const double products = real(c.n, c.kd, c.kh, c.kw, c.od, c.oh, c.ow) * real(c.c / c.groups, c.oc);
  return at.microseconds(products / at.machine.peak() * (at.tiles / 16.0 + to_lay * laying));
}
double one_of(int64_t n) { return 1 / static_cast<double>(n); }

// Integers are requested and faster. int4 would cost too much accuracy for the bytes of a filter.
bool takes_integers(const ConvAt &at) {
  if (at.in != kernels::WeightType::int8 && at.in != kernels::WeightType::int4) return false;
  return at.weights && at.weights->forms && kernels::is_for_narrow(at.c) &&
         narrowed(kernels::WeightType::int8, checked_mul(at.c.n, at.c.oh, at.c.ow), at.c.oc,
                  checked_mul(at.c.kh, at.c.kw, at.c.c), at.machine) == kernels::WeightType::int8;
}
// By the best kernels of float32.
double narrow_cost(const ConvAt &at) {
  static const double part = kernels::multiplies_bytes() ? 0.35 : 0.7;
  return part * cost<packed_conv_cycles>(at);
}

bool has_tiles(const ConvAt &at) { return at.tiles > 0 && !takes_integers(at); }

constexpr Candidate<ConvAt> own_forward[] = {
    {"int8_conv", takes_integers, narrow_cost,
     [](const ConvAt &at) { return kernels::narrow_conv(at.c, at.slices, *at.weights); }},
    {"direct_conv",
     [](const ConvAt &at) { return at.c.groups == 1 && few_channels(at.c, at.machine) && !padding_dwarfs(at.c); },
     cost<direct_conv_cycles>, [](const ConvAt &at) { return kernels::direct_conv(at.c, at.slices); }},
    {"depthwise_conv", [](const ConvAt &at) { return kernels::is_for_depthwise(at.c); }, cost<depthwise_conv_cycles>,
     [](const ConvAt &at) { return kernels::depthwise_conv(at.c, at.slices); }},
    {"winograd_conv", [](const ConvAt &at) { return fits_winograd(at, false); },
     [](const ConvAt &at) { return at.microseconds(winograd_conv_cycles(at.c, at.weights, false, at.machine)); },
     [](const ConvAt &at) { return kernels::winograd_conv(at.c, at.slices, at.weights); }},
    {"packed_conv",
     [](const ConvAt &at) { return at.weights && at.c.groups == 1 && !at.c.is_3d() && !padding_dwarfs(at.c); },
     cost<packed_conv_cycles>, [](const ConvAt &at) { return kernels::packed_conv(at.c, at.slices, at.weights); }},
    {"planar_conv", [](const ConvAt &at) { return fits_planes(at, false); },
     [](const ConvAt &at) { return at.microseconds(planar_conv_cycles(at.c, false, at.machine)); },
     [](const ConvAt &at) { return kernels::planar_conv(at.c, at.slices); }},
    {"shifted_conv", [](const ConvAt &at) { return fits_shifted(at, false); },
     [](const ConvAt &at) { return shifted_cost(at, false); },
     [](const ConvAt &at) { return shifted_conv(at, false); }},
    {"channels_conv", [](const ConvAt &at) { return kernels::is_by_channels(at.c); }, cost<channels_conv_cycles>,
     [](const ConvAt &at) { return kernels::channels_conv(at.c, at.slices); }},
    {"blocked_conv", always, cost<blocked_conv_cycles>,
     [](const ConvAt &at) { return kernels::blocked_conv(at.c, at.slices, at.weights); }},
    {"amx_conv", has_tiles, [](const ConvAt &at) { return by_tiles(at, one_of(at.c.oc / at.c.groups)); },
     [](const ConvAt &at) { return kernels::blocked_conv(at.c, at.slices, at.weights, at.tiles); }},
    {"reference_conv", always, Candidate<ConvAt>::last_resort,
     [](const ConvAt &at) { return kernels::reference_conv(at.c, at.slices); }},
};

std::span<const Candidate<ConvAt>> forward() {
  static const auto all = with_libraries<ConvAt>(own_forward, &Library::conv);
  return all;
}

// Whether the depthwise or direct kernels apply to the flipped convolution. They beat products even with more inputs
// than pay off forward, since the products' vectors would be mostly empty.
bool is_for_turning(const ConvAt &at) {
  const auto t = kernels::turned(at.c);
  if (!t || padding_dwarfs(*t)) return false;
  return kernels::is_for_depthwise(*t) || (t->groups == 1 && t->oc <= 16);
}

constexpr Candidate<ConvAt> own_by_source[] = {
    {"winograd_conv_data", [](const ConvAt &at) { return fits_winograd(at, true); },
     [](const ConvAt &at) { return at.microseconds(winograd_conv_cycles(at.c, at.weights, true, at.machine)); },
     [](const ConvAt &at) { return kernels::winograd_conv_data(at.c, at.slices, at.weights); }},
    {"turned_conv_data", is_for_turning,
     [](const ConvAt &at) { return at.microseconds(turned_conv_data_cycles(*kernels::turned(at.c), at.machine)); },
     [](const ConvAt &at) { return kernels::turned_conv_data(at.c, at.slices); }},
    {"planar_conv_data", [](const ConvAt &at) { return fits_planes(at, true); },
     [](const ConvAt &at) { return at.microseconds(planar_conv_cycles(at.c, true, at.machine)); },
     [](const ConvAt &at) { return kernels::planar_conv_data(at.c, at.slices); }},
    {"shifted_conv_data", [](const ConvAt &at) { return fits_shifted(at, true); },
     [](const ConvAt &at) { return shifted_cost(at, true); }, [](const ConvAt &at) { return shifted_conv(at, true); }},
    {"channels_conv_data", [](const ConvAt &at) { return kernels::is_by_channels(at.c); },
     cost<channels_conv_data_cycles>, [](const ConvAt &at) { return kernels::channels_conv_data(at.c, at.slices); }},
    {"blocked_conv_data", always, cost<blocked_conv_data_cycles>,
     [](const ConvAt &at) { return kernels::blocked_conv_data(at.c, at.slices, at.weights); }},
    {"amx_conv_data", has_tiles, [](const ConvAt &at) { return by_tiles(at, one_of(at.c.c / at.c.groups)); },
     [](const ConvAt &at) { return kernels::blocked_conv_data(at.c, at.slices, at.weights, at.tiles); }},
    {"reference_conv_data", always, Candidate<ConvAt>::last_resort,
     [](const ConvAt &at) { return kernels::reference_conv_data(at.c, at.slices); }},
};

std::span<const Candidate<ConvAt>> by_source() {
  static const auto all = with_libraries<ConvAt>(own_by_source, &Library::conv_data);
  return all;
}

constexpr Candidate<ConvAt> own_by_weights[] = {
    {"direct_conv_weights",
     [](const ConvAt &at) { return at.c.groups == 1 && !at.c.is_3d() && at.c.c <= 16 && !padding_dwarfs(at.c); },
     cost<direct_conv_weights_cycles>, [](const ConvAt &at) { return kernels::direct_conv_weights(at.c, at.slices); }},
    {"channels_conv_weights", [](const ConvAt &at) { return kernels::is_by_channels(at.c); },
     cost<channels_conv_weights_cycles>,
     [](const ConvAt &at) { return kernels::channels_conv_weights(at.c, at.slices); }},
    {"blocked_conv_weights", always, cost<blocked_conv_weights_cycles>,
     [](const ConvAt &at) { return kernels::blocked_conv_weights(at.c, at.slices); }},
    {"amx_conv_weights", has_tiles,
     [](const ConvAt &at) {
       return by_tiles(at, one_of(at.c.oc / at.c.groups) + one_of(kernels::window_floats(at.c)));
     },
     [](const ConvAt &at) { return kernels::blocked_conv_weights(at.c, at.slices, at.tiles); }},
    {"reference_conv_weights", always, Candidate<ConvAt>::last_resort,
     [](const ConvAt &at) { return kernels::reference_conv_weights(at.c, at.slices); }},
};

std::span<const Candidate<ConvAt>> by_weights() {
  static const auto all = with_libraries<ConvAt>(own_by_weights, &Library::conv_weights);
  return all;
}

// Windows along one axis over all channels, as rows of a product: they overlap in memory.
kernels::Gemm rows_of_windows(const kernels::Conv &c) {
  kernels::Gemm g;
  g.batch = c.n, g.m = c.ow, g.k = checked_mul(c.kw, c.c), g.n = c.oc;
  g.lda = checked_mul(c.stride_w, c.c), g.stride_a = checked_mul(c.w, c.c), g.stride_c = checked_mul(c.ow, c.oc);
  if (c.ow == 1) g.m = c.n, g.lda = g.stride_a, g.batch = 1;
  g.bias = c.bias, g.epilogue = c.epilogue, g.dtype = c.dtype;
  return g;
}

// Gathers the taps of all windows along one axis, all of them inside. floats: per tap, if known at compile time.
template <int64_t floats = 0>
void put_taps(const kernels::Conv &c, const float *src, float *to) noexcept {
  const int64_t n = floats ? floats : c.c;
  for (int64_t item = 0; item < c.n; ++item, src += c.w * c.c)
    for (int64_t x = 0; x < c.ow; ++x) {
      const float *from = src + x * c.stride_w * c.c;
      for (int64_t k = 0; k < c.kw; ++k, from += c.dil_w * c.c, to += n)
        if constexpr (floats > 0)
          std::memcpy(to, from, floats * sizeof(float));
        else
          kernels::put(from, n, to);
    }
}

// The same with dilated windows, whose taps are gathered first.
class Patches final : public Kernel {
 public:
  // at: bytes of scratch that belong to the product.
  Patches(const kernels::Conv &c, const kernels::Gemm &g, std::shared_ptr<const Kernel> rows, int64_t at)
      : Kernel("patches_conv", 1, checked_add(at, checked_mul(g.m, g.k, 4))),
        c_(c),
        g_(g),
        rows_(std::move(rows)),
        at_(at) {}
  std::unique_ptr<kernels::Bound> bind() const override { return rows_->bind(); }
  void run(int64_t, const kernels::Run &r) const noexcept override {
    auto *patches = reinterpret_cast<float *>(static_cast<std::byte *>(r.scratch) + at_);
    const auto put = c_.c == 1    ? put_taps<1>
                     : c_.c == 2  ? put_taps<2>
                     : c_.c == 3  ? put_taps<3>
                     : c_.c == 4  ? put_taps<4>
                     : c_.c == 8  ? put_taps<8>
                     : c_.c == 16 ? put_taps<16>
                                  : put_taps<>;
    put(c_, r.in<float>(0), patches);
    void *args[4] = {patches, r.args[1], r.args[2], g_.bias ? r.args[3] : nullptr};
    rows_->run(0, {args, r.sources, r.scratch, r.bound, r.report});
  }

 private:
  kernels::Conv c_;
  kernels::Gemm g_;
  std::shared_ptr<const Kernel> rows_;
  int64_t at_;
};
// The kernel of windows as rows of a product, with the description for joining it with its neighbours.
std::unique_ptr<Kernel> with_windows(std::unique_ptr<Kernel> kernel, const kernels::Conv &c,
                                     const kernels::RowStep *product) {
  const auto rows = std::exchange(kernel->rows, nullptr);
  if (!product) product = rows.get();
  const bool steps_on = c.ow > 1 && c.stride_w > 1;
  if (!product || c.ow == 1 || steps_on || c.pad_right != 0 || !kernels::are_row_channels(c.c)) return kernel;
  kernels::RowStep s = *product;
  s.items = c.n, s.rows = c.ow, s.in = c.c, s.taps = c.kw, s.dilation = c.dil_w;
  kernel->rows = std::make_shared<const kernels::RowStep>(std::move(s));
  return kernel;
}

std::unique_ptr<Kernel> patches_by_row(const Site &site, const kernels::Conv &c, const kernels::Constant &weights) {
  kernels::Gemm g = rows_of_windows(c);
  g.m = checked_mul(c.n, c.ow), g.lda = g.k, g.batch = 1;
  std::shared_ptr<const Kernel> rows = product(site, g, 1, &weights);
  const int64_t at = round_up(rows->scratch, 64);
  const kernels::RowStep *row_step = rows->rows.get();
  return with_windows(std::make_unique<Patches>(c, g, rows, at), c, row_step);
}

// Windows along one axis without padding.
bool is_by_row(const kernels::Conv &c) {
  for (int64_t pad : {c.pad_top, c.pad_left, c.pad_bottom})
    if (pad != 0) return false;
  return !c.is_3d() && c.h == 1 && c.kh == 1 && (c.groups == 1 || kernels::is_by_channels(c));
}

// Each window has the same bits as computed alone.
std::unique_ptr<Kernel> conv_by_row(const Site &site, const kernels::Conv &c, const kernels::Constant *weights) {
  if (c.groups != 1) return kernels::channels_conv(c, conv_slices(site, c));
  if (!weights) return kernels::reference_conv(c, conv_slices(site, c));
  if (c.kw > 1 && c.dil_w > 1) return patches_by_row(site, c, *weights);
  const kernels::Gemm g = rows_of_windows(c);
  return with_windows(product(site, g, product_slices(site, g), weights), c, nullptr);
}

// Whether rounded operands are multiplied by blocks, decided by the shape only. Few channels on either side leave most
// of a product's vectors empty.
bool multiplies_rounded(const Site &site, const kernels::Conv &c, const char *kernel, int64_t least_channels = 8) {
  return c.bfloat16 && c.groups == 1 && c.oc >= 16 && c.c >= least_channels && site.allows(kernel);
}
// Whether pixels are rounded too, for bfloat16 weights: where products of rounded numbers are faster.
bool rounds_pixels(const Site &site, const ConvAt &at) {
  constexpr int64_t least_taps = 64;
  const kernels::Conv &c = at.c;
  return at.in == kernels::WeightType::bfloat16 && at.weights && at.weights->forms && !c.is_3d() && c.groups == 1 &&
         c.oc >= 32 && checked_mul(c.kh, c.kw, c.c) >= least_taps && !site.cutting.portable && !site.cutting.by_row &&
         site.allows("bf16_conv") && cpu::has_bfloat16_products();
}
// Reads pixels in place, or gathers patches.
std::unique_ptr<Kernel> conv_of_rounded(const kernels::Conv &c, int64_t slices, const kernels::Constant *weights) {
  auto kernel = kernels::bf16_conv(c, slices, weights);
  return kernel ? std::move(kernel) : kernels::blocked_conv(c, slices, weights);
}
// Number of part products for the product that the convolution of a group is: pixels by windows by filters. Its
// gradients have the same size.
int tiles_for(const Site &site, const char *kernel, const kernels::Conv &c) {
  return tile_products(site, kernel, checked_mul(c.n, c.od, c.oh, c.ow), c.oc / c.groups, kernels::window_floats(c));
}
// tiles: name of the kernel that may use them.
ConvAt conv_at(const Site &site, const kernels::Conv &c, const kernels::Constant *weights, const char *tiles,
               bool by_weights = false) {
  ConvAt at{site, c, conv_slices(site, c, by_weights), weights, machine(site.cutting)};
  at.tiles = tiles_for(site, tiles, c);
  return at;
}
// What the cheapest candidate is estimated to take; 0 if there is none.
double least_microseconds(std::span<const Candidate<ConvAt>> list, const ConvAt &at) {
  const auto found = prices<ConvAt>(list, at);
  return found.empty() || !std::isfinite(found[0].microseconds) ? 0 : found[0].microseconds;
}
// The best kernel, cut by that estimate `us`: multiply-adds alone don't say what few channels take.
std::unique_ptr<Kernel> cut(std::span<const Candidate<ConvAt>> list, ConvAt at, double us, bool by_source) {
  const Cutting &cutting = at.site.cutting;
  if (const int64_t places = places_of_parts(at.c, by_source); places > 1 && at.weights && !cutting.portable) {
    const int64_t wanted = cutting.short_slices(checked_mul(at.c.n, places), us);
    const int64_t pieces = std::min(places, kernels::even_pieces(at.c.n, wanted));
    if (pieces > 1) return conv_by_parts(at.site, at.c, *at.weights, by_source, pieces);
  }
  at.slices = conv_slices(at.site, at.c, false, us);
  return choose<ConvAt>(at.site, list, at);
}
kernels::Conv in_float32(kernels::Conv c) {
  c.bfloat16 = false;
  return c;
}

}  // namespace

std::unique_ptr<Kernel> conv(const Site &site, const kernels::Conv &c, const kernels::Constant *weights) {
  if (c.is_empty()) return kernels::reference_conv(c, conv_slices(site, c));
  if (multiplies_rounded(site, c, "bf16_conv", 4))
    if (auto kernel = conv_of_rounded(c, conv_slices(site, c), nullptr)) return kernel;
  if (c.bfloat16) return with_rounded(site, conv(site, in_float32(c), nullptr));
  if (site.cutting.by_row && is_by_row(c)) return conv_by_row(site, c, weights);
  if (is_one_window(c)) {
    kernels::Gemm g = product_of_group(c, c.n);
    g.k = g.lda = checked_mul(c.kd, c.kh, c.kw, c.c);
    return product(site, g, product_slices(site, g), weights);
  }
  ConvAt at = conv_at(site, c, weights, "amx_conv");
  at.in = site.weights;
  const double us = least_microseconds(forward(), at);
  if (kernels::is_one_tap(c) && c.dtype == DType::f32) {
    const kernels::Gemm g = product_of_group(c, checked_mul(c.n, c.od, c.oh, c.ow));
    const double by_product = real(c.groups) * product_prices(g, weights && c.groups == 1, at.machine)[0].microseconds;
    if (c.groups > 1 && by_product < us) return conv_by_groups(site, c, site.cutting.short_slices(g.m, by_product));
    const int64_t dots = columns_by_dots(g, at.machine);
    const bool packs = weights && (many_weights(c) || (dots > 0 && dots < g.n));
    if (c.groups == 1 && (packs || by_product < us)) return product(site, g, product_slices(site, g), weights);
  }
  if (rounds_pixels(site, at)) {
    kernels::Conv rounded = c;
    rounded.bfloat16 = true;
    return conv_of_rounded(rounded, at.slices, weights);
  }
  return cut(forward(), at, us, false);
}

std::unique_ptr<Kernel> conv_data(const Site &site, const kernels::Conv &c, const kernels::Constant *weights) {
  if (c.is_empty()) return kernels::reference_conv_data(c, conv_slices(site, c));
  if (multiplies_rounded(site, c, "bf16_conv_data"))
    if (auto kernel = kernels::blocked_conv_data(c, conv_slices(site, c), nullptr)) return kernel;
  if (c.bfloat16) return with_rounded(site, conv_data(site, in_float32(c), nullptr));
  const bool many_channels = c.groups == 1 && c.c >= 16;  // planes are faster for few
  if (is_one_window(c) || (kernels::is_one_tap(c) && many_channels)) {
    const kernels::Gemm g = product_of(c, true);
    return product(site, g, product_slices(site, g), weights);
  }
  const ConvAt at = conv_at(site, c, weights, "amx_conv_data");
  return cut(by_source(), at, least_microseconds(by_source(), at), true);
}

std::unique_ptr<Kernel> conv_weights(const Site &site, const kernels::Conv &c) {
  if (c.is_empty()) return kernels::reference_conv_weights(c, conv_slices(site, c, true));
  if (multiplies_rounded(site, c, "bf16_conv_weights"))
    if (auto kernel = kernels::blocked_conv_weights(c, conv_slices(site, c, true))) return kernel;
  if (c.bfloat16) return with_rounded(site, conv_weights(site, in_float32(c)));
  return choose<ConvAt>(site, by_weights(), conv_at(site, c, nullptr, "amx_conv_weights", true));
}

std::vector<Price> conv_prices(const kernels::Conv &c, bool constant, const Machine &machine) {
  const kernels::Constant weights{nullptr};
  const Site any;
  ConvAt at{any, c, 1, constant ? &weights : nullptr, machine};
  at.tiles = tiles_for(any, "amx_conv", c);
  return prices<ConvAt>(forward(), at);
}

std::vector<std::string> conv_switches() {
  std::vector<std::string> all;
  for (const auto &list : {switches<ConvAt>(forward()), switches<ConvAt>(by_source()), switches<ConvAt>(by_weights())})
    all.insert(all.end(), list.begin(), list.end());
  for (const char *name : {"bf16_conv", "bf16_conv_data", "bf16_conv_weights"}) all.emplace_back(name);
  return all;
}

}  // namespace dl4::dispatch
