// LSTM over whole sequences.
#include "ops/lstm.hpp"
#include "ops/attributes.hpp"
#include "ops/op.hpp"

#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

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
    std::array<Id, lstm_grad_src::count> src{g.dst(lstm_dst::gates),
                                             g.dst(lstm_dst::cells),
                                             g.src(src_recurrent_kernel),
                                             g.src(src_c0),
                                             g.src(src_mask),
                                             dy,
                                             dh,
                                             dc};
    LstmDiffs d = lstm_grad(e, src, go_backwards);
    const Shape w = e.shape(g.src(src_kernel));
    int64_t inputs = w[0], units = w[1] / 4;
    Id flat = reshape(e, d.gates, 0, {free_dim, w[1]});
    if (g.wants(src_x)) g.set(src_x, matmul(e, d.gates, g.src(src_kernel), {false, true}));
    if (g.wants(src_kernel)) {
      Id x = g.src(src_x);
      // A masked step may hold anything, and 0 * NaN is NaN.
      if (g.has(src_mask)) x = select(e, expand_dims(e, g.src(src_mask), 2), x, e.scalar(0));
      // Without elements, a free dim of x can't be inferred.
      g.set(src_kernel, inputs == 0 ? reduce(e, Reduce::sum, matmul(e, x, d.gates, {true, false}), {0})
                                    : matmul(e, reshape(e, x, 0, {free_dim, inputs}), flat, {true, false}));
    }
    if (g.wants(src_recurrent_kernel)) {
      Id before = reshape(e, g.dst(lstm_dst::h_before), 0, {free_dim, units});
      g.set(src_recurrent_kernel, matmul(e, before, flat, {true, false}));
    }
    if (g.wants(src_bias)) g.set(src_bias, reduce(e, Reduce::sum, flat, {0}));
    if (g.wants(src_h0)) g.set(src_h0, d.h0);
    if (g.wants(src_c0)) g.set(src_c0, d.c0);
  }

 private:
  static void want_shape(Operands src, int i, const char *what, const Shape &shape) {
    const Operand &o = src[static_cast<size_t>(i)];
    if (o.present && !compatible(o.shape, shape))
      fail(Code::shape_mismatch, "lstm: expected ", what, " of shape ", shape, ", got ", o.shape);
  }
};

}  // namespace

LstmValues lstm(Emit &e, Id x, Id kernel, Id recurrent_kernel, Id bias, Id h0, Id c0, Id mask, bool go_backwards) {
  auto dst = e.step(make<LstmOp>(go_backwards),
                    {rounded(e, x), rounded(e, kernel), rounded(e, recurrent_kernel), bias, h0, c0, mask});
  return {dst[lstm_dst::y], dst[lstm_dst::h], dst[lstm_dst::c]};
}

}  // namespace dl4::ops
