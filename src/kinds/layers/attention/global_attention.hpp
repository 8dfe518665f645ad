// Base of GlobalAttention and LocalAttention: score functions and distributions.
#pragma once

#include "kinds/initializer.hpp"
#include "kinds/layers/attention/scored_attention.hpp"

namespace dl4::kinds {

struct FreeAttention : ScoredAttention {
  enum class Score { dot, scaled, general, concat, location, content } score = Score::dot;
  enum class Distribution { softmax, hardmax, sparsemax } distribution = Distribution::softmax;
  std::optional<double> temperature = 1;  // none: infinite
  std::optional<int64_t> units;
  Of<Initializer> kernel_initializer = parse<Initializer>("GlorotUniform");

  ops::Id dot_query(Call &c, ops::Id query) const override;
  ops::Id scores(Call &c, ops::Id query, ops::Id key) const override;
  Weighed weighed(Call &c, const Parts &p, ops::Id score, ops::Id keep) const override;

 protected:
  std::vector<Symbol> attend(Call &c) const override;
  bool takes_one_query() const override { return true; }
  void free_fields(Fields &f);
  Facts free_facts() const;
  int64_t units_of(Call &c) const { return units.value_or(c.last_dim(0)); }
  // Query with one time axis; image axes of query, value and key are flattened.
  Parts parts(Call &c) const override;

 private:
  ops::Id scaled_query(Call &c, ops::Id query) const;
  ops::Id pair_scores(Call &c, ops::Id query, ops::Id key) const;
};

}  // namespace dl4::kinds
