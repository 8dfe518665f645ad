// AdditiveAttention: Bahdanau's, with additive scores.
#include "kinds/initializer.hpp"
#include "kinds/layers/attention/scored_attention.hpp"

namespace dl4::kinds {
namespace {

struct AdditiveAttention : ScoredAttention {
  static constexpr const char *name = "AdditiveAttention";
  static constexpr const char *doc =
      "Additive attention: the scores are the sum of scale * tanh(query + key). Inputs are query, value and, if it "
      "is not the value, key.";

  AdditiveAttention() { use_scale = true; }
  void fields(Fields &f) override { scored_fields(f, "multiplies each feature by a learned number"); }
  Facts facts() const override {
    Facts f = ScoredAttention::facts();
    f.weights = {{"scale", "(D)", "use_scale"}};
    return f;
  }

  ops::Id scores(Call &c, ops::Id query, ops::Id key) const override {
    ops::Id sum = ops::unary(c.e, ops::Unary::tanh, all_pairs(c, query, key));
    if (use_scale) {
      sum = ops::mul(c.e, c.weight("scale", {c.last_dim(0)}, parse<Initializer>("GlorotUniform")), sum);
    }
    return ops::reduce(c.e, ops::Reduce::sum, sum, {-1});
  }
};

}  // namespace
DL4_KIND(AdditiveAttention)
}  // namespace dl4::kinds
