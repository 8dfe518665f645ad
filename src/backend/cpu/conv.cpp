// Kernels of convolutions, pooling and their gradients.
#include <algorithm>

#include "backend/cpu/dispatch/conv.hpp"
#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/reduce/pool.hpp"
#include "ops/conv.hpp"
#include "ops/wants.hpp"

namespace dl4::cpu {
namespace {

// The kernel's description of a convolution at known shapes.
kernels::Conv conv_at(const ops::ConvOp &op, const Shape &x, const Shape &w) {
  const ops::Conv &how = op.how;
  kernels::Conv c;
  c.n = x[0], c.c = x.last(), c.oc = w.last(), c.groups = how.groups;
  c.bfloat16 = how.bfloat16;
  struct Axis {
    int64_t &n, &taps, &out, &stride, &dilation, &before, &after;
  };
  const Axis axes[] = {{c.d, c.kd, c.od, c.stride_d, c.dil_d, c.pad_front, c.pad_back},
                       {c.h, c.kh, c.oh, c.stride_h, c.dil_h, c.pad_top, c.pad_bottom},
                       {c.w, c.kw, c.ow, c.stride_w, c.dil_w, c.pad_left, c.pad_right}};
  c.h = c.oh = c.w = c.ow = 1;
  const size_t spatial = how.strides.size();
  for (size_t i = 0; i < spatial; ++i) {
    const Axis &a = axes[i + 3 - spatial];
    const int at = static_cast<int>(i);
    a.n = x[at + 1], a.taps = w[at];
    const int64_t padded = checked_add(a.n, op.before(at), op.after(at));
    const ops::Windows seen = ops::conv_windows("conv", how, at, padded, a.taps);
    a.out = seen.out, a.before = op.before(at) + seen.pad_before;
    // Strides and dilation that are never applied may have any size, but libraries use 32 bits.
    a.stride = a.out > 1 ? how.strides[i] : 1, a.dilation = a.taps > 1 ? how.dilation[i] : 1;
    // Cells left over by the last window become a negative pad.
    a.after = checked_add(checked_mul(a.out - 1, a.stride), checked_mul(a.taps - 1, a.dilation), 1) - a.n - a.before;
  }
  return c;
}

kernels::Pool pool_at(const ops::Pool &how, const Shape &x) {
  kernels::Pool p;
  p.n = x[0], p.c = x.last(), p.adaptive = how.adaptive;
  const int spatial = static_cast<int>(how.size.size());
  kernels::PoolAxis *const axes[] = {&p.d, &p.h, &p.w};
  for (int i = 0; i < spatial; ++i) {
    const auto at = static_cast<size_t>(i);
    const ops::Windows seen = ops::pool_windows(how, i, x[i + 1]);
    *axes[i + 3 - spatial] = {x[i + 1], how.size[at], seen.out, how.adaptive ? 1 : how.strides[at], seen.pad_before};
  }
  return p;
}

double pool_microseconds(const kernels::Pool &p) {
  auto real = [](int64_t v) { return static_cast<double>(v); };
  double each = 1, outputs = real(p.n) * real(p.c);
  for (const kernels::PoolAxis *a : {&p.d, &p.h, &p.w}) {
    each *= real(p.adaptive ? a->n / a->out + 1 : std::min(a->size, a->n));
    outputs *= real(a->out);
  }
  return outputs * (each + 1) * 4 * us_per_byte;
}

std::unique_ptr<Kernel> conv_data(const attributes::ConvData &op, const Site &site) {
  kernels::Conv c = conv_at({op.how, {}}, site.src[2].shape, site.src[1].shape);
  if (site.dst[0].shape.elements() == 0 || site.src[0].shape.elements() == 0) return dispatch::zeros(site);
  auto weights = site.constant_source(1);
  return with_args(dispatch::conv_data(site, c, weights ? &*weights : nullptr), {0, 1}, {0});
}

std::unique_ptr<Kernel> conv_weights(const attributes::ConvWeights &op, const Site &site) {
  kernels::Conv c = conv_at({op.how, {}}, site.src[0].shape, site.src[2].shape);
  c.bias = op.bias && site.dst[1].present;
  if (site.src[1].shape.elements() == 0) return dispatch::zeros(site);
  auto best = dispatch::conv_weights(site, c);
  return c.bias ? with_args(std::move(best), {0, 1}, {0, 1}) : with_args(std::move(best), {0, 1}, {0});
}

std::unique_ptr<Kernel> conv_transpose(const attributes::ConvTranspose &op, const Site &site) {
  const kernels::Conv c = conv_at({op.how, {}}, site.dst[0].shape, site.src[1].shape);
  if (site.dst[0].shape.elements() == 0 || site.src[0].shape.elements() == 0) return dispatch::zeros(site);
  auto weights = site.constant_source(1);
  return dispatch::conv_data(site, c, weights ? &*weights : nullptr);
}

std::unique_ptr<Kernel> pool(const attributes::Pool &op, const Site &site) {
  kernels::Pool p = pool_at(op.how, site.src[0].shape);
  int64_t rows = site.dst[0].shape.elements() == 0 ? 0 : checked_mul(p.n, p.d.out, p.h.out);
  auto run = op.how.average ? kernels::average_pool : kernels::max_pool;
  return sliced(
      op.how.average ? "average_pool" : "max_pool", site, rows, pool_microseconds(p),
      [p, run](int64_t begin, int64_t end, const Run &r) { run(p, r.in<float>(0), r.out<float>(0), begin, end); });
}

std::unique_ptr<Kernel> pool_grad(const attributes::PoolGrad &op, const Site &site) {
  kernels::Pool p = pool_at(op.how, site.src[1].shape);
  if (site.dst[0].shape.elements() == 0) p.n = 0;
  if (op.how.average)
    return sliced("average_pool_grad", site, p.n, pool_microseconds(p), [p](int64_t begin, int64_t end, const Run &r) {
      kernels::average_pool_grad(p, r.in<float>(0), r.out<float>(0), begin, end);
    });
  return sliced("max_pool_grad", site, p.n, pool_microseconds(p), [p](int64_t begin, int64_t end, const Run &r) {
    kernels::max_pool_grad(p, r.in<float>(1), r.in<float>(2), r.in<float>(0), r.out<float>(0), begin, end);
  });
}

std::unique_ptr<Kernel> conv(const ops::ConvOp &op, const Site &site) {
  kernels::Conv c = conv_at(op, site.src[0].shape, site.src[1].shape);
  c.bias = op.fused.bias;
  c.epilogue = epilogue_of(op.fused.activation);
  if (site.dst[0].shape.elements() == 0) return dispatch::nothing();
  auto weights = site.constant_source(1);
  return dispatch::conv(site, c, weights ? &*weights : nullptr);
}

}  // namespace

std::span<const Row> conv_kernels() {
  static const Row rows[] = {
      row<ops::ConvOp, conv>(),
      row<attributes::ConvData, conv_data>(),
      row<attributes::ConvWeights, conv_weights>(),
      row<attributes::ConvTranspose, conv_transpose>(),
      row<attributes::Pool, pool>(),
      row<attributes::PoolGrad, pool_grad>(),
  };
  return rows;
}

}  // namespace dl4::cpu
