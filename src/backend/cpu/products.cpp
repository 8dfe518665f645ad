// Kernels of matrix products.
#include <tuple>

#include "backend/cpu/dispatch/products.hpp"
#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/rows/rows.hpp"
#include "ops/matched.hpp"

namespace dl4::cpu {
namespace {

using dispatch::BatchAxis;

// The batch axes of a product; neighbours are merged if both sides have regular strides.
std::vector<BatchAxis> batch_axes(const Shape &a, const Shape &b, const Shape &out) {
  std::vector<BatchAxis> axes;
  int64_t step_a = checked_mul(a[-1], a[-2]), step_b = checked_mul(b[-1], b[-2]);
  for (int i = 3; i <= out.rank(); ++i) {  // from the last one
    int64_t da = i <= a.rank() ? a[-i] : 1, db = i <= b.rank() ? b[-i] : 1;
    if (out[-i] != 1) {
      BatchAxis axis{out[-i], da == 1 ? 0 : step_a, db == 1 ? 0 : step_b};
      if (!axes.empty() && checked_mul(axes.back().step_a, axes.back().size) == axis.step_a &&
          checked_mul(axes.back().step_b, axes.back().size) == axis.step_b)
        axes.back().size = checked_mul(axes.back().size, axis.size);
      else
        axes.push_back(axis);
    }
    step_a = checked_mul(step_a, da);
    step_b = checked_mul(step_b, db);
  }
  return axes;
}

std::unique_ptr<Kernel> matmul(const ops::MatMulOp &op, const Site &site) {
  const Shape &a = site.src[0].shape, &b = site.src[1].shape, &out = site.dst[0].shape;
  kernels::Gemm g;
  g.dtype = site.src[0].dtype;
  g.m = out[-2];
  g.n = out[-1];
  g.k = a[op.how.transpose_a ? -2 : -1];
  g.trans_a = op.how.transpose_a;
  g.trans_b = op.how.transpose_b;
  g.lda = a[-1];
  g.ldb = b[-1];
  g.ldc = g.n;
  g.bias = op.fused.bias;
  g.bfloat16 = op.how.bfloat16;
  g.epilogue = epilogue_of(op.fused.activation);
  auto b_constant = site.constant_source(1);
  if (out.elements() == 0) return dispatch::nothing();
  auto axes = batch_axes(a, b, out);
  g.stride_c = checked_mul(g.m, g.n);
  if (axes.size() > 1) {
    g.batch = out.elements() / g.stride_c;
    return dispatch::product_by_item(site, g, axes, dispatch::product_slices(site, g));
  }
  if (!axes.empty()) {
    g.batch = axes[0].size;
    g.stride_a = axes[0].step_a;
    g.stride_b = axes[0].step_b;
  }
  auto kernel = dispatch::product(site, g, dispatch::product_slices(site, g), b_constant ? &*b_constant : nullptr);
  if (!kernel->rows) return kernel;
  kernels::RowStep rows = *kernel->rows;
  std::tie(rows.items, rows.rows) = kernels::rows_of(out);
  kernel->rows = std::make_shared<const kernels::RowStep>(std::move(rows));
  return kernel;
}

}  // namespace

std::span<const Row> products_kernels() {
  static const Row rows[] = {
      row<ops::MatMulOp, matmul>(),
  };
  return rows;
}

}  // namespace dl4::cpu
