// Where the choice of a kernel depends on the type of processor: figures, measured by the benches dl4_products and
// dl4_convs, which print them as they stand in thresholds.cpp.
#pragma once

#include <array>
#include <cstdint>

namespace dl4::dispatch {

// Kernels by name.
inline constexpr const char *by_openblas = "openblas_gemm", *by_dnnl = "dnnl_gemm";

struct Thresholds {
  // For a B of at least 2^18 numbers.
  struct Products {
    // B no constant, as stored: `large` from so many rows and so many multiplications on.
    const char *large;
    int64_t rows;
    double work;
    // B constant: oneDNN from so many rows on, and for 3 or 4 of them, as a tile of ours has 1, 2 or 4.
    int64_t constant_rows;
    bool three_rows;
    // Rows of A that a tile of ours reads side by side.
    int64_t tile_rows;
    // A transposed, B of any size: oneDNN from so many multiplications on.
    double transposed_work;
  };
  struct Convs {
    // The direct convolution: with so many output channels at most it is for so many input channels at most; the first
    // that fits says so.
    struct Direct {
      int64_t outputs, inputs;
    };
    std::array<Direct, 2> direct;
    int64_t direct_weights;  // and for at least so many weights of an output channel
    // Winograd's: from so many pixels of an image on, where its multiplications and what it costs to transform weights
    // that are no constant are less than such a part of a direct convolution's.
    int64_t winograd_pixels;
    double winograd_part, winograd_weights, winograd_weights_by_source;
    // So many transformed weights come from memory, and so few tiles wait for them.
    int64_t winograd_in_cache;
    double winograd_waiting;
    int64_t packed_weights;  // from so many weights on, when constant, our products are ahead of oneDNN
  };
  Products products;
  Convs convs;
};

// Of the processor that this process runs on.
const Thresholds &thresholds();

}  // namespace dl4::dispatch
