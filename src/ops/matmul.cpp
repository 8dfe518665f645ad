// Matrix products with NumPy's broadcasting of leading axes, bias and activation.
#include "ops/matmul.hpp"
#include "ops/op.hpp"

#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// The axes before the last two.
Shape batch_of(const Shape &s) { return s.first(s.rank() - 2); }

// Whether dB is a single product over all rows of all items.
bool is_flat(Emit &e, const MatMul &how, Id a, Id b) {
  if (e.rank(b) != 2 || e.rank(a) == 2 || how.transpose_a || !e.shape(b).known()) return false;
  return e.shape(b).elements() > 0;  // a free dim can't be inferred without elements
}

Id flat_weights(Emit &e, const MatMul &how, Id a, Id b, Id dc) {
  const Shape w = e.shape(b);
  int64_t k = w[how.transpose_b ? 1 : 0], n = w[how.transpose_b ? 0 : 1];
  Id rows = reshape(e, a, 0, {free_dim, k}), diff = reshape(e, dc, 0, {free_dim, n});
  const MatMul product{true, false, how.bfloat16};
  return how.transpose_b ? matmul(e, diff, rows, product) : matmul(e, rows, diff, product);
}

// The gradient of v, summed over batch axes along which v was broadcast against `other`.
Id summed(Emit &e, Id diff, Id v, Id other) {
  bool same = e.rank(other) == 2 || e.shape(diff).rank() == e.rank(v);
  for (int i = 0; e.rank(other) > 2 && same && i + 2 < e.rank(v); ++i)
    same = e.shape(v)[i] != free_dim && e.shape(v)[i] == e.shape(diff)[i];
  return same ? diff : sum_like(e, diff, v);
}

}  // namespace

std::vector<Operand> MatMulOp::infer(Operands src) const {
  const Shape &a = src[0].shape, &b = src[1].shape;
  for (const Operand &o : src) want_float("matmul", o);
  if (a.rank() < 2 || b.rank() < 2)
    fail(Code::shape_mismatch, "matmul: both inputs need at least 2 axes, got ", a, " and ", b);
  int64_t m = a[how.transpose_a ? -1 : -2], ka = a[how.transpose_a ? -2 : -1];
  int64_t n = b[how.transpose_b ? -2 : -1], kb = b[how.transpose_b ? -1 : -2];
  if (ka != kb && ka != free_dim && kb != free_dim)
    fail(Code::shape_mismatch, "matmul: inner dimensions must be equal, got ", ka, " and ", kb, " from shapes ", a,
         " and ", b);
  if (fused.bias) {
    if (!compatible(src[2].shape, Shape{n}))
      fail(Code::shape_mismatch, "matmul: expected a bias of shape ", Shape{n}, ", got ", src[2].shape);
    if (n == free_dim) n = src[2].shape[0];
  }
  return {{DType::f32, broadcast(batch_of(a), batch_of(b)).joined({m, n})}};
}

void MatMulOp::gradient(Gradient &g) const {
  if (fused.activation) fail(Code::internal, "matmul: a fused step has no gradient");
  Emit &e = g.e;
  Id a = g.src(0), b = g.src(1), dc = g.diff_dst();
  bool ta = how.transpose_a, tb = how.transpose_b;
  auto product = [&](Id left, Id right, bool transpose_left, bool transpose_right) {
    return matmul(e, left, right, {transpose_left, transpose_right, how.bfloat16});
  };
  if (g.wants(0)) g.set(0, summed(e, ta ? product(b, dc, tb, true) : product(dc, b, false, !tb), a, b));
  if (g.wants(1)) {
    if (is_flat(e, how, a, b))
      g.set(1, flat_weights(e, how, a, b, dc));
    else
      g.set(1, summed(e, tb ? product(dc, a, true, ta) : product(a, dc, !ta, false), b, a));
  }
  if (g.wants(2)) {
    std::vector<int> rows;
    for (int i = 0; i + 1 < e.rank(dc); ++i) rows.push_back(i);
    g.set(2, reduce(e, Reduce::sum, dc, rows));
  }
}

Id matmul(Emit &e, Id a, Id b, MatMul how, Id bias) {
  std::vector<Id> src{a, b};
  how.bfloat16 |= e.bfloat16;
  if (bias != none) src.push_back(bias);
  return e.value(std::make_shared<MatMulOp>(how, Fused{bias != none}), src);
}

}  // namespace dl4::ops
