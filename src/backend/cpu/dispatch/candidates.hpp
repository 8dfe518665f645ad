// The parameters of candidates' applies(), cost() and make(), for our lists and for the rows that libraries add.
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
  const kernels::Constant *b;  // the right-hand side if constant and shared by all items, else nullptr
  const Measured &as;
  double scale;                                                // work relative to the measured product
  kernels::WeightType weights = kernels::WeightType::float32;  // narrow type for b where that is faster
  int tiles = 0;                                               // number of part products: tile_products()
  DType dtype() const { return g.dtype; }
};

// A batch with irregular strides, computed item by item.
struct ByItem {
  const kernels::Gemm &g;
  std::span<const BatchAxis> axes;
  int64_t slices;
  double microseconds;
  int tiles = 0;  // number of part products: tile_products()
  DType dtype() const { return g.dtype; }
};
// C = A B for one item, C dense.
using MultiplyItem = void (*)(const kernels::Gemm &g, const float *a, const float *b, float *c) noexcept;
std::unique_ptr<kernels::Kernel> by_item(const char *name, const ByItem &at, MultiplyItem multiply);

template <class... Size>
double real(Size... sizes) {
  return (1.0 * ... * static_cast<double>(sizes));
}

struct ConvAt {
  const kernels::Conv &c;
  int64_t slices;
  const kernels::Constant *weights;  // if constant, else nullptr
  const Thresholds::Convs &t;
  kernels::WeightType in = kernels::WeightType::float32;  // narrow type that weights may use
  int tiles = 0;                                          // number of part products: tile_products()
  DType dtype() const { return c.dtype; }

  // Time of so many multiplications per pair of channels.
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
