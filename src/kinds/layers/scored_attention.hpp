// What Attention and AdditiveAttention share: all but the scores.
#pragma once

#include "kinds/layers/facts.hpp"
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

  static Facts facts();
};

template <class T>
auto scored_attention_fields(bool use_scale, const char *scale_doc) {
  return std::tuple{field<T, bool>("use_scale", &T::use_scale).otherwise(use_scale).doc(scale_doc),
                    field<T, double>("dropout", &T::dropout)
                        .otherwise(0.0)
                        .at_least(0)
                        .at_most(1)
                        .doc("fraction of the attention weights to drop in training"),
                    field<T, std::optional<int64_t>>("seed", &T::seed)
                        .otherwise(nullptr)
                        .doc("seed of the dropout; null = from the context's")};
}

}  // namespace dl4::kinds
