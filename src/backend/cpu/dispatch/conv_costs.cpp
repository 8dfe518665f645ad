// Costs of convolutions. The factors are those that fit 900 random ones best (dl4_estimates), measured on one core of a
// Zen 5.
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

// Vectors of a group's channels, of all groups; of 32 channels each where products are by panels.
double vectors(const Conv &c, int64_t channels, const Machine &m) {
  return vectors_of(channels / c.groups, m.vector) * real(c.groups);
}
double panel_vectors(const Conv &c, int64_t channels, const Machine &m) {
  return real(round_up(channels / c.groups, 32), c.groups) / m.vector;
}

// Each channel by itself.
double by_channels(const Conv &c, const Machine &m, double start, double product, double place, double pixel,
                   double move) {
  const double v = vectors_of(c.c, m.vector), meet = inside(c);
  return sum({{1, start}, {meet * v, product}, {meet, place}, {pixels_out(c) * v, pixel}, {moved(c, m), move}});
}

}  // namespace

double direct_conv_cycles(const Conv &c, const Machine &m) {
  const double v = vectors_of(c.oc, m.vector), out = pixels_out(c);
  return sum({{1, 585},
              {out * taps(c) * real(c.c) * v / m.fused, 1.1},
              {rows_out(c) * real(c.kd, c.kh), 10.2},
              {out * real(c.kd, c.kh), 0.66},
              {moved(c, m), 1.33}});
}
double direct_conv_weights_cycles(const Conv &c, const Machine &m) {
  const double v = vectors_of(c.oc, m.vector), out = pixels_out(c);
  return sum({{out * taps(c) * real(c.c) * v / m.fused, 0.96},
              {rows_out(c) * real(c.kh, c.kw, c.c), 3.1},
              {out, 1.73},
              {taps(c) * real(c.c) * v, 3.1},
              {moved(c, m), 6.8}});
}
double depthwise_conv_cycles(const Conv &c, const Machine &m) {
  const double v = vectors_of(c.c, m.vector);
  return sum({{1, 1260}, {inside(c) * v, 0.57}, {pixels_out(c) * v, 2.8}, {rows_out(c), 64}, {moved(c, m), 2.6}});
}
double channels_conv_cycles(const Conv &c, const Machine &m) { return by_channels(c, m, 50, 2.1, 8.2, 9.7, 1.1); }
double channels_conv_data_cycles(const Conv &c, const Machine &m) { return by_channels(c, m, 3500, 1.85, 20, 0, 4.2); }
double channels_conv_weights_cycles(const Conv &c, const Machine &m) {
  return by_channels(c, m, 150, 5.6, 5.9, 0, 0.5);
}

double planar_conv_cycles(const Conv &c, bool by_source, const Machine &m) {
  const auto p = kernels::planes_of(c, by_source, 1);
  const kernels::PlanarRoom room(*p, checked_mul(c.kd, c.kh, c.kw));
  const auto &[d, h, w] = p->axes;
  const int64_t in = p->src_channels / p->groups, out = p->dst_channels / p->groups;
  const double units = real(c.n, p->bands), run = vectors_of(p->pixels(), m.vector), blocks = vectors_of(out, 8);
  const double passes = real((in + room.summed - 1) / room.summed), together = real(out) / blocks;
  const double runs = units * taps(c) * real(in, p->groups) * run * blocks;  // read, each for some filters
  const double sums = units * run * real(p->dst_phases, p->dst_channels);    // vectors
  return sum({{1, 55},
              {units * passes * blocks * real(p->groups, p->dst_phases), 14},
              {units * real(p->src_phases) * real((p->groups + room.groups - 1) / room.groups), 207},
              {units * real(d.count, h.count, d.dst_step, h.dst_step), 2},
              {runs * together / m.fused, 0.36},
              {runs, 0.26},
              {runs * std::max(1 / 8.0, (together + 1) / 30), 4},
              {units * real(p->plane(), p->src_phases, p->src_channels), 0.6},
              {p->dst_channels == 1 && w.dst_step == 1 ? 0 : sums * m.vector, 0.42},
              {sums * passes, 1.5},
              {moved(c, m), 0.33}});
}

double packed_conv_cycles(const Conv &c, const Machine &m) {
  const double v = vectors(c, c.oc, m), out = pixels_out(c), bytes = 4 * weights(c), meet = inside(c);
  return sum({{1, 52},
              {meet * real(c.c) * v / m.fused, 0.95},
              {(out * taps(c) - meet) * real(c.c) * v / m.fused, 0.63},
              {out * v, 6.9},
              {rows_out(c), 88},
              {m.moved(bytes, images(c) + bytes), 4.7}});
}
double blocked_conv_cycles(const Conv &c, bool constant, const Machine &m) {
  const double v = panel_vectors(c, c.oc, m), out = pixels_out(c), k = taps(c) * real(c.c / c.groups);
  return sum({{1, 460},
              {out * k * v / m.fused, 0.88},
              {out * v, 4.3},
              {out * taps(c) * real(c.groups), 3.3},
              {m.moved(4 * weights(c), images(c) + 4 * weights(c)), 10},
              {constant ? 0 : k * v, 7.4}});
}
double blocked_conv_data_cycles(const Conv &c, const Machine &m) {
  const double v = panel_vectors(c, c.c, m), out = pixels_out(c), k = taps(c) * real(c.oc / c.groups);
  return sum({{1, 1360},
              {out * k * v / m.fused, 0.83},
              {out * taps(c) * real(c.groups), 7.9},
              {pixels_in(c) * taps(c) * real(c.groups), 1.8},
              {k * v, 20},
              {pixels_in(c) * v, 4.7},
              {moved(c, m), 1.3}});
}
double blocked_conv_weights_cycles(const Conv &c, const Machine &m) {
  const double v = vectors(c, c.oc, m), out = pixels_out(c), k = taps(c) * real(c.c / c.groups);
  return sum({{1, 610},
              {out * k * v / m.fused, 0.95},
              {k * v, 6.5},
              {out * taps(c) * real(c.groups), 3.6},
              {out * v, 13.6},
              {moved(c, m), 3.5}});
}
double winograd_conv_cycles(const Conv &c, bool constant, bool data, const Machine &m) {
  const int64_t h = data ? c.h : c.oh, w = data ? c.w : c.ow, in = data ? c.oc : c.c, out = data ? c.c : c.oc;
  const double tiles = real(c.n, (h + 1) / 2, (w + 1) / 2), v = real(round_up(out, 32)) / m.vector;
  return sum({{1, 800},
              {16 * tiles * real(in) * v / m.fused, data ? 0.78 : 0.9},
              {tiles * vectors_of(in, m.vector), data ? 29.0 : 35.0},
              {tiles * v, data ? 89.0 : 78.0},
              {constant ? 0 : real(in) * v, data ? 157.0 : 39.0},
              {moved(c, m), data ? 0.95 : 3.5}});
}
double turned_conv_data_cycles(const Conv &turned, const Machine &m) {
  if (kernels::is_for_depthwise(turned)) return depthwise_conv_cycles(turned, m);
  const double v = vectors_of(turned.oc, m.vector), out = pixels_out(turned);
  return sum({{1, 540},
              {out * taps(turned) * real(turned.c) * v / m.fused, 1.16},
              {rows_out(turned) * real(turned.kh), 11},
              {out * v, 2.4},
              {moved(turned, m), 0.34}});
}

double dnnl_conv_cycles(const Conv &c, bool constant, const Machine &m) {
  const double v = vectors(c, c.oc, m), k = real(c.c / c.groups), all = pixels_out(c) * taps(c);
  const double lay = constant ? 0 : weights(c);
  if (c.groups > 1 && c.is_3d())
    return sum({{inside(c) * k * v / m.fused, 0.56}, {all * k * v / m.fused, 1.43}, {lay, 100}, {moved(c, m), 25}});
  if (c.groups > 1)
    return sum({{1, 6950}, {inside(c) * k * v / m.fused, 0.14}, {inside(c) * v, 0.07}, {moved(c, m), 1}});
  if (c.is_3d())
    return sum({{1, 11700},
                {inside(c) * k * v / m.fused, 1.2},
                {all * k * v / m.fused, 0.14},
                {inside(c) * v, 0.92},
                {lay, 2.5},
                {moved(c, m), 0.94}});
  return sum({{1, 8500},
              {all * k * v / m.fused, 1.01},
              {inside(c) * v, 0.44},
              {pixels_out(c) * v, 0.44},
              {lay, 1.06},
              {m.moved(4 * weights(c), images(c) + 4 * weights(c)), 10},
              {moved(c, m), 1.23}});
}
double dnnl_conv_data_cycles(const Conv &c, const Machine &m) {
  const double v = vectors(c, c.c, m), k = real(c.oc / c.groups), all = pixels_out(c) * taps(c);
  if (c.groups > 1 && c.is_3d())
    return sum({{1, 93400}, {all * k * v / m.fused, 0.85}, {weights(c), 136}, {moved(c, m), 150}});
  if (c.groups > 1) return sum({{1, 28000}, {inside(c) * k * v / m.fused, 0.12}, {moved(c, m), 7.2}});
  if (c.is_3d())
    return sum(
        {{1, 1100}, {inside(c) * k * v / m.fused, 0.87}, {inside(c) * v, 2.4}, {weights(c), 1.2}, {moved(c, m), 4.7}});
  return sum({{1, 2800},
              {c.c < 16 && c.oc < 16 ? all * real(c.c) : 0, 5},  // added one by one
              {inside(c) * k * v / m.fused, 0.21},
              {all * k * v / m.fused, 0.6},
              {inside(c) * v, 2.6},
              {weights(c), 1.07},
              {moved(c, m), 1.25}});
}
double dnnl_conv_weights_cycles(const Conv &c, const Machine &m) {
  const double v = vectors(c, c.oc, m), k = real(c.c / c.groups), all = pixels_out(c) * taps(c);
  if (c.groups > 1) return sum({{1, 1080}, {all * k * v / m.fused, c.is_3d() ? 8.0 : 1.17}, {moved(c, m), 0.3}});
  return sum({{1, 1250},
              {inside(c) * k * v / m.fused, c.is_3d() ? 0.86 : 0.61},
              {all * k * v / m.fused, c.is_3d() ? 0.34 : 0.45},
              {pixels_out(c) * v, c.is_3d() ? 1.0 : 8.4},
              {weights(c), 0.95},
              {moved(c, m), c.is_3d() ? 1.03 : 4.2}});
}

}  // namespace dl4::dispatch
