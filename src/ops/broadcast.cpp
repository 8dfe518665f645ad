// broadcast_like, its average for the gradient of a mean, and sum_like: to the shape of another value and back.
#include "ops/broadcast.hpp"

#include <algorithm>

#include "backend/cpu/dispatch/blocks.hpp"
#include "backend/cpu/dispatch/reduce.hpp"
#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "backend/cpu/kernels/movement/strided.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

// Does `small` broadcast to exactly `large`?
void want_broadcast(const char *op, const Shape &small, const Shape &large) {
  bool fits = small.rank() <= large.rank();
  for (int i = 1; fits && i <= small.rank(); ++i)
    fits = small[-i] == 1 || small[-i] == large[-i] || small[-i] == free_dim || large[-i] == free_dim;
  if (!fits) fail(Code::shape_mismatch, op, ": ", small, " does not broadcast to ", large);
}

bool surely_same(const Shape &a, const Shape &b) { return a == b && a.known(); }

}  // namespace

std::vector<Operand> BroadcastOp::infer(Operands src) const {
  if (divided) want_float("mean_grad", src[0]);
  want_broadcast("broadcast", src[0].shape, src[1].shape);
  return {{src[0].dtype, src[1].shape}};
}

void BroadcastOp::gradient(Gradient &g) const {
  if (!g.wants(0) || g.diff_dst() == none) return;
  Emit &e = g.e;
  Id sum = sum_like(e, g.diff_dst(), g.src(0));
  if (divided) sum = div(e, sum, sum_like(e, fill(e, DType::f32, 1, g.src(1), e.rank(g.src(1)), {}), g.src(0)));
  g.set(0, sum);
}

std::unique_ptr<kernels::Kernel> BroadcastOp::kernel(const Site &site) const {
  const Operand &x = site.src[0];
  int64_t n = site.dst[0].shape.elements(), size = size_of(x.dtype);
  if (x.shape.elements() == n) return dispatch::copy_kernel(site);
  double us = us_per_byte * static_cast<double>(checked_mul(n, size));
  const kernels::Strided s = kernels::strided(site.dst[0].shape, {x.shape});
  if (!divided) {
    return sliced(
        "broadcast", site, n, us,
        [=](int64_t begin, int64_t end, const Run &r) {
          kernels::walk(s, begin, end, [&](int64_t at, const auto &offset, int64_t count) {
            const std::byte *from = r.in<std::byte>(0) + offset[0] * size;
            std::byte *to = r.out<std::byte>(0) + at * size;
            if (s.step(0) == 0)
              kernels::fill(size, from, to, count);
            else
              std::copy_n(from, count * size, to);
          });
        },
        line_block);
  }
  float by = n ? static_cast<float>(static_cast<double>(x.shape.elements()) / static_cast<double>(n)) : 0;
  return sliced(
      "mean_grad", site, n, us,
      [=](int64_t begin, int64_t end, const Run &r) {
        kernels::walk(s, begin, end, [&](int64_t at, const auto &offset, int64_t count) {
          kernels::binary_run(Binary::mul, DType::f32, r.in<float>(0) + offset[0], s.step(0), &by, 0,
                              r.out<float>(0) + at, count);
        });
      },
      line_block);
}

std::vector<Operand> SumLikeOp::infer(Operands src) const {
  want_float("sum_like", src[0]);
  want_broadcast("sum_like", src[1].shape, src[0].shape);
  return {{DType::f32, src[1].shape}};
}

void SumLikeOp::gradient(Gradient &g) const {
  if (g.wants(0) && g.diff_dst() != none) g.set(0, broadcast_like(g.e, g.diff_dst(), g.src(0)));
}

std::unique_ptr<kernels::Kernel> SumLikeOp::kernel(const Site &site) const {
  const Shape &x = site.src[0].shape, &y = site.dst[0].shape;
  std::vector<bool> over;
  for (int i = 0; i < x.rank(); ++i) {
    int j = i - (x.rank() - y.rank());
    over.push_back(j < 0 || (y[j] == 1 && x[i] != 1));
  }
  return dispatch::reduce_axes(site, Reduce::sum, over);
}

Id broadcast_like(Emit &e, Id x, Id like) {
  if (surely_same(e.shape(x), e.shape(like))) return x;
  return e.value(std::make_shared<BroadcastOp>(false), {x, like});
}

Id mean_grad(Emit &e, Id x, Id like) {
  if (surely_same(e.shape(x), e.shape(like))) return x;
  return e.value(std::make_shared<BroadcastOp>(true), {x, like});
}

Id sum_like(Emit &e, Id x, Id like) {
  if (surely_same(e.shape(x), e.shape(like))) return x;
  return e.value(std::make_shared<SumLikeOp>(), {x, like});
}

}  // namespace dl4::ops
