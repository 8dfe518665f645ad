// Which kernel computes which matrix product, by measured thresholds.
#include "ops/products.hpp"

#include <algorithm>
#include <vector>

#include "base/tensor.hpp"
#include "kernels/blas.hpp"
#include "kernels/small_gemm.hpp"

namespace dl4::ops {
namespace {

using kernels::Constant;
using kernels::Gemm;
using kernels::Kernel;
using kernels::Run;

// A rectangle of one item of the batch.
struct Piece {
  int64_t item, row, rows, col, cols;
};

// How our own kernels cut: all rows of all items in a line, or the columns when there are few rows to share B among.
struct Cut {
  bool by_columns;
  int64_t slices;

  Cut(const Gemm &g, int64_t slices) {
    int64_t rows = g.batch * g.m;
    by_columns = g.batch == 1 && g.m <= 64 && g.n >= 64 * slices;
    this->slices = std::max<int64_t>(1, std::min(slices, by_columns ? (g.n + 31) / 32 : rows));
  }

  template <class F>
  void each(const Gemm &g, int64_t slice, F f) const noexcept {
    if (by_columns) {
      auto [begin, end] = kernels::part(g.n, slices, slice, 32);
      if (begin < end) f(Piece{0, 0, g.m, begin, end - begin});
      return;
    }
    auto [begin, end] = kernels::part(g.batch * g.m, slices, slice);
    // An epilogue wants its rows still in cache.
    int64_t most = g.epilogue ? std::max<int64_t>(8, 16384 / g.n / 8 * 8) : g.m;
    while (begin < end) {
      int64_t row = begin % g.m, rows = std::min({end - begin, g.m - row, most});
      f(Piece{begin / g.m, row, rows, 0, g.n});
      begin += rows;
    }
  }
};

void finish(const Gemm &g, const Piece &p, float *c) noexcept {
  if (!g.epilogue) return;
  if (p.cols == g.ldc) return g.epilogue(c, p.rows * p.cols);
  for (int64_t i = 0; i < p.rows; ++i) g.epilogue(c + i * g.ldc, p.cols);
}

struct Pointers {
  const float *a, *b, *bias;
  float *c;
};

Pointers at(const Gemm &g, const Run &r, const Piece &p) noexcept {
  const float *bias = g.bias ? r.src<float>(2) : nullptr;
  return {r.src<float>(0) + p.item * g.stride_a + (g.trans_a ? p.row : p.row * g.lda),
          r.src<float>(1) + p.item * g.stride_b + (g.trans_b ? p.col * g.ldb : p.col), bias ? bias + p.col : nullptr,
          r.dst<float>(g.bias ? 3 : 2) + p.item * g.stride_c + p.row * g.ldc + p.col};
}

std::unique_ptr<Kernel> small(const Gemm &g, int64_t slices) {
  if (g.trans_a) return nullptr;
  Cut cut(g, slices);
  return kernels::make_kernel("small_gemm", cut.slices, [g, cut](int64_t slice, const Run &r) noexcept {
    cut.each(g, slice, [&](const Piece &p) {
      Pointers at_ = at(g, r, p);
      auto f = g.trans_b ? kernels::small_gemm_bt : kernels::small_gemm;
      f(p.rows, p.cols, g.k, at_.a, g.lda, at_.b, g.ldb, at_.bias, 0, at_.c, g.ldc);
      finish(g, p, at_.c);
    });
  });
}

// Panels of a constant right-hand side.
struct Panels final : kernels::Packed {
  Tensor data;
};

std::unique_ptr<Kernel> packed(const Gemm &g, int64_t slices, const Constant *b) {
  if (!b || g.trans_a || g.stride_b != 0) return nullptr;
  auto make = [&] {
    auto panels = std::make_shared<Panels>();
    panels->data = make_tensor(DType::f32, {kernels::packed_floats(g.k, g.n)});
    panels->bytes = panels->data.bytes();
    kernels::pack_b(g.k, g.n, b->data, g.ldb, g.trans_b, panels->data.as<float>());
    return std::shared_ptr<const kernels::Packed>(panels);
  };
  std::string format = text("panels ", g.k, 'x', g.n, ' ', g.ldb, g.trans_b ? " transposed" : "");
  auto form = b->forms ? b->forms->get(format, make) : make();
  Cut cut(g, slices);
  return kernels::make_kernel("packed_gemm", cut.slices, [g, cut, form](int64_t slice, const Run &r) noexcept {
    const float *panels = static_cast<const Panels &>(*form).data.as<float>();
    cut.each(g, slice, [&](const Piece &p) {
      Pointers at_ = at(g, r, p);
      kernels::packed_gemm(p.rows, p.cols, g.k, at_.a, g.lda, panels + p.col * g.k, at_.bias, 0, at_.c, g.ldc);
      finish(g, p, at_.c);
    });
  });
}

std::unique_ptr<Kernel> reference(const Gemm &g, int64_t slices) {
  Cut cut(g, slices);
  return kernels::make_kernel("reference_gemm", cut.slices, [g, cut](int64_t slice, const Run &r) noexcept {
    cut.each(g, slice, [&](const Piece &p) {
      Pointers at_ = at(g, r, p);
      for (int64_t i = 0; i < p.rows; ++i) {
        for (int64_t j = 0; j < p.cols; ++j) {
          double s = at_.bias ? at_.bias[j] : 0;
          for (int64_t l = 0; l < g.k; ++l)
            s += static_cast<double>(at_.a[g.trans_a ? l * g.lda + i : i * g.lda + l]) *
                 at_.b[g.trans_b ? j * g.ldb + l : l * g.ldb + j];
          at_.c[i * g.ldc + j] = static_cast<float>(s);
        }
      }
      finish(g, p, at_.c);
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> nothing() {
  return kernels::make_kernel("nothing", 0, [](int64_t, const Run &) noexcept {});
}

std::optional<Constant> constant_source(const Site &site, int i) {
  auto at = static_cast<size_t>(i);
  if (at >= site.constant.size() || !site.constant[at]) return {};
  Constant c{site.constant[at]->as<float>()};
  if (site.packs && at < site.constant_key.size() && !site.constant_key[at].empty()) {
    auto forms = site.packs->get(site.constant_key[at], [] { return std::make_shared<kernels::PackedForms>(); });
    // Packs hands out constants, but PackedForms locks itself and lives as long as they do.
    c.forms = const_cast<kernels::PackedForms *>(static_cast<const kernels::PackedForms *>(forms.get()));
  }
  return c;
}

double product_microseconds(const Gemm &g) {
  double m = static_cast<double>(g.m), n = static_cast<double>(g.n), k = static_cast<double>(g.k);
  double batch = static_cast<double>(g.batch), flops = 2 * m * n * k, bytes = 4 * (m * k + k * n + m * n);
  return batch * std::max(flops / 60e3, bytes / 20e3);
}

int64_t product_slices(const Site &site, const Gemm &g) {
  int64_t parts = std::max(g.batch * g.m, (g.n + 31) / 32);
  return std::max<int64_t>(1, site.cutting.slices(parts, product_microseconds(g)));
}

std::unique_ptr<Kernel> product(const Site &site, const Gemm &given, int64_t slices, const Constant *b) {
  Gemm g = kernels::dense(given);
  if (g.batch == 0 || g.m == 0 || g.n == 0) return nothing();
  if (g.k == 0) return reference(g, slices);
  bool constant = b && g.stride_b == 0;
  bool prefer_small = !constant && g.m <= 4;
  bool prefer_packed = constant && g.m <= 4;
  auto when = [](bool yes, auto make) -> std::unique_ptr<Kernel> { return yes ? make() : nullptr; };
  auto by_dnnl = [&] { return kernels::dnnl_gemm(g, slices, constant ? b : nullptr); };
  return choose(site, {{"small_gemm", [&] { return when(prefer_small, [&] { return small(g, slices); }); }},
                       {"packed_gemm", [&] { return when(prefer_packed, [&] { return packed(g, slices, b); }); }},
                       {"dnnl_gemm", [&] { return when(constant, by_dnnl); }},
                       {"openblas_gemm", [&] { return kernels::openblas_gemm(g, slices); }},
                       {"dnnl_gemm", by_dnnl},
                       {"packed_gemm", [&] { return packed(g, slices, b); }},
                       {"small_gemm", [&] { return small(g, slices); }},
                       {"reference_gemm", [&] { return reference(g, slices); }}});
}

}  // namespace dl4::ops
