// Max and average pooling over NHWC, and their gradient.
#include "kernels/reduce/pool.hpp"

#include <array>

#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"
#include "ops/windows.hpp"

namespace dl4::ops {
namespace {

using kernels::Kernel;
using kernels::Run;

Shape pool_shape(const Pool &how, const Shape &x) {
  if (x.rank() != 4)
    fail(Code::shape_mismatch, "pool: expected an input of 4 axes (batch, height, width, channels), got ", x);
  auto h = windows("pool", "pool_size", x[1], how.size[0], how.strides[0], 1, how.padding);
  auto w = windows("pool", "pool_size", x[2], how.size[1], how.strides[1], 1, how.padding);
  return {x[0], h.out, w.out, x[3]};
}

kernels::Pool pool_at(const Pool &how, const Shape &x) {
  auto h = windows("pool", "pool_size", x[1], how.size[0], how.strides[0], 1, how.padding);
  auto w = windows("pool", "pool_size", x[2], how.size[1], how.strides[1], 1, how.padding);
  return {x[0],  x[1],  x[2],           x[3],           how.size[0],  how.size[1],
          h.out, w.out, how.strides[0], how.strides[1], h.pad_before, w.pad_before};
}

double pool_microseconds(const kernels::Pool &p) {
  auto real = [](int64_t v) { return static_cast<double>(v); };
  const double cells = real(std::min(p.kh, p.h)) * real(std::min(p.kw, p.w));
  return real(p.n) * real(p.oh) * real(p.ow) * real(p.c) * (cells + 1) * 4 * us_per_byte;
}

// dy, x [, y of a maximum] -> dx.
struct PoolGradOp final : NotDifferentiable<PoolGradOp> {
  Pool how;

  explicit PoolGradOp(const Pool &how) : how(how) {}
  void fields(auto &f) const { how.fields(f); }
  std::string_view name() const override { return "pool_grad"; }
  bool reads(int src) const override { return src == 0 || !how.average; }

  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &o : src) want_float("pool_grad", o);
    same_shape("pool_grad", pool_shape(how, src[1].shape), src[0].shape);
    return {{DType::f32, src[1].shape}};
  }

  std::unique_ptr<Kernel> kernel(const Site &site) const override {
    kernels::Pool p = pool_at(how, site.src[1].shape);
    if (site.dst[0].shape.elements() == 0) p.n = 0;
    if (how.average)
      return sliced("average_pool_grad", site, p.n, pool_microseconds(p),
                    [p](int64_t begin, int64_t end, const Run &r) {
                      kernels::average_pool_grad(p, r.src<float>(0), r.dst<float>(2), begin, end);
                    });
    return sliced("max_pool_grad", site, p.n, pool_microseconds(p), [p](int64_t begin, int64_t end, const Run &r) {
      kernels::max_pool_grad(p, r.src<float>(1), r.src<float>(2), r.src<float>(0), r.dst<float>(3), begin, end);
    });
  }
};

struct PoolOp final : OpOf<PoolOp> {
  Pool how;

  explicit PoolOp(const Pool &how) : how(how) {}
  void fields(auto &f) const { how.fields(f); }
  std::string_view name() const override { return "pool"; }

  std::vector<Operand> infer(Operands src) const override {
    want_float("pool", src[0]);
    return {{DType::f32, pool_shape(how, src[0].shape)}};
  }

  void gradient(Gradient &g) const override {
    Id dy = g.diff_dst();
    if (dy == none || !g.wants(0)) return;
    std::vector<Id> src{dy, g.src(0)};
    if (!how.average) src.push_back(g.dst());
    g.set(0, g.e.value(std::make_shared<PoolGradOp>(how), src));
  }

  std::unique_ptr<Kernel> kernel(const Site &site) const override {
    kernels::Pool p = pool_at(how, site.src[0].shape);
    int64_t rows = site.dst[0].shape.elements() == 0 ? 0 : checked_mul(p.n, p.oh);
    auto run = how.average ? kernels::average_pool : kernels::max_pool;
    return sliced(
        how.average ? "average_pool" : "max_pool", site, rows, pool_microseconds(p),
        [p, run](int64_t begin, int64_t end, const Run &r) { run(p, r.src<float>(0), r.dst<float>(1), begin, end); });
  }
};

}  // namespace

Id pool(Emit &e, Id x, const Pool &how) {
  if (how.padding == Padding::causal) fail(Code::invalid_argument, "pool: padding must be valid or same, got causal");
  for (int64_t s : how.strides)
    if (s < 1) fail(Code::invalid_argument, "pool: strides must be at least 1, got ", s);
  return e.value(std::make_shared<PoolOp>(how), {x});
}

}  // namespace dl4::ops
