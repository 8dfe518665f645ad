// What Attention and AdditiveAttention share: all but the scores.
#pragma once

#include "kinds/layers/masks.hpp"

namespace dl4::kinds {

struct ScoredAttention : Layer {
  bool use_scale = false;
  double dropout = 0;
  std::optional<int64_t> seed;

  Arity arity() const override { return {2, 3}; }
  std::vector<Symbol> call(Call &c) const override;

  // query (B, Tq, D), key (B, Tv, D) -> (B, Tq, Tv).
  virtual ops::Id scores(Call &c, ops::Id query, ops::Id key) const = 0;
  // Where the scores are dot products with the keys: of what, shaped as the query; else none.
  virtual ops::Id dot_query(Call &, ops::Id /*query*/) const { return ops::none; }
  // (B, Tq, 1, D) + (B, 1, Tv, D), for scores that are sums over D.
  static ops::Id all_pairs(Call &c, ops::Id query, ops::Id key);

  Facts facts() const override;

 protected:
  void scored_fields(Fields &f, const char *scale_doc);
};

}  // namespace dl4::kinds
