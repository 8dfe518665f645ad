// Costs of convolutions. The factors are those that fit 5000 random ones (dl4_estimates) and 70 of usual nets best,
// measured on one core of a Zen 5; those of blocked kernels fit 2500 on a Zen 4 too.
#include <algorithm>

#include "backend/cpu/dispatch/conv_counts.hpp"
#include "backend/cpu/kernels/conv/planar_conv.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Conv;

// How many times as long so many channels take where vectors are done in halves: those of one half take one.
double short_vectors(int64_t channels, const Machine &m) {
  return real(2 * channels) <= m.vector ? hiding(m) : halves(m);
}

// Vectors of panels of 32 channels.
double panel_vectors(const Conv &c, int64_t channels, const Machine &m) {
  return real(round_up(channels / c.groups, 32), c.groups) / m.vector;
}
// A row's products in blocked kernels, in panels of two vectors: with one of them loads bound it, not multiply-adds.
double panels(const Conv &c, int64_t channels, const Machine &m) {
  constexpr double loads = 0.54;
  const auto lanes = static_cast<int64_t>(m.vector);
  const int64_t all = (channels / c.groups + lanes - 1) / lanes;
  return real(c.groups) * (real(all / 2) * 2 / m.fused + (all % 2 ? std::max(loads, 1 / m.fused) : 0)) * hiding(m);
}

// Each channel by itself: what starting, products, places where a tap meets the input, pixels and moving take.
struct ByChannels {
  double start, product, place, pixel, vector, move;
};
double by_channels(const Conv &c, const Machine &m, double pixels, const ByChannels &each) {
  const double v = vectors_of(c.c, m.vector), meet = inside(c);
  return sum({{1, each.start},
              {meet * v * partly_halves(m), each.product},
              {meet * partly_halves(m), each.place},
              {pixels, each.pixel},
              {pixels * v, each.vector},
              {moved(c, m), each.move}});
}
double scaling(const Conv &c, const Machine &m) {
  return sum({{1, 250}, {pixels_out(c) * real(c.c) / m.vector, 1.5}, {moved(c, m), 1.2}});
}

}  // namespace

double direct_conv_cycles(const Conv &c, const Machine &m) {
  const double v = vectors_of(c.oc, m.vector), out = pixels_out(c);
  return sum({{1, 460},
              {out * taps(c) * real(c.c) * v * short_vectors(c.oc, m), 0.485},
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
  return sum({{pixels_out(c) * taps(c) * v * halves(m), 0.46},
              {rows_out(c), 92},
              {rows_out(c) * real(c.kh) * v * halves(m), 2.8},
              {moved(c, m), 2}});
}
double channels_conv_cycles(const Conv &c, const Machine &m) {
  if (kernels::scales_pixels(c)) return scaling(c, m);
  return by_channels(c, m, pixels_out(c), {0, 2.72, 5, 23.6, 1.3, 0.24});
}
double channels_conv_data_cycles(const Conv &c, const Machine &m) {
  if (kernels::scales_pixels(c)) return scaling(c, m);
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
  return sum(
      {{1, 60},
       {units * passes * blocks * real(p->groups, p->dst_phases), 15},
       {units * real(p->src_phases) * real((p->groups + room.groups - 1) / room.groups), 220},
       {units * real(d.count, h.count, d.dst_step, h.dst_step), 2.1},
       {runs * together / m.fused * halves(m), 0.39},
       {runs, 0.28},
       {runs * std::max(1 / 8.0, (together + 1) / 30), 4.3},
       {units * real(p->plane(), p->src_phases, p->src_channels) * partly_halves(m), w.src_step > 1 ? 1.0 : 0.65},
       {p->dst_channels == 1 && w.dst_step == 1 ? 0 : sums * m.vector * partly_halves(m), 0.45},
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
              {planes * partly_halves(m), 0.43},
              {m.moved(4 * planes, 4 * planes), 0.72},
              {sums * m.vector * partly_halves(m), 0.31}});
}

double added_rows_cycles(const Conv &c, const Machine &m) {
  const double runs = pixels_out(c) * real(c.kd, c.kh), floats = 4 * pixels_out(c) * taps(c) * real(c.c);
  return sum({{1, 80},
              {runs, 6.5},
              {runs * vectors_of(checked_mul(c.kw, c.c), m.vector) * partly_halves(m), 2},
              {real(c.n, c.d, c.h), 24},
              {m.moved(floats, 2 * floats), 1.6},
              {moved(c, m), 0.4}});
}

double packed_conv_cycles(const Conv &c, const Machine &m) {
  const double v = vectors(c, c.oc, m), out = pixels_out(c), meet = inside(c);
  return sum({{1, 7},
              {meet * real(c.c) * v / m.fused * hiding(m), 0.8},
              {(out * taps(c) - meet) * real(c.c) * v / m.fused, 0.19},
              {row_products(c, m), 0.44},
              {out * v * partly_halves(m), 3.3},
              {rows_out(c), 59},
              {rows_out(c) * real(c.kh), 9.7},
              {moved(c, m), 0.55}});
}
double blocked_conv_cycles(const Conv &c, bool constant, const Machine &m) {
  const double v = panel_vectors(c, c.oc, m), out = pixels_out(c), k = taps(c) * real(c.c / c.groups);
  const bool in_place = taps(c) == 1 && !has_strides(c);
  return sum({{1, 176},
              {out * k * panels(c, c.oc, m), 0.81},
              {out * v * halves(m), 3.3},
              {in_place ? 0 : out * taps(c) * real(c.groups) * partly_halves(m), c.groups > 1 ? 6.0 : 3.0},
              {m.moved(4 * weights(c), images(c) + 4 * weights(c)), 0.76},
              {constant ? 0 : k * v, 5.9},
              {moved(c, m), 0.53}});
}
double blocked_conv_data_cycles(const Conv &c, const Machine &m) {
  const double v = panel_vectors(c, c.c, m), k = taps(c) * real(c.oc / c.groups);
  const double gathered = kernels::gathered_rows(c);
  return sum({{1, 1190},
              {gathered * real(c.oc / c.groups) * panels(c, c.c, m), 0.85},
              {gathered * real(c.groups) * partly_halves(m), 9.5},
              {k * v, 8.64},
              {pixels_in(c) * v * halves(m), 5.16},
              {moved(c, m), 0.648}});
}
double blocked_conv_weights_cycles(const Conv &c, const Machine &m) {
  const double v = vectors(c, c.oc, m), out = pixels_out(c), k = taps(c) * real(c.c / c.groups);
  const double filters = real(c.oc / c.groups), vector = m.vector;
  const double product = filters < vector && filters >= vector / 2 ? hiding(m) : 1;  // loads of half a vector
  return sum({{1, 413},
              {out * k * v / m.fused * product, 0.84},
              {out * taps(c) * real(c.groups) * halves(m), c.groups > 1 ? 4.2 : 1.2},
              {out * taps(c) * real(c.c) / vector, 1},
              {out * v * (filters < vector / 2 ? halves(m) : 1), 17},
              {m.moved(4 * weights(c), images(c) + 4 * weights(c)), 7},
              {moved(c, m), 0.1}});
}
double winograd_conv_cycles(const Conv &c, bool constant, bool data, const Machine &m) {
  const int64_t h = data ? c.h : c.oh, w = data ? c.w : c.ow, in = data ? c.oc : c.c, out = data ? c.c : c.oc;
  const double tiles = real(c.n, (h + 1) / 2, (w + 1) / 2), v = real(round_up(out, 32)) / m.vector;
  return sum({{1, 660},
              {16 * tiles * real(in) * v / m.fused, data ? 0.67 : 0.78},
              {tiles * vectors_of(in, m.vector) * halves(m), data ? 25.0 : 22.4},
              {tiles * v * partly_halves(m), data ? 76.0 : 75.0},
              {constant ? 0 : real(in) * v * halves(m), data ? 134.0 : 32.0},
              {m.moved(7 * weights(c), images(c) + 7 * weights(c)), data ? 0.0 : 1.45},
              {moved(c, m), data ? 0.81 : 3.8}});
}
double turned_conv_data_cycles(const Conv &turned, const Machine &m) {
  if (kernels::is_for_depthwise(turned)) return depthwise_conv_cycles(turned, m);
  const double v = vectors_of(turned.oc, m.vector), out = pixels_out(turned);
  return sum({{1, 480},
              {out * taps(turned) * real(turned.c) * v * short_vectors(turned.oc, m), 0.515},
              {rows_out(turned) * real(turned.kh), 9.7},
              {out * v, 2.1},
              {moved(turned, m), 0.3}});
}

}  // namespace dl4::dispatch
