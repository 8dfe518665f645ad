// Base of Attention, AdditiveAttention and this library's own attentions, which define the scores.
#pragma once

#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {

struct ScoredAttention : Layer {
  bool use_scale = false;
  double dropout = 0;
  std::optional<int64_t> seed;

  Arity arity() const override { return {2, 3}; }
  // A single sample, value (Tv, V) and query (Tq, D) or (D), is handled as a batch of one.
  std::vector<Symbol> call(Call &c) const final;

  // Operands; masks: none if nothing is masked.
  struct Parts {
    ops::Id query, value, key, query_mask, value_mask;
  };
  virtual Parts parts(Call &c) const;
  // query (B, Tq, D), key (B, Tv, D) -> (B, Tq, Tv).
  virtual ops::Id scores(Call &c, ops::Id query, ops::Id key) const = 0;
  // If the scores are dot products with the keys: the left operand, shaped like the query; else none.
  virtual ops::Id dot_query(Call &, ops::Id /*query*/) const { return ops::none; }
  // The weights for these scores, and their valid keys: a mask that broadcasts to them, or none for all.
  struct Weighed {
    ops::Id weights, keep;
  };
  virtual Weighed weighed(Call &c, const Parts &p, ops::Id score, ops::Id keep) const;
  // (B, Tq, 1, D) + (B, 1, Tv, D), for additive scores.
  static ops::Id all_pairs(Call &c, ops::Id query, ops::Id key);

  Facts facts() const override;

 protected:
  virtual std::vector<Symbol> attend(Call &c) const;      // for a batch
  virtual bool takes_one_query() const { return false; }  // (B, D)
  void scored_fields(Fields &f, const char *scale_doc);
};

}  // namespace dl4::kinds
