// The parameters of candidates' applies(), cost() and make(), for our lists and for the rows that libraries add.
#pragma once

#include <span>

#include "backend/cpu/dispatch/choose.hpp"
#include "backend/cpu/dispatch/costs.hpp"
#include "backend/cpu/dispatch/lstm.hpp"
#include "backend/cpu/dispatch/products.hpp"
#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/gemm/gemm.hpp"

namespace dl4::dispatch {

struct Product {
  const kernels::Gemm &g;
  int64_t slices;
  const kernels::Constant *b;  // the right-hand side if constant and shared by all items, else nullptr
  const Machine &machine;
  kernels::Gemm priced;                                        // what the cost is of: g, or one row of it
  kernels::WeightType weights = kernels::WeightType::float32;  // narrow type for b where that is faster
  int tiles = 0;                                               // number of part products: tile_products()
  DType dtype() const { return g.dtype; }
  double microseconds(double cycles) const { return machine.microseconds(cycles); }
};

template <double (*cycles)(const kernels::Gemm &, const Machine &)>
double cost(const Product &p) {
  return p.microseconds(cycles(p.priced, p.machine)) * real(p.priced.batch);
}

struct ConvAt {
  const Site &site;
  const kernels::Conv &c;
  int64_t slices;
  const kernels::Constant *weights;  // if constant, else nullptr
  const Machine &machine;
  kernels::WeightType in = kernels::WeightType::float32;  // narrow type that weights may use
  int tiles = 0;                                          // number of part products: tile_products()
  DType dtype() const { return c.dtype; }
  double microseconds(double cycles) const { return machine.microseconds(cycles); }
};

template <double (*cycles)(const kernels::Conv &, const Machine &)>
double cost(const ConvAt &at) {
  return at.microseconds(cycles(at.c, at.machine));
}
template <double (*cycles)(const kernels::Conv &, bool constant, const Machine &)>
double cost(const ConvAt &at) {
  return at.microseconds(cycles(at.c, at.weights, at.machine));
}

struct LstmSizes {
  int64_t batch, time, inputs, units;
};
struct LstmAt {
  const Site &site;
  LstmSizes s;
  bool backwards;
  LstmCut cut;
  const Machine &machine;
  DType dtype() const { return site.src[src_x].dtype; }
};

}  // namespace dl4::dispatch
