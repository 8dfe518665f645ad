// cached_attention: its shape rule.
#include "ops/cached_attention.hpp"

#include "ops/wants.hpp"

namespace dl4::ops {

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
