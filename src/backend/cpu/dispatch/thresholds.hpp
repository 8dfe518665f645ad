// Costs of kernels by type of processor, measured with the benches dl4_products and dl4_convs.
#pragma once

#include <array>
#include <cstdint>

#include "backend/cpu/dispatch/site.hpp"
#include "backend/cpu/kernels/gemm/gemm.hpp"
#include "backend/cpu/kernels/gemm/weight_type.hpp"
#include "base/cpu.hpp"

namespace dl4::dispatch {

// Regions of products with the same ranking of kernels.
enum class Region {
  both_transposed,
  transposed_few_columns,
  transposed,
  transposed_large,
  constant_few_columns,
  one_column,
  few_columns,
  constant_short,
  constant,
  constant_large,
  short_dots,
  little_work,
  few_rows,
  rows,
  plain,
  plain_large,
  count
};

// A representative product of its region, and its microseconds by each kernel on one thread; 0 if the kernel does not
// apply. packed: by panels, or by columns if these are few; packed in advance if B is constant, else in each run
// (blocked_gemm).
struct Measured {
  int64_t m = 0, n = 0, k = 0;
  double small = 0, packed = 0, openblas = 0, dnnl = 0;
};

struct Thresholds {
  struct Products {
    std::array<Measured, static_cast<size_t>(Region::count)> measured;
    // Lower bounds of plain_large: rows and multiplications.
    int64_t rows;
    double work;
    // Lower bound of constant_large: rows.
    int64_t constant_rows;
    // Rows of A that our tile reads together.
    int64_t tile_rows;
    // Lower bound of transposed_large: multiplications.
    double transposed_work;
    // Ignores the processor's L1 cache.
    bool any_processor = false;

    // `constant`: whether B is.
    Region region(const kernels::Gemm &g, bool constant) const;
    const Measured &figures(Region r) const { return measured[static_cast<size_t>(r)]; }

   private:
    Region constant_region(const kernels::Gemm &g, double b) const;
    bool crowded(const kernels::Gemm &g) const;
  };
  struct Convs {
    // The direct convolution applies to at most so many output channels with at most so many input channels; the first
    // matching entry decides.
    struct Direct {
      int64_t outputs, inputs;
    };
    std::array<Direct, 2> direct;
    int64_t direct_weights;  // and at least so many weights per output channel
    // Winograd: least pixels of an image.
    int64_t winograd_pixels;
    // Cost of a multiplication relative to Winograd's: oneDNN, direct, depthwise, packed, and packed with many constant
    // weights.
    double dnnl, direct_part, depthwise_part, packed_part, packed_many_part;
    // The same for patches, and for channel by channel, where those do not apply.
    double blocked_part, channels_part;
    // The same for gradients: as a convolution by flipped weights, and tap by tap for at most so many input channels.
    double turned_part, direct_weights_part;
    int64_t direct_weights_inputs;
    // Multiplications per pair of channels to transform weights that are not constant.
    double winograd_weights, winograd_weights_by_source;
    // Transformed weights above this size come from memory; fewer tiles than this wait for them.
    int64_t winograd_in_cache;
    double winograd_waiting;
    int64_t packed_weights;  // from so many constant weights on, our products beat oneDNN
  };
  // Cost of each kernel relative to its arithmetic.
  struct Lstms {
    double own, dnnl;
  };
  // Costs of products item by item.
  struct ByItem {
    double openblas, small;
  };
  // Products with narrow weights are faster than float32 up to so many rows.
  struct Narrow {
    int64_t bfloat16_rows, integer_rows;
  };
  Products products;
  Convs convs;
  Lstms lstms;
  ByItem by_item;
  Narrow narrow;

  // The type for constant weights [k, n] multiplied by m rows, where `wanted` is requested: float32 if that is faster,
  // int8 instead of int4 for few weights.
  kernels::WeightType narrowed(kernels::WeightType wanted, int64_t m, int64_t n, int64_t k) const;
};

const Thresholds &thresholds(cpu::Type type);
// For the processor of this process.
const Thresholds &thresholds();
// The same, or those common to all processors if the cutting is portable.
const Thresholds &thresholds(const Cutting &cutting);

// Cost of an int8 convolution's multiplication relative to oneDNN's in float32.
double narrow_conv_part();

// Whether the columns are too few to fill vectors, and long enough for dot products.
bool few_columns(const kernels::Gemm &g);

}  // namespace dl4::dispatch
