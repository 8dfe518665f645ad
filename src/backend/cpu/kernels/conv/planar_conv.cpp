// Convolutions of few destination channels, forward and by the source, by instruction set: lanes along the pixels. Each
// channel of an image is copied to padded planes, one for each phase of the strides, in which every tap of all pixels
// is one shifted run. So the geometry is a list of offsets, and vectors are full however few the channels are.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "backend/cpu/kernels/conv/planar_conv.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"
#include "base/checked.hpp"

#ifndef DL4_KERNELS_PLANE_SUMS
#define DL4_KERNELS_PLANE_SUMS
namespace dl4::kernels {
namespace {
// A tap: offsets of its run in the planes and of its weight.
struct PlaneTap {
  int64_t plane, weight;
};
// dst[f][i] = first[f] + sum over channels and taps of src[channel][tap + i] weights[channel][tap][f]; first ==
// nullptr: dst itself. Steps and offsets in floats.
struct PlaneSums {
  const float *src;
  int64_t channels, src_channel;
  const PlaneTap *taps;
  int64_t count;
  const float *weights;
  int64_t weight_channel, weight_filter;
  const float *first;  // [filters]
  float *dst;
  int64_t dst_filter, filters, pixels;
  bool relu;
};
}  // namespace
}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/conv/planar_conv.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/gemm/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

// Vectors of pixels for F filters: the sums, one vector of each run and a weight are in registers.
template <int F>
inline constexpr int strip_vectors = HWY_MIN(8, HWY_MAX(1, (registers - 2) / (F + 1)));

template <int F, int P>
HWY_NOINLINE void strip(const PlaneSums &s, int64_t filter, int64_t pixel) {
  V sum[F][P];
  float *const dst = s.dst + filter * s.dst_filter + pixel;
  DL4_UNROLL
  for (int f = 0; f < F; ++f) DL4_UNROLL
  for (int p = 0; p < P; ++p) sum[f][p] = s.first ? set(s.first[filter + f]) : load(dst + f * s.dst_filter + p * lanes);
  const float *src = s.src + pixel, *weights = s.weights + filter * s.weight_filter;
  for (int64_t c = 0; c < s.channels; ++c, src += s.src_channel, weights += s.weight_channel)
    for (int64_t t = 0; t < s.count; ++t) {
      const float *x = src + s.taps[t].plane, *w = weights + s.taps[t].weight;
      V v[P];
      DL4_UNROLL
      for (int p = 0; p < P; ++p) v[p] = load(x + p * lanes);
      DL4_UNROLL
      for (int f = 0; f < F; ++f) {
        const V weight = set(w[f * s.weight_filter]);
        DL4_UNROLL
        for (int p = 0; p < P; ++p) sum[f][p] = hn::MulAdd(v[p], weight, sum[f][p]);
      }
    }
  DL4_UNROLL
  for (int f = 0; f < F; ++f) DL4_UNROLL
  for (int p = 0; p < P; ++p) store(s.relu ? relu_of(D(), sum[f][p]) : sum[f][p], dst + f * s.dst_filter + p * lanes);
}

template <int F>
void strips(const PlaneSums &s, int64_t filter) {
  constexpr int P = strip_vectors<F>, half = (P + 1) / 2;
  int64_t pixel = 0;
  for (; pixel + half * lanes < s.pixels; pixel += P * lanes) strip<F, P>(s, filter, pixel);
  if (pixel < s.pixels) strip<F, half>(s, filter, pixel);
}

inline constexpr int64_t most_filters = 8;

template <int F = most_filters>
void of_filters(const PlaneSums &s, int64_t filter, int64_t filters) {
  if constexpr (F > 1)
    if (filters < F) return of_filters<F - 1>(s, filter, filters);
  strips<F>(s, filter);
}

}  // namespace

// Writes whole strips: up to a strip past the pixels, and reads as many past each run.
void plane_sums(const PlaneSums &s) {
  const int64_t blocks = (s.filters + most_filters - 1) / most_filters;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t begin = s.filters * b / blocks, end = s.filters * (b + 1) / blocks;
    of_filters(s, begin, end - begin);
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
namespace {

HWY_EXPORT(plane_sums);

constexpr int64_t slack = 8 * 16;          // floats of a strip, of any instruction set
constexpr int64_t most_src = 8 << 10;      // floats of planes in the first cache
constexpr int64_t most_filled = 64 << 10;  // floats of planes in the second cache
constexpr int64_t least_filled = 16;       // channels that are copied to planes at a time
constexpr int64_t most_dst = 64 << 10;     // floats of sums
constexpr int64_t least_products = 16;     // of a sum before it goes to memory
constexpr int64_t least_extent = 64;       // places of an axis that may be mostly padding

template <class T>
int64_t size(const std::vector<T> &v) {
  return static_cast<int64_t>(v.size());
}

// Forward, tap k of a window is in phase k * dilation % stride of the source; by the source, it adds to that phase of
// the destination. The count is of all bands.
PlanarAxis planar_axis(bool by_source, int64_t n, int64_t taps, int64_t out, int64_t stride, int64_t dilation,
                       int64_t pad) {
  PlanarAxis a;
  const int64_t furthest = checked_mul(taps - 1, dilation) / stride;
  const int64_t period = stride / std::gcd(stride, dilation);  // of the taps' phases
  for (int64_t k = 0; k < taps; ++k) {
    const int64_t at = k * dilation, phase = at % stride;
    a.taps.push_back(by_source ? PlanarAxis::Tap{0, furthest - at / stride, phase}
                               : PlanarAxis::Tap{k % period, at / stride, 0});
    if (!by_source && k < period) a.phases.push_back(phase - pad);
  }
  if (by_source) {
    const int64_t first = pad / stride;
    a.src = out, a.dst = n, a.dst_step = stride, a.dst_first = first * stride - pad;
    a.count = (n - 1 + pad) / stride - first + 1;
    a.phases.push_back(first - furthest);
  } else {
    a.src = n, a.dst = out, a.src_step = stride, a.count = out;
  }
  a.extent = checked_add(a.count, furthest);
  return a;
}

// Cuts into bands: at least `wanted`, and so many that planes fit the cache.
void cut_into(Planes &p, int64_t wanted) {
  p.cut = p.axes[0].count > 1 ? 0 : p.axes[1].count > 1 ? 1 : 2;
  PlanarAxis &a = p.axes[p.cut];
  const int64_t count = a.count, further = a.extent - count;
  const auto fit = [&] {
    const int64_t planes = checked_mul(p.plane(), p.src_phases);
    return (p.products ? checked_mul(planes, p.src_channels) <= most_filled : planes <= most_src) &&
           checked_mul(p.pixels(), p.dst_phases, p.dst_channels) <= most_dst;
  };
  for (p.bands = std::clamp<int64_t>(wanted, 1, count);; p.bands = std::min(count, 2 * p.bands)) {
    a.count = (count + p.bands - 1) / p.bands, a.extent = a.count + further;
    if (p.bands == count || fit()) break;
  }
  p.bands = (count + a.count - 1) / a.count;
}

// The places i of [0, count) for which first + i * step is in [0, n): [begin, end).
std::pair<int64_t, int64_t> inside(int64_t first, int64_t step, int64_t count, int64_t n) {
  const int64_t begin = first < 0 ? std::min(count, (step - 1 - first) / step) : 0;
  return {begin, first < n ? std::clamp((n - 1 - first) / step + 1, begin, count) : begin};
}

class PlanarConv final : public Kernel {
 public:
  PlanarConv(const char *name, const Conv &c, bool by_source, const Planes &p, const PlanarRoom &room, int64_t slices)
      : Kernel(name, slices, checked_mul(slices, room.end, 4)),
        c_(c),
        by_source_(by_source),
        p_(p),
        room_(room),
        taps_(static_cast<size_t>(p.dst_phases)) {
    const auto &[d, h, w] = p.axes;
    const int64_t products = p.products ? p.dst_channels * p.src_phases * p.plane() : 0;  // planes of a tap
    int64_t tap = 0;
    for (const PlanarAxis::Tap &z : d.taps)
      for (const PlanarAxis::Tap &y : h.taps)
        for (const PlanarAxis::Tap &x : w.taps) {
          const int64_t src = (z.src_phase * size(h.phases) + y.src_phase) * size(w.phases) + x.src_phase;
          const int64_t dst = (z.dst_phase * h.dst_step + y.dst_phase) * w.dst_step + x.dst_phase;
          const int64_t shift = (z.shift * h.extent + y.shift) * w.extent + x.shift;
          taps_[static_cast<size_t>(dst)].push_back(
              {tap * products + src * p.plane() + shift, p.products ? 0 : tap * (c.c / c.groups) * c.oc});
          ++tap;
        }
    for (const PlanarAxis &a : p.axes) {
      const int64_t all = (&a == &p.axes[p.cut] ? p.bands - 1 : 0) * a.count + a.extent;
      for (int64_t first : a.phases) padded_ |= inside(first, a.src_step, all, a.src) != std::pair(int64_t{0}, all);
    }
  }

  void run(int64_t slice, const Run &r) const noexcept override {
    float *const planes = static_cast<float *>(r.scratch) + slice * room_.end;
    const int64_t filled = room_.groups * room_.channels * p_.src_phases * p_.plane();
    std::fill_n(planes + filled, room_.sums_at - filled, 0.0f);  // strips read past the last pixel
    float *const first = planes + room_.first_at;
    std::fill_n(first, p_.dst_channels, 0.0f);
    if (c_.bias && !by_source_) std::copy_n(r.in<float>(p_.products ? 1 : 2), p_.dst_channels, first);
    const auto [begin, end] = part(c_.n * p_.bands, slices, slice);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t n = unit / p_.bands;
      Band band{};
      for (size_t i = 0; i < 3; ++i) band[i] = i == p_.cut ? unit % p_.bands * p_.axes[i].count : 0;
      const float *src = r.in<float>(0) + n * p_.src_channels * p_.axes[0].src * p_.axes[1].src * p_.axes[2].src;
      float *dst = r.out<float>(0) + n * p_.dst_channels * p_.axes[0].dst * p_.axes[1].dst * p_.axes[2].dst;
      if (p_.products)
        sum_products(src, band, planes);
      else
        sum(src, r.in<float>(1), band, planes);
      put(band, planes, dst);
    }
  }

 private:
  using Band = std::array<int64_t, 3>;  // its first place along each axis

  // The sums of a band, plane by plane.
  void sum(const float *src, const float *weights, const Band &band, float *planes) const noexcept {
    const int64_t in = p_.src_channels / p_.groups;
    for (int64_t g = 0; g < p_.groups; g += room_.groups)
      for (int64_t c = 0; c < in; c += room_.channels) {
        const int64_t channels = std::min(room_.channels, in - c), groups = std::min(room_.groups, p_.groups - g);
        fill(src + g * in + c, band, groups * channels, planes);
        for (int64_t i = 0; i < groups; ++i)
          for (int64_t from = c; from < c + channels; from += room_.summed)
            sum_group(g + i, from, std::min(room_.summed, c + channels - from), weights, planes,
                      i * channels + from - c);
      }
  }

  // Adds channels of a group, whose planes begin at that of the number `plane`, to its sums.
  void sum_group(int64_t g, int64_t c, int64_t channels, const float *weights, float *planes,
                 int64_t plane) const noexcept {
    const int64_t in = p_.src_channels / p_.groups, out = p_.dst_channels / p_.groups;
    PlaneSums s{};
    s.src_channel = p_.plane() * p_.src_phases, s.src = planes + plane * s.src_channel, s.channels = channels;
    s.weight_channel = by_source_ ? 1 : c_.oc, s.weight_filter = by_source_ ? c_.oc : 1;
    s.weights = weights + (by_source_ ? g * in : g * out) + c * s.weight_channel;
    s.first = c == 0 ? planes + room_.first_at + g * out : nullptr;
    s.dst = planes + room_.sums_at + g * out * room_.run, s.dst_filter = room_.run;
    s.filters = out, s.pixels = p_.pixels();
    s.relu = !by_source_ && c_.epilogue.relu && c + channels == in;
    for (const std::vector<PlaneTap> &taps : taps_) {
      s.taps = taps.data(), s.count = size(taps);
      HWY_DYNAMIC_DISPATCH(plane_sums)(s);
      s.dst += p_.dst_channels * room_.run;
    }
  }

  // The same where the channels are products, of each tap for each filter.
  void sum_products(const float *src, const Band &band, float *planes) const noexcept {
    static constexpr float one = 1;
    fill(src, band, p_.src_channels, planes);
    PlaneSums s{};
    s.channels = s.filters = 1, s.weights = &one, s.pixels = p_.pixels(), s.relu = c_.epilogue.relu && !by_source_;
    s.dst = planes + room_.sums_at;
    for (const std::vector<PlaneTap> &taps : taps_) {
      s.taps = taps.data(), s.count = size(taps);
      for (int64_t f = 0; f < p_.dst_channels; ++f, s.dst += room_.run) {
        s.src = planes + f * p_.src_phases * p_.plane(), s.first = planes + room_.first_at + f;
        HWY_DYNAMIC_DISPATCH(plane_sums)(s);
      }
    }
  }

  // Copies channels of a band of an image to planes.
  void fill(const float *src, const Band &band, int64_t channels, float *planes) const noexcept {
    const auto &[d, h, w] = p_.axes;
    const int64_t plane = p_.plane(), step_w = p_.src_channels, step_h = w.src * step_w, step_d = h.src * step_h;
    if (padded_) std::fill_n(planes, channels * p_.src_phases * plane, 0.0f);
    for (const int64_t first_d : d.phases)
      for (const int64_t first_h : h.phases)
        for (const int64_t first_w : w.phases) {
          const int64_t firsts[3] = {first_d, first_h, first_w}, steps[3] = {step_d, step_h, step_w};
          const int64_t rows[3] = {h.extent * w.extent, w.extent, 1};
          int64_t n[3], from = 0, to = 0;
          for (size_t i = 0; i < 3; ++i) {
            const PlanarAxis &a = p_.axes[i];
            const int64_t first = firsts[i] + band[i] * a.src_step;
            const auto [begin, end] = inside(first, a.src_step, a.extent, a.src);
            n[i] = end - begin, from += (first + begin * a.src_step) * steps[i], to += begin * rows[i];
          }
          const int64_t dims[4] = {n[0], channels, n[1], n[2]};
          const int64_t xs[4] = {step_d * d.src_step, 1, step_h * h.src_step, step_w * w.src_step};
          const int64_t ys[4] = {rows[0], plane * p_.src_phases, rows[1], 1};
          copy_strided(sizeof(float), 4, dims, src + from, xs, planes + to, ys);
          planes += plane;
        }
  }

  // Copies the sums of a band to the destination's rows, in which the phases along the width alternate.
  void put(const Band &band, float *planes, float *dst) const noexcept {
    const auto &[d, h, w] = p_.axes;
    const int64_t together = w.dst_step * p_.dst_channels, pixels = p_.pixels();
    const int64_t row = w.dst * p_.dst_channels, first_w = w.dst_first + band[2] * w.dst_step;
    const int64_t left = std::max<int64_t>(0, -first_w), right = std::min(w.count * w.dst_step, w.dst - first_w);
    const float *sums = planes + room_.sums_at;
    float *const turned = planes + room_.turned_at;
    float *begin = nullptr, *end = dst;
    for (int64_t phase_d = 0; phase_d < d.dst_step; ++phase_d)
      for (int64_t phase_h = 0; phase_h < h.dst_step; ++phase_h, sums += together * room_.run) {
        const int64_t dims[2] = {pixels, together}, xs[2] = {1, room_.run}, ys[2] = {together, 1};
        if (together > 1) copy_strided(sizeof(float), 2, dims, sums, xs, turned, ys);
        const float *const pixels_of = together > 1 ? turned : sums;
        for (int64_t z = 0; z < d.count; ++z)
          for (int64_t y = 0; y < h.count; ++y) {
            const int64_t to_d = d.dst_first + phase_d + (band[0] + z) * d.dst_step;
            const int64_t to_h = h.dst_first + phase_h + (band[1] + y) * h.dst_step;
            if (to_d < 0 || to_d >= d.dst || to_h < 0 || to_h >= h.dst || right <= left) continue;
            const float *from = pixels_of + (z * h.extent + y) * w.extent * together + left * p_.dst_channels;
            float *to = dst + (to_d * h.dst + to_h) * row + (first_w + left) * p_.dst_channels;
            end = std::copy_n(from, (right - left) * p_.dst_channels, to);
            if (!begin) begin = to;
          }
      }
    if (begin && !by_source_ && c_.epilogue && !c_.epilogue.relu) c_.epilogue(begin, 1, end - begin, 0);
  }

  Conv c_;
  bool by_source_, padded_ = false;
  Planes p_;
  PlanarRoom room_;
  std::vector<std::vector<PlaneTap>> taps_;  // by phase of the destination
};

std::unique_ptr<Kernel> planar(const char *name, const Conv &c, bool by_source, bool products, int64_t slices) {
  const auto p = planes_of(c, by_source, products, slices);
  if (!p) return nullptr;
  return std::make_unique<PlanarConv>(name, c, by_source, *p, PlanarRoom(*p, checked_mul(c.kd, c.kh, c.kw)),
                                      std::min(slices, checked_mul(c.n, p->bands)));
}

}  // namespace

int64_t Planes::plane() const { return checked_mul(axes[0].extent, axes[1].extent, axes[2].extent); }
int64_t Planes::pixels() const {
  return ((axes[0].count - 1) * axes[1].extent + axes[1].count - 1) * axes[2].extent + axes[2].count;
}

std::optional<Planes> planes_of(const Conv &c, bool by_source, bool products, int64_t slices) {
  if (products && (c.groups != 1 || (!by_source && std::max({c.stride_d, c.stride_h, c.stride_w}) > 1))) return {};
  if (c.is_empty() || std::min({c.pad_front, c.pad_top, c.pad_left}) < 0) return {};
  Planes p;
  p.axes = {planar_axis(by_source, c.d, c.kd, c.od, c.stride_d, c.dil_d, c.pad_front),
            planar_axis(by_source, c.h, c.kh, c.oh, c.stride_h, c.dil_h, c.pad_top),
            planar_axis(by_source, c.w, c.kw, c.ow, c.stride_w, c.dil_w, c.pad_left)};
  p.src_channels = by_source ? c.oc : c.c, p.dst_channels = by_source ? c.c : c.oc, p.groups = c.groups;
  p.products = products;
  if (products) p.src_channels = checked_mul(c.kd, c.kh, c.kw, p.dst_channels);
  for (const PlanarAxis &a : p.axes) {
    p.src_phases = checked_mul(p.src_phases, size(a.phases)), p.dst_phases = checked_mul(p.dst_phases, a.dst_step);
    if (checked_mul(a.extent, size(a.phases)) > std::max(least_extent, checked_mul(4, a.src))) return {};
  }
  cut_into(p, (slices + c.n - 1) / c.n);
  return p;
}

PlanarRoom::PlanarRoom(const Planes &p, int64_t taps) {
  const int64_t planes = checked_mul(p.plane(), p.src_phases), all = p.src_channels / p.groups;
  summed = std::clamp(std::max(most_src / planes, least_products / taps), int64_t{1}, all);
  if (p.products) summed = all;
  channels = std::min(all, round_up(std::max(least_filled, summed), summed));
  groups = channels < all ? 1 : std::min(p.groups, (least_filled + all - 1) / all);
  run = round_up(checked_add(p.pixels(), slack), 16);
  sums_at = round_up(checked_add(checked_mul(groups, channels, planes), slack), 16);
  first_at = checked_add(sums_at, checked_mul(run, p.dst_phases, p.dst_channels));
  turned_at = checked_add(first_at, round_up(p.dst_channels, 16));
  end = checked_add(turned_at, round_up(checked_mul(p.pixels(), p.axes[2].dst_step, p.dst_channels), 16));
}

std::unique_ptr<Kernel> planar_conv(const Conv &c, int64_t slices) {
  return planar("planar_conv", c, false, false, slices);
}
std::unique_ptr<Kernel> planar_conv_data(const Conv &c, int64_t slices) {
  return planar("planar_conv_data", c, true, false, slices);
}
std::unique_ptr<Kernel> shifted_sums(const Conv &c, bool by_source, int64_t slices) {
  return planar("shifted_sums", c, by_source, true, slices);
}

}  // namespace dl4::kernels
#endif
