// attention: softmax(q k^T) v without a stored score matrix. The gradient recomputes the scores. cached_attention: its
// shape rule.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/attributes.hpp"
#include "ops/cached_attention.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
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

}  // namespace dl4::ops
