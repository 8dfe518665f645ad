// attention: softmax(q k^T) v without a stored score matrix. The gradient recomputes the scores. cached_attention: its
// shape rule.
// LSTM over whole sequences, and its gradient: the gradients of the gates, from which products compute those of the
// weights. gru_cell: a GRU's step without its products.
// ctc: the probability of labels over all their alignments with a sequence, in double.

#include "ops/attributes.hpp"
#include "ops/lstm.hpp"
#include "ops/matched.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

enum Source { src_q, src_k, src_v, src_attention_mask, src_attention_count };
enum Destination { dst_y, dst_peak, dst_sum };
enum GradSource { grad_peak = src_attention_count, grad_sum, grad_dy };

// The gradients of q, k and v, each of the whole batch; those of the same value are summed.
struct AttentionGradOp final : NotDifferentiable<AttentionGradOp, "attention_grad", attributes::AttentionGrad> {
  std::vector<Operand> infer(Operands src) const override {
    std::vector<Operand> dst(static_cast<size_t>(1 + *std::max_element(into.begin(), into.end())));
    const int one = how.heads ? 3 : 2;  // axes of one sequence
    const Shape &dy = src[grad_dy].shape, batch = dy.first(dy.rank() - one);
    for (size_t i = 0; i < into.size(); ++i)
      if (into[i] >= 0) dst[static_cast<size_t>(into[i])] = {DType::f32, batch.joined(src[i].shape.last(one))};
    return dst;
  }
};

struct AttentionOp final : OpOf<AttentionOp, "attention", attributes::Attention> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &q = src[src_q].shape, &k = src[src_k].shape, &v = src[src_v].shape;
    for (int i = 0; i < src_attention_mask; ++i) want_float(op, src[static_cast<size_t>(i)]);
    const int least = how.heads ? 3 : 2;
    if (q.rank() < least || k.rank() != q.rank() || v.rank() != q.rank())
      fail(Code::shape_mismatch, "attention: expected query, key and value with as many axes, at least ", least,
           "; got ", q, ", ", k, " and ", v);
    auto leading = [&](const Shape &s) { return s.first(s.rank() - least); };
    Shape batch = broadcast(broadcast(leading(q), leading(k)), leading(v));
    if (!compatible(Shape{q[-1]}, Shape{k[-1]}))
      fail(Code::shape_mismatch, "attention: query and key need the same features, got ", q, " and ", k);
    if (!compatible(Shape{k[-least]}, Shape{v[-least]}))
      fail(Code::shape_mismatch, "attention: key and value need as many steps, got ", k, " and ", v);
    if (how.heads) need_groups(q, k, v);
    if (const Operand &mask = src[src_attention_mask]; mask.present) {
      want_type("attention mask", mask, DType::boolean);
      if (mask.shape.rank() != batch.rank() + 1 || !compatible(mask.shape.last(1), Shape{k[-least]}))
        fail(Code::shape_mismatch, "attention: expected a mask of shape ", batch.joined({k[-least]}), ", got ",
             mask.shape);
      batch = broadcast(batch, mask.shape.first(batch.rank()));
    }
    for (int i = 0; i < src_attention_count; ++i)
      if (src[static_cast<size_t>(i)].present)
        need_all_or_one(src[static_cast<size_t>(i)].shape.first(batch.rank()), batch);
    Shape y = batch.joined({q[-least]}), facts = y;
    if (how.heads) y = y.joined({q[-2]}), facts = batch.joined({q[-2], q[-3]});
    Operand of_query{DType::f32, facts};
    return {{DType::f32, y.joined({v[-1]})}, of_query, of_query};
  }

  void gradient(Gradient &g) const override {
    if (g.diff_dst(dst_y) == none || g.diff_dst(dst_sum) != none) return;  // the sums have none
    std::array<int, 3> into{-1, -1, -1};
    int count = 0;
    for (int i = 0; i < 3; ++i) {
      if (!g.wants(i)) continue;
      for (int j = 0; j < i; ++j)
        if (g.src(j) == g.src(i)) into[static_cast<size_t>(i)] = into[static_cast<size_t>(j)];
      if (into[static_cast<size_t>(i)] >= 0) continue;
      into[static_cast<size_t>(i)] = count++;
    }
    if (count == 0) return;
    auto d =
        g.e.step(make<AttentionGradOp>(how, into), {g.src(src_q), g.src(src_k), g.src(src_v), g.src(src_attention_mask),
                                                    g.dst(dst_peak), g.dst(dst_sum), g.diff_dst(dst_y)});
    for (int i = 2; i >= 0; --i) {
      int to = into[static_cast<size_t>(i)];
      // Each sum is set once.
      if (to >= 0 && std::find(into.begin(), into.begin() + i, to) == into.begin() + i)
        g.set(i, sum_like(g.e, d[static_cast<size_t>(to)], g.src(i)));
    }
  }

 private:
  static void need_all_or_one(const Shape &own, const Shape &batch) {
    if (own.known() && batch.known() && own != batch && own.elements() != 1)
      fail(Code::shape_mismatch, "attention: expected sequences of batch ", batch, " or one, got ", own);
  }
  static void need_groups(const Shape &q, const Shape &k, const Shape &v) {
    const int64_t heads = q[-2], groups = k[-2];
    if (groups != v[-2] || groups < 1 || heads < 1 || heads % groups != 0)
      fail(Code::shape_mismatch, "attention: expected as many heads of values as of keys, by which those of queries ",
           "divide; got ", q, ", ", k, " and ", v);
  }
};

}  // namespace

AttentionValues attention(Emit &e, Id q, Id k, Id v, Id mask, const Attention &how) {
  auto dst = e.step(make<AttentionOp>(how), {rounded(e, q), rounded(e, k), rounded(e, v), mask});
  return {dst[dst_y], dst[dst_sum]};
}

std::vector<Operand> CachedAttentionOp::infer(Operands src) const {
  const Shape &q = src[0].shape, &k = src[1].shape, &v = src[2].shape;
  for (size_t i = 0; i < 3; ++i) want_float("cached_attention", src[i]);
  want_type("cached_attention", src[4], DType::i64);
  const int rank = how.heads ? 4 : 3;
  if (q.rank() != rank || k.rank() != rank || v.rank() != rank || !compatible(q.last(1), k.last(1)) || k[1] != v[1] ||
      k[1] == free_dim || q[1] == free_dim)
    fail(Code::shape_mismatch, "cached_attention: queries ", q, " can't attend to keys ", k, " and values ", v);
  if (how.heads && (k[2] != v[2] || k[2] < 1 || q[2] % k[2] != 0))
    fail(Code::shape_mismatch, "cached_attention: ", q[2], " heads can't share ", k[2], " of keys and ", v[2],
         " of values");
  const bool fresh = src.size() > 5;
  if (checked_add(how.window, fresh ? -1 : q[1] - 1) > k[1] || how.window < 1)
    fail(Code::invalid_argument, "cached_attention: a window of ", how.window, " steps does not fit in ", k[1]);
  const auto want_mask = [](const Operand &mask, const Shape &keys) {
    if (!mask.present) return;
    want_type("cached_attention mask", mask, DType::boolean);
    if (!compatible(mask.shape, keys.first(2)))
      fail(Code::shape_mismatch, "cached_attention: expected a mask of shape ", keys.first(2), ", got ", mask.shape);
  };
  want_mask(src[3], k);
  if (fresh) {
    const Shape new_k = k.with(1, q[1]), new_v = v.with(1, q[1]);
    if (!compatible(src[5].shape, new_k) || !compatible(src[6].shape, new_v) || src[7].present != src[3].present)
      fail(Code::shape_mismatch, "cached_attention: expected new keys ", new_k, " and values ", new_v, ", got ",
           src[5].shape, " and ", src[6].shape);
    want_mask(src[7], new_k);
  }
  const Shape facts = how.heads ? Shape{q[0], q[2], q[1]} : q.first(2);
  return {{DType::f32, q.with(rank - 1, v.last())}, {DType::f32, facts}};
}

AttentionValues cached_attention(Emit &e, Id q, Id keys, Id values, Id mask, Id tick, const CachedAttention &how,
                                 const NewKeys &fresh) {
  std::vector<Id> src{q, keys, values, mask, tick};
  if (fresh.keys != none) src.insert(src.end(), {fresh.keys, fresh.values, fresh.mask});
  const auto dst = e.step(std::make_shared<CachedAttentionOp>(how), std::move(src));
  return {dst[0], dst[1]};
}

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

namespace {

enum CtcSource { ctc_x, ctc_logs, ctc_labels };

struct CtcOp final : OpOf<CtcOp, "ctc", attributes::Ctc> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[ctc_logs]);
    want_type("the labels of ctc", src[ctc_labels], DType::i32);
    const Shape &labels = src[ctc_labels].shape, x = same_shape(op, src[ctc_x].shape, src[ctc_logs].shape);
    if (x.rank() != 3) fail(Code::shape_mismatch, "ctc expects (batch, steps, classes), got ", x);
    if (labels.rank() != 2 || !compatible(labels.first(1), x.first(1)))
      fail(Code::shape_mismatch, "ctc expects labels (batch, length) for ", x, ", got ", labels);
    if (x[2] == 0) fail(Code::shape_mismatch, "ctc expects at least one class, got ", x);
    return {{DType::f32, same_shape(op, x.first(1), labels.first(1))}, {DType::f32, x}};
  }
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    if (g.wants(ctc_x)) {
      const Id by = expand_dims(e, expand_dims(e, g.diff_dst(), -1), -1);
      g.set(ctc_x, mul(e, sub(e, unary(e, Unary::exp, g.src(ctc_logs)), g.dst(1)), by));
    }
    g.stop(ctc_logs);
  }
};

}  // namespace

Id ctc(Emit &e, Id x, Id labels) { return e.step(make<CtcOp>(), {x, log_softmax(e, x), labels})[0]; }

}  // namespace dl4::ops
