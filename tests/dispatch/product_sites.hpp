// Random products of matrices.
#pragma once

#include "backend/cpu/dispatch/products.hpp"
#include "dispatch/random_sites.hpp"
#include "kernels/gemm_cases.hpp"

namespace dl4::dispatch::testing {

using kernels::Gemm;

inline Gemm random_sizes(Random &r) {
  constexpr int64_t most_work = 60000;  // multiplications
  Gemm g;
  do g.m = r.log(1, 300), g.n = r.log(1, 300), g.k = r.log(1, 900);
  while (g.m * g.n * g.k > most_work);
  // Some columns past whole vectors, and more rows than are computed at once.
  if (r.one_of(40)) g.m = r.in(12, 300), g.n = 16 * r.in(1, 6) + r.in(1, 7), g.k = r.in(64, 300);
  g.trans_a = r.one_of(3), g.trans_b = r.one_of(3);
  return g;
}

inline std::string told(const Gemm &g, const char *more) {
  return text(g.batch, " of ", g.m, "x", g.n, "x", g.k, " ", g.trans_a ? "T" : "N", g.trans_b ? "T" : "N", ", ld ",
              g.lda, " ", g.ldb, " ", g.ldc, ", strides ", g.stride_a, " ", g.stride_b, " ", g.stride_c,
              g.bias ? ", bias" : "", g.epilogue ? ", epilogue" : "", more);
}

inline void check_product_sites(int64_t count) {
  std::vector<std::string> names = product_switches();
  std::erase_if(names, [](const std::string &name) { return name.ends_with("by_item"); });
  Tally tally(names);
  check_sites(tally, of_libraries(names), count, [](Tally &t, Random &r) {
    Gemm g = random_sizes(r);
    const bool apart = r.one_of(3);  // rows
    const int64_t a_row = g.trans_a ? g.m : g.k, b_row = g.trans_b ? g.k : g.n;
    if (apart) g.lda = a_row + r.in(0, 9), g.ldb = b_row + r.in(0, 9), g.ldc = g.n + r.in(0, 9);
    if (r.one_of(4)) {
      g.batch = r.in(2, 5);
      const Gemm d = kernels::dense(g);
      g.stride_a = (g.trans_a ? g.k : g.m) * d.lda + r.in(0, 5);
      g.stride_b = r.one_of(3) ? 0 : (g.trans_b ? g.n : g.k) * d.ldb + r.in(0, 5);
      g.stride_c = g.m * d.ldc + r.in(0, 5);
    }
    g.bias = r.one_of(2);
    if (r.one_of(3)) g.epilogue.run = kernels::testing::doubled_plus_one;
    kernels::testing::Case x(g, r.bits);
    const kernels::Constant constant{x.b.begin()}, *b = g.stride_b == 0 && r.one_of(2) ? &constant : nullptr;
    Wanted wanted{{x.a.begin(), x.b.begin()}, {x.want}};
    if (g.bias) wanted.sources.push_back(x.bias.begin());
    wanted.terms = static_cast<double>(g.k);
    const int64_t slices = r.in(1, 4);
    t.check(told(g, b ? ", constant" : ""), r, wanted, [&](const Site &site) { return product(site, g, slices, b); });
  });
}

inline void check_product_by_item_sites(int64_t count) {
  std::vector<std::string> names = product_switches();
  std::erase_if(names, [](const std::string &name) { return !name.ends_with("by_item"); });
  Tally tally(names);
  check_sites(tally, of_libraries(names), count, [](Tally &t, Random &r) {
    Gemm g = kernels::dense(random_sizes(r));
    const int64_t inner = r.in(1, 3), outer = r.in(1, 3), a = g.m * g.k, b = g.k * g.n;
    const bool inner_a = r.one_of(2);  // which side moves along the inner axis; the other along the outer one
    const BatchAxis axes[] = {{inner, inner_a ? a : 0, inner_a ? 0 : b}, {outer, inner_a ? 0 : a, inner_a ? b : 0}};
    g.bias = r.one_of(2);
    if (r.one_of(3)) g.epilogue.run = kernels::testing::doubled_plus_one;
    Guarded all_a(a * (inner_a ? inner : outer), r.bits), all_b(b * (inner_a ? outer : inner), r.bits);
    Guarded bias(g.n, r.bits);
    Wanted wanted{{all_a.begin(), all_b.begin()}, {{}}};
    if (g.bias) wanted.sources.push_back(bias.begin());
    for (int64_t i = 0; i < inner * outer; ++i) {
      const float *pa = all_a.begin() + i % inner * axes[0].step_a + i / inner * axes[1].step_a;
      const float *pb = all_b.begin() + i % inner * axes[0].step_b + i / inner * axes[1].step_b;
      for (int64_t y = 0; y < g.m; ++y)
        for (int64_t x = 0; x < g.n; ++x) {
          double sum = g.bias ? bias[x] : 0;
          for (int64_t k = 0; k < g.k; ++k)
            sum +=
                double{pa[g.trans_a ? k * g.lda + y : y * g.lda + k]} * pb[g.trans_b ? x * g.ldb + k : k * g.ldb + x];
          wanted.dst[0].push_back(g.epilogue ? 2 * sum + 1 : sum);
        }
    }
    wanted.terms = static_cast<double>(g.k);
    const int64_t slices = r.in(1, 4);
    t.check(told(g, text(", ", inner, " by ", outer, inner_a ? " of A" : " of B").c_str()), r, wanted,
            [&](const Site &site) { return product_by_item(site, g, axes, slices); });
  });
}

}  // namespace dl4::dispatch::testing
