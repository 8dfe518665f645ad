// Max and average pooling over images, sequences or volumes, and their gradient.
#include "backend/cpu/kernels/reduce/pool.hpp"

#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"
#include "ops/windows.hpp"

namespace dl4::ops {
namespace {

using kernels::Kernel;
using kernels::Run;

int spatial(const Pool &how) { return static_cast<int>(how.size.size()); }

Windows windows_along(const Pool &how, int axis, int64_t n) {
  const auto i = static_cast<size_t>(axis);
  if (!how.adaptive) return windows("pool", "pool_size", n, how.size[i], how.strides[i], 1, how.padding);
  if (n == 0) fail(Code::shape_mismatch, "pool: an axis without places can't be shared out to ", how.size[i]);
  return {how.size[i], 0};
}

Shape pool_shape(const Pool &how, const Shape &x) {
  constexpr const char *axes[] = {"time", "height, width", "depth, height, width"};
  if (x.rank() != spatial(how) + 2)
    fail(Code::shape_mismatch, "pool: expected an input of ", spatial(how) + 2, " axes (batch, ",
         axes[spatial(how) - 1], ", channels), got ", x);
  Shape y = x;
  for (int i = 0; i < spatial(how); ++i) y = y.with(i + 1, windows_along(how, i, x[i + 1]).out);
  return y;
}

kernels::Pool pool_at(const Pool &how, const Shape &x) {
  kernels::Pool p;
  p.n = x[0], p.c = x.last(), p.adaptive = how.adaptive;
  kernels::PoolAxis *const axes[] = {&p.d, &p.h, &p.w};
  for (int i = 0; i < spatial(how); ++i) {
    const auto at = static_cast<size_t>(i);
    const Windows seen = windows_along(how, i, x[i + 1]);
    *axes[i + 3 - spatial(how)] = {x[i + 1], how.size[at], seen.out, how.adaptive ? 1 : how.strides[at],
                                   seen.pad_before};
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

// dy, x [, y of a maximum] -> dx.
struct PoolGradOp final : OpOf<PoolGradOp> {
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

  // Of an average it is linear in dy; of a maximum it is refused.
  void gradient(Gradient &g) const override {
    if (how.average && g.wants(0)) g.set(0, pool(g.e, g.diff_dst(), how));
  }

  std::unique_ptr<Kernel> kernel(const Site &site) const override {
    kernels::Pool p = pool_at(how, site.src[1].shape);
    if (site.dst[0].shape.elements() == 0) p.n = 0;
    if (how.average)
      return sliced("average_pool_grad", site, p.n, pool_microseconds(p),
                    [p](int64_t begin, int64_t end, const Run &r) {
                      kernels::average_pool_grad(p, r.in<float>(0), r.out<float>(0), begin, end);
                    });
    return sliced("max_pool_grad", site, p.n, pool_microseconds(p), [p](int64_t begin, int64_t end, const Run &r) {
      kernels::max_pool_grad(p, r.in<float>(1), r.in<float>(2), r.in<float>(0), r.out<float>(0), begin, end);
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
    int64_t rows = site.dst[0].shape.elements() == 0 ? 0 : checked_mul(p.n, p.d.out, p.h.out);
    auto run = how.average ? kernels::average_pool : kernels::max_pool;
    return sliced(
        how.average ? "average_pool" : "max_pool", site, rows, pool_microseconds(p),
        [p, run](int64_t begin, int64_t end, const Run &r) { run(p, r.in<float>(0), r.out<float>(0), begin, end); });
  }
};

}  // namespace

Id pool(Emit &e, Id x, const Pool &how) {
  if (how.padding == Padding::causal) fail(Code::invalid_argument, "pool: padding must be valid or same, got causal");
  if (how.size.empty() || how.size.size() > 3 || how.strides.size() != (how.adaptive ? 0 : how.size.size()))
    fail(Code::invalid_argument, "pool: expected sizes and strides of one to three axes, got ", numbers(how.size),
         " and ", numbers(how.strides));
  for (int64_t s : how.strides)
    if (s < 1) fail(Code::invalid_argument, "pool: strides must be at least 1, got ", s);
  for (int64_t s : how.size)
    if (how.adaptive && s < 1) fail(Code::invalid_argument, "pool: the output's size must be at least 1, got ", s);
  return e.value(std::make_shared<PoolOp>(how), {x});
}

}  // namespace dl4::ops
