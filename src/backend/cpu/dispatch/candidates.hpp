// What the candidates of each list are told: for the lists, and for the rows that other libraries add to them.
#pragma once

#include <span>

#include "backend/cpu/dispatch/choose.hpp"
#include "backend/cpu/dispatch/lstm.hpp"
#include "backend/cpu/dispatch/products.hpp"
#include "backend/cpu/dispatch/thresholds.hpp"
#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/gemm/gemm.hpp"

namespace dl4::dispatch {

struct Product {
  const kernels::Gemm &g;
  int64_t slices;
  const kernels::Constant *b;  // the right-hand side, constant and shared by all items; or nullptr
  const Measured &as;
  double scale;                                                // how much more there is to do than in that one
  kernels::WeightType weights = kernels::WeightType::float32;  // what b is kept in where that is ahead
  int tiles = 0;                                               // so many products of parts: tile_products()
  DType dtype() const { return g.dtype; }
};

// A batch whose two sides move in different ways: one item at a time.
struct ByItem {
  const kernels::Gemm &g;
  std::span<const BatchAxis> axes;
  int64_t slices;
  double microseconds;
  int tiles = 0;  // so many products of parts: tile_products()
  DType dtype() const { return g.dtype; }
};
// C = A B of one item, C dense.
using MultiplyItem = void (*)(const kernels::Gemm &g, const float *a, const float *b, float *c) noexcept;
std::unique_ptr<kernels::Kernel> by_item(const char *name, const ByItem &at, MultiplyItem multiply);

template <class... Size>
double real(Size... sizes) {
  return (1.0 * ... * static_cast<double>(sizes));
}

struct ConvAt {
  const kernels::Conv &c;
  int64_t slices;
  const kernels::Constant *weights;  // constant, or nullptr
  const Thresholds::Convs &t;
  kernels::WeightType in = kernels::WeightType::float32;  // what weights may be kept in
  int tiles = 0;                                          // so many products of parts: tile_products()
  DType dtype() const { return c.dtype; }

  // What so many multiplications for each pair of channels take.
  double microseconds(double multiplications) const {
    return multiplications * real(c.c, c.oc) / real(c.groups) / 30e3;
  }
  double by_dnnl() const { return t.dnnl * microseconds(real(c.n, c.kd, c.kh, c.kw, c.od, c.oh, c.ow)); }
};

struct LstmSizes {
  int64_t batch, time, inputs, units;
};
struct LstmAt {
  const Site &site;
  LstmSizes s;
  bool backwards;
  LstmCut cut;
  double microseconds;
  DType dtype() const { return site.src[src_x].dtype; }
};

}  // namespace dl4::dispatch
