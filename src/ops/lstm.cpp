// LSTM over whole sequences, and its gradient: the gradients of the gates, from which products compute those of the
// weights. gru_cell: a GRU's step without its products.
#include "ops/lstm.hpp"

#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct LstmGradOp final : NotDifferentiable<LstmGradOp, "lstm_grad", attributes::LstmGrad> {
  int overwrites(int dst) const override { return dst == 0 ? lstm_grad_src::gates : -1; }

  std::vector<Operand> infer(Operands src) const override {
    const Shape &gates = src[lstm_grad_src::gates].shape;
    Shape state{gates[0], src[lstm_grad_src::recurrent_kernel].shape[0]};
    return {{DType::f32, gates}, {DType::f32, state}, {DType::f32, state}};
  }
};

struct LstmOp final : OpOf<LstmOp, "lstm", attributes::Lstm> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[src_x].shape, &w = src[src_kernel].shape, &r = src[src_recurrent_kernel].shape;
    for (int i = 0; i < src_mask; ++i)
      if (src[static_cast<size_t>(i)].present) want_float(op, src[static_cast<size_t>(i)]);
    if (x.rank() != 3) fail(Code::shape_mismatch, "lstm: expected an input of 3 axes (batch, time, features), got ", x);
    if (r.rank() != 2 || !r.known() || r[1] != checked_mul(4, r[0]))
      fail(Code::shape_mismatch, "lstm: expected a recurrent kernel of shape (units, 4 * units), got ", r);
    int64_t units = r[0], gates = r[1], batch = x[0], time = x[1];
    want_shape(src, src_kernel, "kernel", {x[2], gates});
    if (!w.known()) fail(Code::shape_mismatch, "lstm: the number of input features must be known, got ", x);
    want_shape(src, src_bias, "bias", {gates});
    want_shape(src, src_h0, "initial state h", {batch, units});
    want_shape(src, src_c0, "initial state c", {batch, units});
    want_shape(src, src_mask, "mask", {batch, time});
    if (src[src_mask].present) {
      want_type("lstm mask", src[src_mask], DType::boolean);
      if (time == free_dim) time = src[src_mask].shape[1];
    }
    for (int i : {src_h0, src_c0, src_mask})
      if (batch == free_dim && src[static_cast<size_t>(i)].present) batch = src[static_cast<size_t>(i)].shape[0];
    Shape steps{batch, time, units}, state{batch, units};
    return {{DType::f32, steps}, {DType::f32, state}, {DType::f32, state}, {DType::f32, {batch, time, gates}},
            {DType::f32, steps}, {DType::f32, steps}};
  }

  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    Id dy = g.diff_dst(lstm_dst::y), dh = g.diff_dst(lstm_dst::h), dc = g.diff_dst(lstm_dst::c);
    if (dy == none && dh == none && dc == none) return;
    // In the order of lstm_grad_src; destinations: the gradients of gates (by x kernel + bias, (B, T, 4U)), h0 and c0.
    const auto d = e.step(make<LstmGradOp>(go_backwards),
                          {g.dst(lstm_dst::gates), g.dst(lstm_dst::cells), g.src(src_recurrent_kernel), g.src(src_c0),
                           g.src(src_mask), dy, dh, dc});
    const Shape w = e.shape(g.src(src_kernel));
    int64_t inputs = w[0], units = w[1] / 4;
    Id flat = reshape(e, d[0], 0, {free_dim, w[1]});
    if (g.wants(src_x)) g.set(src_x, matmul(e, d[0], g.src(src_kernel), {false, true}));
    if (g.wants(src_kernel)) {
      Id x = g.src(src_x);
      // A masked step may hold anything, and 0 * NaN is NaN.
      if (g.has(src_mask)) x = select(e, expand_dims(e, g.src(src_mask), 2), x, e.scalar(0));
      // Without elements, a free dim of x can't be inferred.
      g.set(src_kernel, inputs == 0 ? reduce(e, Reduce::sum, matmul(e, x, d[0], {true, false}), {0})
                                    : matmul(e, reshape(e, x, 0, {free_dim, inputs}), flat, {true, false}));
    }
    if (g.wants(src_recurrent_kernel)) {
      Id before = reshape(e, g.dst(lstm_dst::h_before), 0, {free_dim, units});
      g.set(src_recurrent_kernel, matmul(e, before, flat, {true, false}));
    }
    if (g.wants(src_bias)) g.set(src_bias, reduce(e, Reduce::sum, flat, {0}));
    if (g.wants(src_h0)) g.set(src_h0, d[1]);
    if (g.wants(src_c0)) g.set(src_c0, d[2]);
  }

 private:
  static void want_shape(Operands src, int i, const char *what, const Shape &shape) {
    const Operand &o = src[static_cast<size_t>(i)];
    if (o.present && !compatible(o.shape, shape))
      fail(Code::shape_mismatch, "lstm: expected ", what, " of shape ", shape, ", got ", o.shape);
  }
};

struct GruCellGradOp final : NotDifferentiable<GruCellGradOp, "gru_cell_grad", attributes::GruCellGrad> {
  std::vector<Operand> infer(Operands src) const override { return {src[0], src[1], src[2]}; }
  int overwrites(int dst) const override { return dst; }
};

struct GruCellOp final : OpOf<GruCellOp, "gru_cell", attributes::GruCell> {
  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &o : src) want_float(op, o);
    const Shape &h = src[2].shape;
    if (h.rank() != 2 || h[1] == free_dim) fail(Code::shape_mismatch, "gru_cell: expected a state (B, U), got ", h);
    const Shape gates{h[0], checked_mul(3, h[1])};
    for (size_t i : {size_t{0}, size_t{1}})
      if (!compatible(src[i].shape, gates))
        fail(Code::shape_mismatch, "gru_cell: expected gates of shape ", gates, ", got ", src[i].shape);
    return {{DType::f32, h}};
  }
  void gradient(Gradient &g) const override {
    auto d = g.e.step(make<GruCellGradOp>(), {g.src(0), g.src(1), g.src(2), g.diff_dst()});
    for (int i = 0; i < 3; ++i)
      if (g.wants(i)) g.set(i, d[static_cast<size_t>(i)]);
  }
  int overwrites(int) const override { return 2; }
};

}  // namespace

LstmValues lstm(Emit &e, Id x, Id kernel, Id recurrent_kernel, Id bias, Id h0, Id c0, Id mask, bool go_backwards) {
  auto dst = e.step(make<LstmOp>(go_backwards),
                    {rounded(e, x), rounded(e, kernel), rounded(e, recurrent_kernel), bias, h0, c0, mask});
  return {dst[lstm_dst::y], dst[lstm_dst::h], dst[lstm_dst::c]};
}

Id gru_cell(Emit &e, Id from_x, Id from_h, Id h) { return e.value(make<GruCellOp>(), {from_x, from_h, h}); }

}  // namespace dl4::ops
