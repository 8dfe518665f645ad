// AdditiveAttention: Bahdanau's, by sums.
#include "kinds/initializer.hpp"
#include "kinds/layers/scored_attention.hpp"

namespace dl4::kinds {
namespace {

struct AdditiveAttention : ScoredAttention {
  static constexpr const char *name = "AdditiveAttention";
  static constexpr const char *doc =
      "Additive attention: the scores are the sum of scale * tanh(query + key). Inputs are query, value and, if it "
      "is not the value, key.";

  static auto fields() {
    return scored_attention_fields<AdditiveAttention>(true, "multiplies each feature by a learned number");
  }
  static Json more() {
    Facts f = facts();
    f.weights = {{"scale", "(D)", "use_scale"}};
    return f.json();
  }

  ops::Id scores(Call &c, ops::Id query, ops::Id key) const override {
    ops::Id sum = ops::unary(c.e, ops::Unary::tanh, all_pairs(c, query, key));
    if (use_scale) {
      auto start = std::static_pointer_cast<const Initializer>(parse("initializer", "GlorotUniform"));
      sum = ops::mul(c.e, c.weight("scale", {c.last_dim(0)}, start), sum);
    }
    return ops::reduce(c.e, ops::Reduce::sum, sum, {-1});
  }
};

}  // namespace
DL4_KIND(AdditiveAttention)
}  // namespace dl4::kinds
