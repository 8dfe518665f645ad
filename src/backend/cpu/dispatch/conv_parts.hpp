// Convolutions that consist of others. Kernels cut images by rows, but sequences have one row, and oneDNN does not cut
// volumes: their images are cut into parts along the first axis. One tap is a product of each group.
#pragma once

#include <memory>

#include "backend/cpu/dispatch/site.hpp"
#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/gemm/gemm.hpp"

namespace dl4::dispatch {

// Into how many parts each image of the result can be cut; 1 if it is cut otherwise. by_source: of the gradient.
int64_t places_of_parts(const kernels::Conv &c, bool by_source);

// Each image in so many parts, at least 2, each by the best kernel for one thread.
std::unique_ptr<kernels::Kernel> conv_by_parts(const Site &site, const kernels::Conv &c,
                                               const kernels::Constant &weights, bool by_source, int64_t pieces);

// What a convolution of one tap without strides and padding is for each group.
kernels::Gemm product_of_group(const kernels::Conv &c, int64_t pixels);
// By these products, each of all pixels or of one of so many pieces.
std::unique_ptr<kernels::Kernel> conv_by_groups(const Site &site, const kernels::Conv &c, int64_t pieces);

}  // namespace dl4::dispatch
