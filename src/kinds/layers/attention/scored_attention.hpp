// What Attention, AdditiveAttention and those of our own share: all but the scores.
#pragma once

#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {

struct ScoredAttention : Layer {
  bool use_scale = false;
  double dropout = 0;
  std::optional<int64_t> seed;

  Arity arity() const override { return {2, 3}; }
  // Of one sample, a value (Tv, V) and a query (Tq, D) or (D), as of a batch of one.
  std::vector<Symbol> call(Call &c) const final;

  // What is attended with and to; masks: none where nothing is masked.
  struct Parts {
    ops::Id query, value, key, query_mask, value_mask;
  };
  virtual Parts parts(Call &c) const;
  // query (B, Tq, D), key (B, Tv, D) -> (B, Tq, Tv).
  virtual ops::Id scores(Call &c, ops::Id query, ops::Id key) const = 0;
  // Where the scores are dot products with the keys: of what, shaped as the query; else none.
  virtual ops::Id dot_query(Call &, ops::Id /*query*/) const { return ops::none; }
  // The weights by the scores, and which keys they are of: those of `keep`, which broadcasts to them, or none = all.
  struct Weighed {
    ops::Id weights, keep;
  };
  virtual Weighed weighed(Call &c, const Parts &p, ops::Id score, ops::Id keep) const;
  // (B, Tq, 1, D) + (B, 1, Tv, D), for scores that are sums over D.
  static ops::Id all_pairs(Call &c, ops::Id query, ops::Id key);

  Facts facts() const override;

 protected:
  virtual std::vector<Symbol> attend(Call &c) const;      // of a batch
  virtual bool takes_one_query() const { return false; }  // (B, D)
  void scored_fields(Fields &f, const char *scale_doc);
};

}  // namespace dl4::kinds
