// OpenBLAS's candidates.
#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/kernels/openblas/blas.hpp"

namespace dl4::dispatch {
namespace {

double openblas_gemm_cycles(const kernels::Gemm &g, const Machine &m) {
  return sum({{1, 112},
              {vectors_of(g.m, m.vector) * real(g.n, g.k) * halves(m), 0.44},
              {real(g.m, g.n) * vectors_of(g.k, m.vector) * halves(m), 0.11},
              {real(g.m, g.n), 0.22},
              {real(g.m, g.k), 0.08},
              {moved_once(g, m), 1.1}});
}

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
