// OpenBLAS's candidates.
#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/kernels/openblas/blas.hpp"

namespace dl4::dispatch {
namespace {

constexpr Candidate<Product> products[] = {
    {"openblas_gemm", [](const Product &) { return kernels::blas::usable(); },
     [](const Product &p) { return p.scale * p.as.openblas; },
     [](const Product &p) { return kernels::openblas_gemm(p.g, p.slices); }},
};

constexpr Candidate<ByItem> products_by_item[] = {
    {"openblas_by_item", [](const ByItem &) { return kernels::blas::usable(); },
     [](const ByItem &at) { return at.microseconds * thresholds().by_item.openblas; },
     [](const ByItem &at) {
       return by_item("openblas_by_item", at,
                      [](const kernels::Gemm &g, const float *a, const float *b, float *c) noexcept {
                        kernels::blas::sgemm(g.trans_a, g.trans_b, g.m, g.n, g.k, 1, a, g.lda, b, g.ldb, 0, c, g.n);
                      });
     }},
};

}  // namespace

constexpr Library openblas{.name = "openblas",
                           .prefix = "openblas_",
                           .description = kernels::blas::description,
                           .unused = kernels::blas::unused,
                           .products = products,
                           .products_by_item = products_by_item};

}  // namespace dl4::dispatch
