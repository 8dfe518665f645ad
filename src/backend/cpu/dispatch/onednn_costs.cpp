// Costs of oneDNN's kernels. The factors are those that fit random sites best, measured on one core of a Zen 5.
#include "backend/cpu/dispatch/conv_counts.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Conv, kernels::Gemm;

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
  Counts n{.start = 1, .product = inside(c) * k * v / m.fused * hiding(m), .any_product = all * k * v / m.fused};
  n.row = rows_out(c);
  n.weights_of_row = (by_source ? real(c.n, c.d, c.h) : n.row) * taps(c) * k * v;
  n.place = inside(c), n.place_vector = n.place * v;
  n.pixel = pixels, n.pixel_vector = pixels * v, n.pixel_float = pixels * real(channels);
  n.laid = all * real(c.c), n.weight = weights(c), n.tap = taps(c) * real(c.groups);
  n.image = real(c.n, c.groups), n.move = moved(c, m);
  return n;
}

Factors dnnl_forward(const Conv &c, const Machine &m) {
  const bool few = real(c.c / c.groups) < m.vector, few_channels = real(c.c) < m.vector;
  if (c.groups > 1 && kernels::is_by_channels(c) && std::max(c.dil_h, c.dil_w) > 1)
    return {.start = 405, .product = 0.132, .row = 92, .place = 0.44, .move = 0.59};
  if (c.groups > 1 && kernels::is_by_channels(c))
    return few_channels ? Factors{.start = 2590,
                                  .weights_of_row = 1.06 * partly_halves(m),
                                  .row = 93,
                                  .laid = 1.17 * partly_halves(m) / real(c.c),
                                  .move = 0.72}
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

double dnnl_gemm_cycles(const Gemm &g, bool constant, const Machine &m) {
  const double across = vectors_of(g.n, m.vector);
  const double each = sum({{real(g.m, g.k) * across / m.fused, 0.857},
                           {across * real(g.k) * halves(m), constant ? 1.14 : 1.61},
                           {across * real(g.m) * halves(m), 1.62},
                           {real(g.m, g.k), constant ? 0.063 : 0.125},
                           {g.bias ? real(g.m) : 0, constant ? 0.35 : 0.83},
                           {g.trans_b && !constant ? real(g.n, g.k) : 0, 0.2},
                           {moved_once(g, m), constant ? 0.27 : 0.41}});
  const double read = sum({{real(g.k) * across, 0.52}, {moved_once(g, m), 1.45}});  // at least
  return 2450 + real(g.batch) * std::max(each, read);
}

double dnnl_conv_cycles(const Conv &c, bool constant, const Machine &m) {
  Counts n = counted(c, false, m);
  if (constant) n.weight = 0;  // laid out before
  // Of few channels it keeps the sums of many filters in memory between taps.
  const bool stored = c.groups == 1 && taps(c) > 1 && c.c < 4 && real(c.oc) > 4 * m.vector;
  return cycles_of(n, dnnl_forward(c, m)) * (stored ? 1.4 : 1);
}
double dnnl_conv_data_cycles(const Conv &c, const Machine &m) {
  const Counts n = counted(c, true, m);
  // Fewer channels than half a vector are by a product of all taps, whose columns are added pixel by pixel.
  if (c.groups == 1 && taps(c) > 1 && real(c.c) < m.vector / 2)
    return cycles_of(n, {.start = 2790,
                         .weights_of_row = 0.021,
                         .place_vector = 5 * halves(m),
                         .pixel_vector = 7.1,
                         .laid = 0.55 * halves(m),
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
                {inside(c) * real(c.groups) * halves(m), 0.65},
                {weights(c), 20.6},
                {real(c.n) * weights(c), 4.2},
                {moved(c, m), 5.5}});
  if (each)
    return sum({{1, 1410},
                {inside(c) * v / m.fused * partly_halves(m), 0.089},
                {inside(c) * partly_halves(m), 0.99},
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
  const double products = inside(c) * k * v / m.fused * hiding(m), rows = row_products(c, m);
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
