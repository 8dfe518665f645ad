// What kernels cost on one thread, computed from what they do and from the machine's numbers (base/machine.hpp).
#pragma once

#include <cstdint>

#include "backend/cpu/dispatch/site.hpp"
#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/gemm/gemm.hpp"
#include "backend/cpu/kernels/gemm/weight_type.hpp"
#include "base/machine.hpp"

namespace dl4::dispatch {

// The one that a plan's costs follow from.
const Machine &machine(const Cutting &cutting);

// How many of the last columns are dot products: all if they are too few to fill vectors, those past whole vectors if
// that is faster, or none.
int64_t columns_by_dots(const kernels::Gemm &g, const Machine &m);

// Cycles of products, with dense leading dimensions filled in. constant: B is.
double small_gemm_cycles(const kernels::Gemm &g, const Machine &m);
double packed_gemm_cycles(const kernels::Gemm &g, const Machine &m);
double blocked_gemm_cycles(const kernels::Gemm &g, const Machine &m);
double dnnl_gemm_cycles(const kernels::Gemm &g, bool constant, const Machine &m);

// Cycles of convolutions. constant: the weights are.
double direct_conv_cycles(const kernels::Conv &c, const Machine &m);
double direct_conv_weights_cycles(const kernels::Conv &c, const Machine &m);
double depthwise_conv_cycles(const kernels::Conv &c, const Machine &m);
double channels_conv_cycles(const kernels::Conv &c, const Machine &m);
double channels_conv_data_cycles(const kernels::Conv &c, const Machine &m);
double channels_conv_weights_cycles(const kernels::Conv &c, const Machine &m);
double planar_conv_cycles(const kernels::Conv &c, bool by_source, const Machine &m);
double shifted_sums_cycles(const kernels::Conv &c, bool by_source, const Machine &m);
double added_rows_cycles(const kernels::Conv &c, const Machine &m);
double packed_conv_cycles(const kernels::Conv &c, const Machine &m);
double blocked_conv_cycles(const kernels::Conv &c, bool constant, const Machine &m);
double blocked_conv_data_cycles(const kernels::Conv &c, const Machine &m);
double blocked_conv_weights_cycles(const kernels::Conv &c, const Machine &m);
double winograd_conv_cycles(const kernels::Conv &c, bool constant, bool data, const Machine &m);
double dnnl_conv_cycles(const kernels::Conv &c, bool constant, const Machine &m);
double dnnl_conv_data_cycles(const kernels::Conv &c, const Machine &m);
double dnnl_conv_weights_cycles(const kernels::Conv &c, const Machine &m);
// Of the convolution that a gradient is by flipped weights.
double turned_conv_data_cycles(const kernels::Conv &turned, const Machine &m);

// The type for constant weights [k, n] multiplied by m rows, where `wanted` is requested: float32 if that is faster,
// int8 instead of int4 for few weights.
kernels::WeightType narrowed(kernels::WeightType wanted, int64_t m, int64_t n, int64_t k, const Machine &machine);

template <class... Size>
double real(Size... sizes) {
  return (1.0 * ... * static_cast<double>(sizes));
}

// Vectors that hold so many floats.
inline double vectors_of(int64_t floats, double each) {
  const auto lanes = static_cast<int64_t>(each);
  return real((floats + lanes - 1) / lanes);
}

// Lines moved if both sides and the result of a product are moved once.
inline double moved_once(const kernels::Gemm &g, const Machine &m) {
  const double bytes = 4 * (real(g.m, g.k) + real(g.k, g.n) + real(g.m, g.n));
  return m.moved(bytes, bytes);
}

// A processor that multiplies and adds vectors in two halves (Machine::fused 1) does all else with them in halves too.
// Loads, shifts and stores of vectors take twice as long.
inline double halves(const Machine &m) { return 2 / m.fused; }
// Loops of which they are a part take half as long again.
inline double partly_halves(const Machine &m) { return 0.5 + 1 / m.fused; }
// Multiply-adds then wait for loads less often: without that, a kernel gains less from a second unit than twice.
inline double hiding(const Machine &m) { return 0.75 + 0.5 / m.fused; }

// A sum of cycles: how often something is done, and what it costs each time.
struct Cycle {
  double often, each;
};
template <size_t n>
double sum(const Cycle (&of)[n]) {
  double all = 0;
  for (const Cycle &c : of) all += c.often * c.each;
  return all;
}

}  // namespace dl4::dispatch
