// cached_attention: attention of new steps to the latest ones, with keys and values in ring buffers.
#pragma once

#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

// Causal attention of the n queries (N, n, ..), steps from tick * each on, over the latest `window` steps up to each,
// none below `first`. The rings (N, capacity, ..) of keys, values and optionally a mask contain these steps.
struct CachedAttention {
  bool heads = false;
  float scale = 1;
  int64_t window = 0, first = 0, each = 1;
  void fields(auto &f) const {
    f("heads", heads), f("scale", scale), f("window", window), f("first", first), f("each", each);
  }
};

struct CachedAttentionOp final : NotDifferentiable<CachedAttentionOp, "cached_attention"> {
  CachedAttention how;

  explicit CachedAttentionOp(CachedAttention how) : how(how) {}
  void fields(auto &f) const { how.fields(f); }
  std::vector<Operand> infer(Operands src) const override;
};

// The tick's own steps, if they are not in the rings yet.
struct NewKeys {
  Id keys = none, values = none, mask = none;
};
// mask: none if no key is masked. As with attention(), a query that sees no key gives 0 with sum 0.
AttentionValues cached_attention(Emit &e, Id q, Id keys, Id values, Id mask, Id tick, const CachedAttention &how,
                                 const NewKeys &fresh = {});

}  // namespace dl4::ops
