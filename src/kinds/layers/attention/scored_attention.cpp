// Attention from scores: masks, softmax, dropout, weighted sum, by the fused op if the weights are not needed.
// Dot-product and additive attention.
#include "kinds/layers/attention/scored_attention.hpp"

#include "kinds/layers/random/dropping.hpp"

namespace dl4::kinds {
namespace {

using ops::Id, ops::none;

struct Attention : ScoredAttention {
  static constexpr const char *doc =
      "Dot-product attention: softmax(query key^T) value, without 1 / sqrt(D). Inputs are query, value and, if it "
      "is not the value, key.";
  enum class ScoreMode { dot, concat } score_mode = ScoreMode::dot;

  void fields(Fields &f) override {
    scored_fields(f, "multiplies the scores by a learned number");
    f("score_mode", score_mode, {"dot", "concat"},
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

void ScoredAttention::scored_fields(Fields &f, const char *scale_doc) {
  f("use_scale", use_scale, scale_doc);
  f("dropout", dropout, "fraction of the attention weights to drop in training").within(0, 1);
  f("seed", seed, "seed of the dropout; null = from the context's");
}

Facts ScoredAttention::facts() const {
  static constexpr PlainFacts plain{
      .inputs = {{"query", "(B, ..., Tq, D); of one sample (Tq, D) or (D)"},
                 {"value", "(B, ..., Tv, V); of one sample (Tv, V)"},
                 {"key", "(B, ..., Tv, D), of one sample (Tv, D), value by default"}},
      .outputs = {{"y", "(B, ..., Tq, V), as the query"},
                  {"scores", "(B, ..., Tq, Tv), as the query", "return_attention_scores"}},
      .arguments = {{"mask", "tensors",
                     "of query (B, Tq) and value (B, Tv), of inputs of 3 axes alone: masked values have no weight, "
                     "masked queries give 0. A "
                     "query for which every value is masked gives all of them the same weight"},
                    {"use_causal_mask", "bool", "whether query t sees only values up to t"},
                    {"return_attention_scores", "bool", "whether the weights, after dropout, are an output too"}},
      .mask = "used; the query's is passed on"};
  return plain;
}

Id ScoredAttention::all_pairs(Call &c, Id query, Id key) {
  return ops::add(c.e, ops::expand_dims(c.e, query, -2), ops::expand_dims(c.e, key, -3));
}

ScoredAttention::Parts ScoredAttention::parts(Call &c) const {
  int inputs = static_cast<int>(c.in.size());
  c.need_rank_from(0, 3);
  const int rank = c.shape().rank();
  for (int i = 0; i < inputs; ++i) {
    c.need_rank(i, rank);
    c.need_float(i);
  }
  if (inputs == 3 && !compatible(Shape{c.shape(1)[-2]}, Shape{c.shape(2)[-2]}))
    fail(Code::shape_mismatch, "value and key must have as many steps. Received shapes ", c.shape(1), " and ",
         c.shape(2));
  Parts p{c.x(0), c.x(1), inputs == 3 ? c.x(2) : c.x(1), c.mask(0), c.mask(1)};
  for (Id m : {p.query_mask, p.value_mask})
    if (m != none && rank > 3)
      throw Error(Code::unsupported, text("\"mask\": is taken with inputs of 3 axes, got ", rank))
          .with("argument", "mask");
    else if (m != none && c.e.rank(m) != 2)
      fail(Code::shape_mismatch, "\"mask\": expected shape (batch, time), got ", c.e.shape(m));
  return p;
}

ScoredAttention::Weighed ScoredAttention::weighed(Call &c, const Parts &, Id score, Id keep) const {
  // Lowest score: zero weight, or equal weights if everything is masked.
  if (keep != none) score = ops::select(c.e, keep, score, c.e.scalar(std::numeric_limits<float>::lowest()));
  return {ops::softmax(c.e, score), keep};
}

std::vector<Symbol> ScoredAttention::call(Call &c) const {
  if (c.shape(1).rank() != 2 || c.shape(0).rank() > 2 || c.shape(0).rank() == 0) return attend(c);
  ops::Emit &e = c.e;
  auto batch_of_one = [&](Symbol s) {
    for (Id *v : {&s.value, &s.mask})
      if (*v != none) *v = ops::expand_dims(e, *v, 0);
    return s;
  };
  std::vector<Symbol> in;
  for (const Symbol &s : c.in) in.push_back(batch_of_one(s));
  const bool one = c.shape(0).rank() == 1 && !takes_one_query();
  if (one) in[0].value = ops::expand_dims(e, in[0].value, 1);
  Arguments arguments = c.arguments();
  for (Symbol &s : arguments.symbols["mask"]) s = batch_of_one(s);
  if (arguments.symbols["mask"].empty()) arguments.symbols.erase("mask");
  Call batch(e, c.host, std::move(in), arguments, c.training());
  std::vector<Symbol> out = attend(batch);
  for (Symbol &s : out) {
    if (one) s.value = ops::squeeze(e, s.value, 1);
    s.value = ops::squeeze(e, s.value, 0);
    if (s.mask != none) s.mask = c.mask(0);
  }
  return out;
}

std::vector<Symbol> ScoredAttention::attend(Call &c) const {
  ops::Emit &e = c.e;
  if (auto given = c.symbols("mask"); given.size() == 1 || given.size() > 3)
    fail(Code::invalid_argument, "\"mask\": expected a list of 2 or 3, [query_mask, value_mask], got ", given.size());
  const Parts p = parts(c);
  Id query_mask = p.query_mask, value_mask = p.value_mask;
  bool return_scores = c.flag("return_attention_scores", false);

  // Masked values are zeroed before any product, since 0 * NaN is NaN, in gradients too. Queries keep their values if
  // the scores are returned.
  Id query = return_scores ? p.query : where_valid(e, query_mask, p.query, 0);
  Id value = where_valid(e, value_mask, p.value, 0);
  Id key = p.key == p.value ? value : where_valid(e, value_mask, p.key, 0);

  bool causal = c.flag("use_causal_mask", false);
  // An unmasked query sees at least its own value.
  const bool sees_itself = causal && query_mask == value_mask;
  Id weights = none, y = none, sees_any = none;
  // Whether all weights are needed at once.
  const bool whole = return_scores || (dropout > 0 && c.training()) || e.rank(query) > 3;
  if (Id by_dots = whole ? none : dot_query(c, query); by_dots != none) {
    if (dropout > 0) c.host.random_seed(seed);  // the same seeds as with dropout
    auto [sum, of_exps] = ops::attention(e, by_dots, key, value, value_mask, {.causal = causal});
    y = sum;
    if (value_mask != none && !sees_itself)
      sees_any = ops::binary(e, ops::Binary::not_equal, ops::expand_dims(e, of_exps, -1), e.scalar(0));
  } else {
    Id score = scores(c, query, key);
    Id keep = value_mask == none ? none : ops::expand_dims(e, value_mask, 1);
    if (causal) {
      Id past = ops::causal_mask(e, score);
      keep = keep == none ? past : ops::binary(e, ops::Binary::logical_and, keep, past);
    }
    const Weighed w = weighed(c, {query, value, key, query_mask, value_mask}, score, keep);
    weights = dropped(c, w.weights, dropout, seed);
    const bool others = sees_itself && value_mask != none;  // masked queries see nothing
    y = ops::matmul(e, others ? ops::select(e, w.keep, weights, e.scalar(0)) : weights, value);
    if (value_mask != none && !sees_itself) sees_any = any(e, w.keep, -1, true);
  }
  if (sees_any != none) y = ops::select(e, sees_any, y, ops::reduce(e, ops::Reduce::mean, p.value, {1}, true));
  y = where_valid(e, query_mask, y, 0);
  std::vector<Symbol> outputs{{y, query_mask}};
  if (return_scores) outputs.push_back({weights});
  return outputs;
}

DL4_KINDS(scored_attention, Attention, AdditiveAttention)

}  // namespace dl4::kinds
