// cached_attention: attention of the newest steps to the latest ones, whose keys and values lie in rings.
#pragma once

#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

// Attention, causal, of the n queries (N, n, ..) from step tick * each on, over the latest `window` steps up to each
// that are not below `first`. The rings (N, capacity, ..) of keys, values and perhaps a mask have taken these steps in.
struct CachedAttention {
  bool heads = false;
  float scale = 1;
  int64_t window = 0, first = 0, each = 1;
  void fields(auto &f) const {
    f("heads", heads), f("scale", scale), f("window", window), f("first", first), f("each", each);
  }
};

struct CachedAttentionOp final : NotDifferentiable<CachedAttentionOp> {
  CachedAttention how;

  explicit CachedAttentionOp(CachedAttention how) : how(how) {}
  void fields(auto &f) const { how.fields(f); }
  std::string_view name() const override { return "cached_attention"; }
  std::vector<Operand> infer(Operands src) const override;
};

// The tick's own steps, where the rings have not taken these in yet.
struct NewKeys {
  Id keys = none, values = none, mask = none;
};
// mask: none where no key is masked. As attention(): a query that sees no key gives 0, and its sum is 0.
AttentionValues cached_attention(Emit &e, Id q, Id keys, Id values, Id mask, Id tick, const CachedAttention &how,
                                 const NewKeys &fresh = {});

}  // namespace dl4::ops
