// Costs of convolutions. The factors are those that fit 5000 random ones (dl4_estimates) and 70 of usual nets best,
// measured on one core of a Zen 5.
#include <algorithm>

#include "backend/cpu/dispatch/costs.hpp"
#include "backend/cpu/kernels/conv/planar_conv.hpp"
#include "base/checked.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Conv;

double pixels_in(const Conv &c) { return real(c.n, c.d, c.h, c.w); }
double pixels_out(const Conv &c) { return real(c.n, c.od, c.oh, c.ow); }
double rows_out(const Conv &c) { return real(c.n, c.od, c.oh); }
double taps(const Conv &c) { return real(c.kd, c.kh, c.kw); }
double images(const Conv &c) { return 4 * (pixels_in(c) * real(c.c) + pixels_out(c) * real(c.oc)); }
double weights(const Conv &c) { return taps(c) * real(c.c / c.groups, c.oc); }
double moved(const Conv &c, const Machine &m) { return m.moved(images(c), images(c) + 4 * weights(c)); }

// Pairs of a place of the window and a tap that meet the input, along an axis.
double meetings(int64_t n, int64_t out, int64_t taps, int64_t stride, int64_t dilation, int64_t before) {
  int64_t count = 0;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t shift = before - tap * dilation;  // of place 0
    const int64_t first = shift > 0 ? (shift + stride - 1) / stride : 0, end = (n - 1 + shift) / stride + 1;
    if (n - 1 + shift >= 0) count += std::max<int64_t>(0, std::min(out, end) - first);
  }
  return real(count);
}
double inside(const Conv &c) {
  return real(c.n) * meetings(c.d, c.od, c.kd, c.stride_d, c.dil_d, c.pad_front) *
         meetings(c.h, c.oh, c.kh, c.stride_h, c.dil_h, c.pad_top) *
         meetings(c.w, c.ow, c.kw, c.stride_w, c.dil_w, c.pad_left);
}

// Places of the source by the taps that meet the destination from any of its class (blocked_conv_data.cpp), on an axis.
double places_by_taps(int64_t n, int64_t out, int64_t taps, int64_t stride, int64_t dilation, int64_t before) {
  int64_t all = 0;
  for (int64_t first = 0; first < std::min(n, stride); ++first) {
    const int64_t count = (n - first + stride - 1) / stride;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t at = first + before - tap * dilation, offset = at / stride;
      if (at % stride == 0 && offset < out && offset + count > 0) all += count;
    }
  }
  return real(all);
}

// Vectors of a group's channels, of all groups; of 32 channels each where products are by panels.
double vectors(const Conv &c, int64_t channels, const Machine &m) {
  return vectors_of(channels / c.groups, m.vector) * real(c.groups);
}
double panel_vectors(const Conv &c, int64_t channels, const Machine &m) {
  return real(round_up(channels / c.groups, 32), c.groups) / m.vector;
}

// Vectors of weights that are read for each row of the destination.
double row_products(const Conv &c, const Machine &m) {
  return rows_out(c) * taps(c) * real(c.c / c.groups) * vectors(c, c.oc, m);
}

// Each channel by itself: what starting, products, places where a tap meets the input, pixels and moving take.
struct ByChannels {
  double start, product, place, pixel, vector, move;
};
double by_channels(const Conv &c, const Machine &m, double pixels, const ByChannels &each) {
  const double v = vectors_of(c.c, m.vector), meet = inside(c);
  return sum({{1, each.start},
              {meet * v, each.product},
              {meet, each.place},
              {pixels, each.pixel},
              {pixels * v, each.vector},
              {moved(c, m), each.move}});
}

}  // namespace

double direct_conv_cycles(const Conv &c, const Machine &m) {
  const double v = vectors_of(c.oc, m.vector), out = pixels_out(c);
  return sum({{1, 460},
              {out * taps(c) * real(c.c) * v / m.fused, 0.97},
              {rows_out(c) * real(c.kd, c.kh), 10.8},
              {out * real(c.kd, c.kh), 0.58},
              {moved(c, m), 0.41}});
}
double direct_conv_weights_cycles(const Conv &c, const Machine &m) {
  const double v = vectors_of(c.oc, m.vector), out = pixels_out(c), rows = rows_out(c) * real(c.kh, c.kw, c.c);
  return sum({{1, 24},
              {out * taps(c) * real(c.c) * v / m.fused, 0.84},
              {rows, 1.32},
              {rows * v, 1.27},
              {out, 2.2},
              {moved(c, m), 3}});
}
double depthwise_conv_cycles(const Conv &c, const Machine &m) {
  const double v = vectors_of(c.c, m.vector);
  return sum(
      {{pixels_out(c) * taps(c) * v, 0.46}, {rows_out(c), 92}, {rows_out(c) * real(c.kh) * v, 2.8}, {moved(c, m), 2}});
}
double channels_conv_cycles(const Conv &c, const Machine &m) {
  return by_channels(c, m, pixels_out(c), {0, 2.72, 5, 23.6, 1.3, 0.24});
}
double channels_conv_data_cycles(const Conv &c, const Machine &m) {
  return by_channels(c, m, pixels_in(c), {89, 2.55, 10.3, 27.6, 1, 0.48});
}
double channels_conv_weights_cycles(const Conv &c, const Machine &m) {
  return by_channels(c, m, pixels_out(c), {107, 4.22, 5.3, 0, 0, 0.94});
}

double planar_conv_cycles(const Conv &c, bool by_source, const Machine &m) {
  const auto p = kernels::planes_of(c, by_source, false, 1);
  const kernels::PlanarRoom room(*p, checked_mul(c.kd, c.kh, c.kw));
  const auto &[d, h, w] = p->axes;
  const int64_t in = p->src_channels / p->groups, out = p->dst_channels / p->groups;
  const double units = real(c.n, p->bands), run = vectors_of(p->pixels(), m.vector), blocks = vectors_of(out, 8);
  const double passes = real((in + room.summed - 1) / room.summed), together = real(out) / blocks;
  const double runs = units * taps(c) * real(in, p->groups) * run * blocks;  // read, each for some filters
  const double sums = units * run * real(p->dst_phases, p->dst_channels);    // vectors
  return sum({{1, 60},
              {units * passes * blocks * real(p->groups, p->dst_phases), 15},
              {units * real(p->src_phases) * real((p->groups + room.groups - 1) / room.groups), 220},
              {units * real(d.count, h.count, d.dst_step, h.dst_step), 2.1},
              {runs * together / m.fused, 0.39},
              {runs, 0.28},
              {runs * std::max(1 / 8.0, (together + 1) / 30), 4.3},
              {units * real(p->plane(), p->src_phases, p->src_channels), 0.65},
              {p->dst_channels == 1 && w.dst_step == 1 ? 0 : sums * m.vector, 0.45},
              {sums * passes, 1.6},
              {moved(c, m), 0.35}});
}

double shifted_sums_cycles(const Conv &c, bool by_source, const Machine &m) {
  const auto p = kernels::planes_of(c, by_source, true, 1);
  const double units = real(c.n, p->bands), run = vectors_of(p->pixels(), m.vector);
  const double planes = units * real(p->plane(), p->src_phases, p->src_channels);
  const double sums = units * run * real(p->dst_phases, p->dst_channels);
  return sum({{1, 40},
              {units * real(p->dst_channels, p->dst_phases), 18},
              {units, 290},
              {units * run * real(p->src_channels), 1},
              {planes, 0.43},
              {m.moved(4 * planes, 4 * planes), 0.72},
              {sums * m.vector, 0.31}});
}

double added_rows_cycles(const Conv &c, const Machine &m) {
  const double runs = pixels_out(c) * real(c.kd, c.kh), floats = 4 * pixels_out(c) * taps(c) * real(c.c);
  return sum({{1, 80},
              {runs, 6.5},
              {runs * vectors_of(checked_mul(c.kw, c.c), m.vector), 2},
              {real(c.n, c.d, c.h), 24},
              {m.moved(floats, 2 * floats), 1.6},
              {moved(c, m), 0.4}});
}

double packed_conv_cycles(const Conv &c, const Machine &m) {
  const double v = vectors(c, c.oc, m), out = pixels_out(c), meet = inside(c);
  return sum({{1, 7},
              {meet * real(c.c) * v / m.fused, 0.8},
              {(out * taps(c) - meet) * real(c.c) * v / m.fused, 0.19},
              {row_products(c, m), 0.44},
              {out * v, 3.3},
              {rows_out(c), 59},
              {rows_out(c) * real(c.kh), 9.7},
              {moved(c, m), 0.55}});
}
double blocked_conv_cycles(const Conv &c, bool constant, const Machine &m) {
  const double v = panel_vectors(c, c.oc, m), out = pixels_out(c), k = taps(c) * real(c.c / c.groups);
  return sum({{1, 176},
              {out * k * v / m.fused, 0.81},
              {out * v, 3.3},
              {out * taps(c) * real(c.groups), 3},
              {m.moved(4 * weights(c), images(c) + 4 * weights(c)), 0.76},
              {constant ? 0 : k * v, 5.9},
              {moved(c, m), 0.53}});
}
double blocked_conv_data_cycles(const Conv &c, const Machine &m) {
  const double v = panel_vectors(c, c.c, m), k = taps(c) * real(c.oc / c.groups);
  const double gathered = real(c.n) * places_by_taps(c.d, c.od, c.kd, c.stride_d, c.dil_d, c.pad_front) *
                          places_by_taps(c.h, c.oh, c.kh, c.stride_h, c.dil_h, c.pad_top) *
                          places_by_taps(c.w, c.ow, c.kw, c.stride_w, c.dil_w, c.pad_left);
  return sum({{1, 1190},
              {gathered * real(c.oc / c.groups) * v / m.fused, 0.85},
              {gathered * real(c.groups), 9.5},
              {k * v, 8.64},
              {pixels_in(c) * v, 5.16},
              {moved(c, m), 0.648}});
}
double blocked_conv_weights_cycles(const Conv &c, const Machine &m) {
  const double v = vectors(c, c.oc, m), out = pixels_out(c), k = taps(c) * real(c.c / c.groups);
  return sum({{1, 413},
              {out * k * v / m.fused, 0.84},
              {k * v, 3.7},
              {out * taps(c) * real(c.groups), 2.1},
              {out * taps(c) * real(c.c) / m.vector, 1},
              {out * v, 16.5},
              {moved(c, m), 0.1}});
}
double winograd_conv_cycles(const Conv &c, bool constant, bool data, const Machine &m) {
  const int64_t h = data ? c.h : c.oh, w = data ? c.w : c.ow, in = data ? c.oc : c.c, out = data ? c.c : c.oc;
  const double tiles = real(c.n, (h + 1) / 2, (w + 1) / 2), v = real(round_up(out, 32)) / m.vector;
  return sum({{1, 660},
              {16 * tiles * real(in) * v / m.fused, data ? 0.67 : 0.78},
              {tiles * vectors_of(in, m.vector), data ? 25.0 : 22.4},
              {tiles * v, data ? 76.0 : 75.0},
              {constant ? 0 : real(in) * v, data ? 134.0 : 32.0},
              {m.moved(7 * weights(c), images(c) + 7 * weights(c)), data ? 0.0 : 1.45},
              {moved(c, m), data ? 0.81 : 3.8}});
}
double turned_conv_data_cycles(const Conv &turned, const Machine &m) {
  if (kernels::is_for_depthwise(turned)) return depthwise_conv_cycles(turned, m);
  const double v = vectors_of(turned.oc, m.vector), out = pixels_out(turned);
  return sum({{1, 480},
              {out * taps(turned) * real(turned.c) * v / m.fused, 1.03},
              {rows_out(turned) * real(turned.kh), 9.7},
              {out * v, 2.1},
              {moved(turned, m), 0.3}});
}

// Its weights stay in registers for the pixels of a row.
double dnnl_conv_cycles(const Conv &c, bool constant, const Machine &m) {
  const double v = vectors(c, c.oc, m), k = real(c.c / c.groups), all = pixels_out(c) * taps(c);
  const double lay = constant ? 0 : weights(c), products = inside(c) * k * v / m.fused, rows = row_products(c, m);
  const bool few = k < m.vector;
  if (c.groups > 1 && kernels::is_by_channels(c)) {
    const bool dilated = std::max(c.dil_h, c.dil_w) > 1;  // another kernel of oneDNN's
    return sum({{1, dilated ? 405.0 : 2380.0},
                {products, dilated ? 0.132 : 0.14},
                {rows, dilated ? 0.0 : 0.097},
                {inside(c), dilated ? 0.44 : 0.85},
                {rows_out(c), dilated ? 92.0 : 112.0},
                {moved(c, m), dilated ? 0.59 : 0.72}});
  }
  if (c.groups > 1 && few && c.is_3d())
    return sum({{products, 0.78},
                {rows, 0.4},
                {rows_out(c), 88},
                {inside(c) * real(c.groups), 0.38},
                {taps(c) * real(c.groups), 90},
                {real(c.n, c.groups), 238}});
  if (c.groups > 1 && few)
    return sum({{1, 640},
                {products, 0.75},
                {rows, 1.1},
                {rows_out(c), 64},
                {inside(c) * v, 0.067},
                {pixels_out(c) * v, 1.27},
                {all * real(c.c), 0.043},
                {lay, 1.9},
                {real(c.n, c.groups), 129},
                {moved(c, m), 0.78}});
  if (c.groups > 1 && !c.is_3d())
    return sum({{products, 0.58},
                {rows, 1.17},
                {inside(c) * v, 1.42},
                {all * real(c.c), 0.072},
                {taps(c) * real(c.groups), 186},
                {real(c.n, c.groups), 631},
                {moved(c, m), 0.62}});
  if (taps(c) == 1 && few && std::max({c.stride_d, c.stride_h, c.stride_w}) > 1)
    return sum({{1, 1820},
                {products, 0.53},
                {rows, 3.1},
                {rows_out(c), 76},
                {pixels_out(c) * v, 1.7},
                {lay, 14.8},
                {moved(c, m), 0.43}});
  if (taps(c) == 1)
    return sum({{1, few ? 2370.0 : 2210.0},
                {products, few ? 0.72 : 0.85},
                {pixels_out(c) * v, 1.05},
                {lay, few ? 0.0 : 0.33},
                {real(c.n), few ? 105.0 : 231.0},
                {moved(c, m), few ? 0.76 : 0.27}});
  if (c.is_3d() && few)
    return sum({{1, 3390},
                {products, 0.7},
                {rows, 1.08},
                {rows_out(c), 159},
                {inside(c), 0.32},
                {pixels_out(c) * v, 7.4},
                {real(c.n), 381}});
  if (c.is_3d())
    return sum({{1, 6670},
                {products, 0.59},
                {rows, 1.4},
                {inside(c) * v, 0.47},
                {all * real(c.c), 0.046},
                {lay, 0.53},
                {moved(c, m), 0.33}});
  if (few)
    return sum({{1, 2860},
                {products, 0.77},
                {rows, 1.07},
                {rows_out(c), 178},
                {inside(c) * v, 0.19},
                {lay, 0.39},
                {moved(c, m), 1.25}});
  return sum({{1, 3330},
              {products, 0.73},
              {rows, 0.84},
              {all * real(c.c), 0.042},
              {lay, 0.34},
              {real(c.n), 1110},
              {moved(c, m), 0.66}});
}
// Fewer channels than half a vector are by a product of all taps, whose columns are added pixel by pixel.
double dnnl_conv_data_cycles(const Conv &c, const Machine &m) {
  const double v = vectors(c, c.c, m), k = real(c.oc / c.groups), all = pixels_out(c) * taps(c);
  const double in = pixels_in(c) * v, product = all * real(c.c, c.oc) / m.vector / m.fused;
  const double rows = real(c.n, c.d, c.h) * taps(c) * k * v, products = inside(c) * k * v / m.fused;
  const bool few = c.c / c.groups<m.vector, steps = std::max({c.stride_d, c.stride_h, c.stride_w})> 1;
  if (c.groups > 1 && kernels::is_by_channels(c))
    return few     ? sum({{1, 571}, {inside(c), 0.94}, {rows, 1.7}, {pixels_in(c), 2.8}, {real(c.n), 880}})
           : steps ? sum({{1, 1410},
                          {products, 0.15},
                          {rows, 0.06},
                          {pixels_in(c), 10.2},
                          {real(c.n), 1120},
                          {moved(c, m), 1.2}})
                   : sum({{1, 3000},
                          {inside(c), 1.04},
                          {inside(c) * v, 0.066},
                          {rows, 0.067},
                          {real(c.n), 344},
                          {moved(c, m), 1.1}});
  if (c.groups > 1)
    return c.is_3d() ? sum({{1, 863},
                            {products, 0.95},
                            {rows, 0.038},
                            {in, 3.5},
                            {pixels_in(c) * real(c.c), 0.17},
                            {weights(c), 1.44},
                            {real(c.n, c.groups), 1570}})
                     : sum({{1, 3270},
                            {products, 0.6},
                            {all * k * v / m.fused, 0.29},
                            {rows, 0.085},
                            {in, 0.92},
                            {pixels_in(c) * real(c.c), 0.1},
                            {weights(c), 0.89},
                            {real(c.n), 796},
                            {moved(c, m), 1.54}});
  if (taps(c) == 1)
    return sum(
        {{1, 295}, {products, 0.77}, {inside(c), 1.93}, {pixels_in(c), 3.5}, {weights(c), 1.88}, {moved(c, m), 1.39}});
  if (real(c.c) < m.vector / 2)
    return sum({{1, 2790},
                {inside(c) * v, 5},
                {product, 1.05},
                {rows, 0.021},
                {all * real(c.c), 0.55},
                {in, 7.1},
                {real(c.n), 505},
                {moved(c, m), 1.5}});
  if (few)
    return c.is_3d() ? sum({{1, 1230}, {products, 0.96}, {in, 2.4}, {weights(c), 1.4}, {real(c.n), 706}})
                     : sum({{1, 1220},
                            {products, 0.89},
                            {rows, 0.17},
                            {pixels_in(c), 1.9},
                            {weights(c), 0.64},
                            {real(c.n), 142}});
  if (c.is_3d())
    return sum({{1, 4450},
                {all * k * v / m.fused, 0.064},
                {inside(c) * k * v / m.fused, 0.83},
                {rows, 0.056},
                {in, 3.9},
                {weights(c), 0.92}});
  if (steps)
    return sum({{1, 2120},
                {all * k * v / m.fused, 0.24},
                {inside(c) * k * v / m.fused, 0.52},
                {product, 0.078},
                {rows, 0.27},
                {in, 3.2},
                {weights(c), 0.84},
                {moved(c, m), 0.52}});
  return sum({{1, 1820},
              {all * k * v / m.fused, 0.29},
              {inside(c) * k * v / m.fused, 0.54},
              {rows, 0.17},
              {in, 1.9},
              {weights(c), 0.92},
              {moved(c, m), 0.31}});
}
double dnnl_conv_weights_cycles(const Conv &c, const Machine &m) {
  const double v = vectors(c, c.oc, m), k = real(c.c / c.groups), all = pixels_out(c) * taps(c);
  const bool dilated = std::max({c.dil_d, c.dil_h, c.dil_w}) > 1;
  const double bytes = m.moved(4 * weights(c), images(c) + 4 * weights(c));
  const bool each = c.groups > 1 && kernels::is_by_channels(c);
  if (each && c.is_3d()) return sum({{all * k * v / m.fused, 0.83}, {weights(c), 45}, {moved(c, m), 23}});
  if (each && (dilated || c.kw > 3))  // a kernel that takes each group by itself
    return sum({{1, 1110},
                {inside(c) * real(c.groups), 0.65},
                {weights(c), 20.6},
                {real(c.n) * weights(c), 4.2},
                {moved(c, m), 5.5}});
  if (each)
    return sum({{1, 1410},
                {inside(c) * v / m.fused, 0.089},
                {inside(c), 0.99},
                {pixels_out(c) * v, 0.11},
                {weights(c), 2.4},
                {moved(c, m), 1.45}});
  const double images = real(c.n) * weights(c), calls = real(c.n, c.groups);
  if (c.groups == 1 && c.c == 1 && c.oc < m.vector && !c.is_3d())
    return sum({{1, 1080}, {inside(c) * v / m.fused, 1.13}, {pixels_out(c), 1.5}, {calls, 95}, {moved(c, m), 4.1}});
  if (c.groups == 1 && c.c < m.vector && c.oc < m.vector && taps(c) > 1 && !(c.is_3d() && dilated))
    return c.is_3d() ? sum({{1, 1360},
                            {inside(c) * k * v / m.fused, 0.88},
                            {row_products(c, m), 0.42},
                            {inside(c), 0.17},
                            {pixels_out(c) * v, 3.6},
                            {weights(c), 0.51},
                            {images, 0.23},
                            {calls, 84}})
                     : sum({{1, 1100},
                            {inside(c) * k * v / m.fused, 1.08},
                            {row_products(c, m), 0.71},
                            {pixels_out(c) * v, 2.4},
                            {calls, 66}});
  if (c.is_3d() && dilated) return sum({{1, 525}, {pixels_out(c) * v, 12}, {all * real(c.c), 2.1}});
  const double products = inside(c) * k * v / m.fused, rows = row_products(c, m);
  if (c.is_3d())
    return sum({{1, 1830},
                {products, 0.82},
                {rows, 0.65},
                {inside(c) * v, 0.21},
                {pixels_out(c) * v, 3},
                {weights(c), 0.13},
                {images, 0.05},
                {bytes, 6.6},
                {moved(c, m), 0.24}});
  if (c.c < m.vector)
    return sum({{1, 1750},
                {products, 1.1},
                {rows, 0.56},
                {inside(c) * v, 0.055},
                {pixels_out(c) * v, 1.7},
                {weights(c), 0.22},
                {images, 0.047},
                {bytes, 1.4},
                {moved(c, m), 2}});
  return sum({{1, 2650},
              {products, 0.82},
              {rows, 0.4},
              {inside(c) * v, 0.46},
              {weights(c), 0.29},
              {images, 0.07},
              {bytes, 1.35},
              {moved(c, m), 2.7}});
}

}  // namespace dl4::dispatch
