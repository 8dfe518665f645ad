// Dot-product and additive attention.
#include "kinds/initializer.hpp"
#include "kinds/layers/attention/scored_attention.hpp"

namespace dl4::kinds {
namespace {

struct Attention : ScoredAttention {
  static constexpr const char *doc =
      "Dot-product attention: softmax(query key^T) value, without 1 / sqrt(D). Inputs are query, value and, if it "
      "is not the value, key.";
  enum class ScoreMode { dot, concat } score_mode = ScoreMode::dot;

  void fields(Fields &f) override {
    scored_fields(f, "multiplies the scores by a learned number");
    f("score_mode", score_mode, {"dot", "concat"})
        .doc(
            "\"dot\": query key^T; \"concat\": a learned number times the sum of "
            "tanh(scale * (query + key))");
  }
  Facts facts() const override {
    Facts f = ScoredAttention::facts();
    f.weights = {{"scale", "()", "use_scale"}, {"concat_score_weight", "()", "score_mode=concat"}};
    return f;
  }

  ops::Id dot_query(Call &c, ops::Id query) const override {
    if (score_mode != ScoreMode::dot) return ops::none;
    return use_scale ? ops::mul(c.e, query, c.weight("scale", {}, ones())) : query;
  }

  ops::Id scores(Call &c, ops::Id query, ops::Id key) const override {
    if (ops::Id q = dot_query(c, query); q != ops::none) return ops::matmul(c.e, q, key, {.transpose_b = true});
    ops::Id scale = use_scale ? c.weight("scale", {}, ones()) : ops::none;
    ops::Id weight = c.weight("concat_score_weight", {}, ones()), sum = all_pairs(c, query, key);
    if (use_scale) sum = ops::mul(c.e, sum, scale);
    return ops::mul(c.e, weight, ops::reduce(c.e, ops::Reduce::sum, ops::unary(c.e, ops::Unary::tanh, sum), {-1}));
  }

 private:
  static Of<Initializer> ones() { return parse<Initializer>("Ones"); }
};

struct AdditiveAttention : ScoredAttention {
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
DL4_KINDS(attention, Attention, AdditiveAttention)
}  // namespace dl4::kinds
