// What kernels cost, by type of processor: figures, measured by the benches dl4_products and dl4_convs.
#pragma once

#include <array>
#include <cstdint>

#include "backend/cpu/dispatch/site.hpp"
#include "backend/cpu/kernels/gemm/gemm.hpp"
#include "backend/cpu/kernels/gemm/weight_type.hpp"
#include "base/cpu.hpp"

namespace dl4::dispatch {

// Products in one region are alike in which kernel is ahead of which.
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

// A product of its region, and the microseconds it takes by each kernel on one thread; 0 where that does not apply.
// packed: by panels, or by columns where these are few, which were made before where B is constant, and are else by
// each run (blocked_gemm).
struct Measured {
  int64_t m = 0, n = 0, k = 0;
  double small = 0, packed = 0, openblas = 0, dnnl = 0;
};

struct Thresholds {
  struct Products {
    std::array<Measured, static_cast<size_t>(Region::count)> measured;
    // Where plain_large begins: rows, and multiplications.
    int64_t rows;
    double work;
    // Where constant_large begins: rows.
    int64_t constant_rows;
    // Rows of A that a tile of ours reads side by side.
    int64_t tile_rows;
    // Where transposed_large begins: multiplications.
    double transposed_work;
    // Does the first cache of this processor not count?
    bool any_processor = false;

    // `constant`: B is.
    Region region(const kernels::Gemm &g, bool constant) const;
    const Measured &figures(Region r) const { return measured[static_cast<size_t>(r)]; }

   private:
    Region constant_region(const kernels::Gemm &g, double b) const;
    bool crowded(const kernels::Gemm &g) const;
  };
  struct Convs {
    // The direct convolution: with so many output channels at most it is for so many input channels at most; the first
    // that fits says so.
    struct Direct {
      int64_t outputs, inputs;
    };
    std::array<Direct, 2> direct;
    int64_t direct_weights;  // and for at least so many weights of an output channel
    // Winograd's: from so many pixels of an image on.
    int64_t winograd_pixels;
    // What a multiplication costs, of Winograd's: oneDNN's, direct ones, those by depth, packed ones, these with many
    // constant weights.
    double dnnl, direct_part, depthwise_part, packed_part, packed_many_part;
    // And what lays out its windows, or goes channel by channel, where these do not apply.
    double blocked_part, channels_part;
    // Of gradients: as a convolution by turned weights, and tap by tap for so many input channels at most.
    double turned_part, direct_weights_part;
    int64_t direct_weights_inputs;
    // Multiplications that it takes to transform the weights for a pair of channels, unless they are constant.
    double winograd_weights, winograd_weights_by_source;
    // So many transformed weights come from memory, and so few tiles wait for them.
    int64_t winograd_in_cache;
    double winograd_waiting;
    int64_t packed_weights;  // from so many weights on, when constant, our products are ahead of oneDNN
  };
  // What each kernel takes, of its arithmetic.
  struct Lstms {
    double own, dnnl;
  };
  // Of products item by item.
  struct ByItem {
    double openblas, small;
  };
  // Products with weights in fewer bytes are ahead of those with float32 up to so many rows.
  struct Narrow {
    int64_t bfloat16_rows, integer_rows;
  };
  Products products;
  Convs convs;
  Lstms lstms;
  ByItem by_item;
  Narrow narrow;

  // What constant weights [k, n] that m rows are multiplied by are kept in, where `wanted` is asked for: float32 if
  // that is faster, int8 for int4 if they are few.
  kernels::WeightType narrowed(kernels::WeightType wanted, int64_t m, int64_t n, int64_t k) const;
};

const Thresholds &thresholds(cpu::Type type);
// Of the processor that this process runs on.
const Thresholds &thresholds();
// Those, or the same on every processor.
const Thresholds &thresholds(const Cutting &cutting);

// What a multiplication of a convolution in int8 costs, of one by oneDNN in float32.
double narrow_conv_part();

// Are there so few columns that vectors of them would be mostly empty, and are they long enough for dot products?
bool few_columns(const kernels::Gemm &g);

}  // namespace dl4::dispatch
