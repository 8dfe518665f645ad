// OpenBLAS's candidates.
#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/kernels/openblas/blas.hpp"

namespace dl4::dispatch {
namespace {

constexpr Candidate<Product> openblas_products[] = {
    // Of few columns: else ours are level with it.
    {"openblas_gemm",
     [](const Product &p) {
       return kernels::blas::usable() && p.g.n <= 8 && !p.g.trans_a && !p.g.trans_b && !p.g.bias;
     },
     cost<openblas_gemm_cycles>, [](const Product &p) { return kernels::openblas_gemm(p.g, p.slices); }},
};

}  // namespace

constexpr Library openblas{.name = "openblas",
                           .prefix = "openblas_",
                           .description = kernels::blas::description,
                           .unused = kernels::blas::unused,
                           .products = openblas_products};

}  // namespace dl4::dispatch
