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
double scaling(const Conv &c, const Machine &m) {
  return sum({{1, 100}, {pixels_out(c) * real(c.c) / m.vector, 1.5}, {moved(c, m), 1.2}});
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
  const double gathered = kernels::gathered_rows(c);
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

namespace {

// Cycles of an implementation of oneDNN's, forward or by source, for each of what it does. Vectors are of the result's
// channels; pixels are the result's.
struct Factors {
  double start = 0;
  double product = 0;         // of vectors, where a tap meets the input
  double any_product = 0;     // also where none does
  double weights_of_row = 0;  // vectors of weights that are read for a row
  double row = 0;
  double place = 0;  // where a tap meets the input
  double place_vector = 0;
  double pixel = 0;
  double pixel_vector = 0;
  double pixel_float = 0;
  double laid = 0;  // floats of all windows
  double weight = 0;
  double tap = 0;    // of each group
  double image = 0;  // of each group
  double move = 0;   // moving the images
};
// How often each is done.
using Counts = Factors;
double cycles_of(const Counts &n, const Factors &f) {
  return n.start * f.start + n.product * f.product + n.any_product * f.any_product +
         n.weights_of_row * f.weights_of_row + n.row * f.row + n.place * f.place + n.place_vector * f.place_vector +
         n.pixel * f.pixel + n.pixel_vector * f.pixel_vector + n.pixel_float * f.pixel_float + n.laid * f.laid +
         n.weight * f.weight + n.tap * f.tap + n.image * f.image + n.move * f.move;
}
Counts counted(const Conv &c, bool by_source, const Machine &m) {
  const int64_t channels = by_source ? c.c : c.oc;
  const double v = vectors(c, channels, m), k = real((by_source ? c.oc : c.c) / c.groups);
  const double pixels = by_source ? pixels_in(c) : pixels_out(c), all = pixels_out(c) * taps(c);
  Counts n{.start = 1, .product = inside(c) * k * v / m.fused, .any_product = all * k * v / m.fused};
  n.row = rows_out(c);
  n.weights_of_row = (by_source ? real(c.n, c.d, c.h) : n.row) * taps(c) * k * v;
  n.place = inside(c), n.place_vector = n.place * v;
  n.pixel = pixels, n.pixel_vector = pixels * v, n.pixel_float = pixels * real(channels);
  n.laid = all * real(c.c), n.weight = weights(c), n.tap = taps(c) * real(c.groups);
  n.image = real(c.n, c.groups), n.move = moved(c, m);
  return n;
}
bool has_strides(const Conv &c) { return std::max({c.stride_d, c.stride_h, c.stride_w}) > 1; }

Factors dnnl_forward(const Conv &c, const Machine &m) {
  const bool few = real(c.c / c.groups) < m.vector, few_channels = real(c.c) < m.vector;
  if (c.groups > 1 && kernels::is_by_channels(c) && std::max(c.dil_h, c.dil_w) > 1)
    return {.start = 405, .product = 0.132, .row = 92, .place = 0.44, .move = 0.59};
  if (c.groups > 1 && kernels::is_by_channels(c))
    return few_channels
               ? Factors{.start = 2590, .weights_of_row = 1.06, .row = 93, .laid = 1.17 / real(c.c), .move = 0.72}
               : Factors{.start = 2290,
                         .product = 0.155,
                         .weights_of_row = 0.073,
                         .row = 105,
                         .laid = 0.55 / real(c.c),
                         .move = 0.79};
  if (c.groups > 1 && few && c.is_3d())
    return {.product = 0.78, .weights_of_row = 0.4, .row = 88, .place = 0.38 * real(c.groups), .tap = 90, .image = 238};
  if (c.groups > 1 && few)
    return {.start = 640,
            .product = 0.75,
            .weights_of_row = 1.1,
            .row = 64,
            .place_vector = 0.067,
            .pixel_vector = 1.27,
            .laid = 0.043,
            .weight = 1.9,
            .image = 129,
            .move = 0.78};
  if (c.groups > 1 && !c.is_3d())
    return {.product = 0.58,
            .weights_of_row = 1.17,
            .place_vector = 1.42,
            .laid = 0.072,
            .tap = 186,
            .image = 631,
            .move = 0.62};
  if (taps(c) == 1 && few && has_strides(c))
    return {.start = 1820,
            .product = 0.53,
            .weights_of_row = 3.1,
            .row = 76,
            .pixel_vector = 1.7,
            .weight = 14.8,
            .move = 0.43};
  if (taps(c) == 1 && few) return {.start = 2370, .product = 0.72, .pixel_vector = 1.05, .image = 105, .move = 0.76};
  if (taps(c) == 1)
    return {.start = 2210, .product = 0.85, .pixel_vector = 1.05, .weight = 0.33, .image = 231, .move = 0.27};
  if (c.is_3d() && few)
    return {.start = 3390,
            .product = 0.7,
            .weights_of_row = 1.08,
            .row = 159,
            .place = 0.32,
            .pixel_vector = 7.4,
            .image = 381};
  if (c.is_3d())
    return {.start = 6670,
            .product = 0.59,
            .weights_of_row = 1.4,
            .place_vector = 0.47,
            .laid = 0.046,
            .weight = 0.53,
            .move = 0.33};
  if (few)
    return {.start = 2860,
            .product = 0.77,
            .weights_of_row = 1.07,
            .row = 178,
            .place_vector = 0.19,
            .weight = 0.39,
            .move = 1.25};
  return {.start = 3330,
          .product = 0.73,
          .weights_of_row = 0.84,
          .laid = 0.042,
          .weight = 0.34,
          .image = 1110,
          .move = 0.66};
}

Factors dnnl_by_source(const Conv &c, bool few) {
  if (c.groups > 1 && kernels::is_by_channels(c) && few)
    return {.start = 571, .weights_of_row = 1.7, .place = 0.94, .pixel = 2.8, .image = 880 / real(c.groups)};
  if (c.groups > 1 && kernels::is_by_channels(c) && has_strides(c))
    return {.start = 1410,
            .product = 0.15,
            .weights_of_row = 0.06,
            .pixel = 10.2,
            .image = 1120 / real(c.groups),
            .move = 1.2};
  if (c.groups > 1 && kernels::is_by_channels(c))
    return {.start = 3000,
            .weights_of_row = 0.067,
            .place = 1.04,
            .place_vector = 0.066,
            .image = 344 / real(c.groups),
            .move = 1.1};
  if (c.groups > 1 && c.is_3d())
    return {.start = 863,
            .product = 0.95,
            .weights_of_row = 0.038,
            .pixel_vector = 3.5,
            .pixel_float = 0.17,
            .weight = 1.44,
            .image = 1570};
  if (c.groups > 1)
    return {.start = 3270,
            .product = 0.6,
            .any_product = 0.29,
            .weights_of_row = 0.085,
            .pixel_vector = 0.92,
            .pixel_float = 0.1,
            .weight = 0.89,
            .image = 796 / real(c.groups),
            .move = 1.54};
  if (taps(c) == 1) return {.start = 295, .product = 0.77, .place = 1.93, .pixel = 3.5, .weight = 1.88, .move = 1.39};
  if (few && c.is_3d()) return {.start = 1230, .product = 0.96, .pixel_vector = 2.4, .weight = 1.4, .image = 706};
  if (few) return {.start = 1220, .product = 0.89, .weights_of_row = 0.17, .pixel = 1.9, .weight = 0.64, .image = 142};
  if (c.is_3d())
    return {.start = 4450,
            .product = 0.83,
            .any_product = 0.064,
            .weights_of_row = 0.056,
            .pixel_vector = 3.9,
            .weight = 0.92};
  if (has_strides(c))
    return {.start = 2120,
            .product = 0.52,
            .any_product = 0.31,
            .weights_of_row = 0.27,
            .pixel_vector = 3.2,
            .weight = 0.84,
            .move = 0.52};
  return {.start = 1820,
          .product = 0.54,
          .any_product = 0.29,
          .weights_of_row = 0.17,
          .pixel_vector = 1.9,
          .weight = 0.92,
          .move = 0.31};
}

}  // namespace

double dnnl_conv_cycles(const Conv &c, bool constant, const Machine &m) {
  Counts n = counted(c, false, m);
  if (constant) n.weight = 0;  // laid out before
  return cycles_of(n, dnnl_forward(c, m));
}
double dnnl_conv_data_cycles(const Conv &c, const Machine &m) {
  const Counts n = counted(c, true, m);
  // Fewer channels than half a vector are by a product of all taps, whose columns are added pixel by pixel.
  if (c.groups == 1 && taps(c) > 1 && real(c.c) < m.vector / 2)
    return cycles_of(n, {.start = 2790,
                         .weights_of_row = 0.021,
                         .place_vector = 5,
                         .pixel_vector = 7.1,
                         .laid = 0.55,
                         .image = 505,
                         .move = 1.5}) +
           1.05 * n.laid * real(c.oc) / m.peak();
  return cycles_of(n, dnnl_by_source(c, real(c.c / c.groups) < m.vector));
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
