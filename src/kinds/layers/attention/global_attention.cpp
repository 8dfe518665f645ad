// GlobalAttention: any score function and distribution, over all values.
#include "kinds/layers/attention/global_attention.hpp"

#include <cmath>
#include <limits>

#include "ops/ops.hpp"

namespace dl4::kinds {

using ops::Emit;
using ops::Id;
using ops::none;

void FreeAttention::free_fields(Fields &f) {
  f("score", score, {"dot", "scaled", "general", "concat", "location", "content"})
      .doc(
          "of a query q and a key k: \"dot\": q k; \"scaled\": q k / sqrt(D); \"general\": q W k; \"concat\": "
          "v tanh(W q + U k); \"location\": W q, by the key's place alone; \"content\": the cosine of q and k");
  f("units", units).at_least(1).at_most(max_dim).doc("size of v, of the layer's own products; null = the query's D");
  f("distribution", distribution, {"softmax", "hardmax", "sparsemax"})
      .doc(
          "from scores to weights; \"hardmax\": 1 for the first of the largest, its gradient is softmax's "
          "(straight-through)");
  f("temperature", temperature)
      .at_least(0)
      .doc("divides the scores; 0: hardmax; null: infinite, the same weight for all that is not masked");
  f("dropout", dropout).at_least(0).at_most(1).doc("fraction of the attention weights to drop in training");
  f("seed", seed).doc("seed of the dropout; null = from the context's");
  f("kernel_initializer", kernel_initializer).doc("fills the weights at the start");
}

Facts FreeAttention::free_facts() const {
  Facts f = ScoredAttention::facts();
  f.inputs = {{"query", "(B, D), (B, Tq, D) or (B, H, W, D); of one sample (D) or (Tq, D)"},
              {"value", "(B, Tv, V) or (B, H, W, V); of one sample (Tv, V)"},
              {"key", "as the value with features of its own, value by default"}};
  f.outputs = {{"y", "as the query, with V for D"},
               {"scores", "as the query, with the value's Tv or H, W for D", "return_attention_scores"}};
  f.weights = {{"score_kernel", "(D, K)", "score=general"},
               {"query_kernel", "(D, units)", "score=concat"},
               {"key_kernel", "(K, units)", "score=concat"},
               {"score_vector", "(units)", "score=concat"},
               {"location_kernel", "(D, Tv)", "score=location"}};
  return f;
}

ScoredAttention::Parts FreeAttention::parts(Call &c) const {
  Emit &e = c.e;
  const auto inputs = static_cast<int>(c.in.size());
  const Shape of_value = c.shape(1);
  for (int i = 0; i < inputs; ++i) c.need_float(i);
  if (c.shape(0).rank() < 2 || c.shape(0).rank() > 4)
    fail(Code::shape_mismatch, "query: expected shape (B, D), (B, T, D) or (B, H, W, D), got ", c.shape(0));
  for (int i = 1; i < inputs; ++i)
    if (of_value.rank() < 3 || of_value.rank() > 4 || c.shape(i).rank() != of_value.rank() ||
        !compatible(c.shape(i).first(of_value.rank() - 1), of_value.first(of_value.rank() - 1)))
      fail(Code::shape_mismatch,
           "value and key: expected shapes (B, T, V) or (B, H, W, V) that differ in the last axis "
           "alone, got ",
           of_value, " and ", c.shape(i));
  auto flat = [&](int i) {
    const Shape s = c.shape(i);
    return s.rank() == 2   ? ops::expand_dims(e, c.x(i), 1)
           : s.rank() == 3 ? c.x(i)
                           : ops::reshape(e, c.x(i), 1, {free_dim, s.last()});
  };
  const Id value = flat(1);
  Parts p{flat(0), value, inputs == 3 ? flat(2) : value, c.mask(0), c.mask(1)};
  for (Id m : {p.query_mask, p.value_mask}) {
    const int input = m == p.query_mask ? 0 : 1;
    if (m != none && (e.rank(m) != 2 || c.shape(input).rank() != 3))
      fail(Code::shape_mismatch, "\"mask\": expected shape (B, T) of an input (B, T, ...), got ", e.shape(m), " of ",
           c.shape(input));
  }
  return p;
}

Id FreeAttention::pair_scores(Call &c, Id query, Id key) const {
  Emit &e = c.e;
  const int64_t u = units_of(c);
  Id q = ops::matmul(e, query, c.weight("query_kernel", {c.last_dim(0), u}, kernel_initializer));
  const int64_t features = e.shape(key).last();
  Id k = ops::matmul(e, key, c.weight("key_kernel", {features, u}, kernel_initializer));
  Id v = c.weight("score_vector", {u}, kernel_initializer);
  return ops::reduce(e, ops::Reduce::sum, ops::mul(e, ops::unary(e, ops::Unary::tanh, all_pairs(c, q, k)), v), {-1});
}

// For dot, scaled and general scores.
Id FreeAttention::scaled_query(Call &c, Id query) const {
  Emit &e = c.e;
  const int64_t features = c.last_dim(0), of_key = c.last_dim(static_cast<int>(c.in.size()) - 1);
  if (score == Score::dot) return query;
  if (score == Score::scaled)
    return ops::scale(e, query, static_cast<float>(1 / std::sqrt(static_cast<double>(features))));
  return ops::matmul(e, query, c.weight("score_kernel", {features, of_key}, kernel_initializer));
}

Id FreeAttention::dot_query(Call &c, Id query) const {
  const bool by_dots = score == Score::dot || score == Score::scaled || score == Score::general;
  return by_dots && distribution == Distribution::softmax && temperature == 1.0 ? scaled_query(c, query) : none;
}

Id FreeAttention::scores(Call &c, Id query, Id key) const {
  Emit &e = c.e;
  if (score == Score::concat) return pair_scores(c, query, key);
  if (score == Score::location) {
    const int64_t steps = e.shape(key)[1];
    if (steps == free_dim)
      fail(Code::shape_mismatch, "\"score\": \"location\" needs a known number of values, got shape ", c.shape(1));
    return ops::matmul(e, query, c.weight("location_kernel", {c.last_dim(0), steps}, kernel_initializer));
  }
  if (score == Score::content) {
    auto unit = [&](Id x) {
      Id squares = ops::reduce(e, ops::Reduce::sum_squares, x, {-1}, true);
      return ops::mul(e, x,
                      ops::unary(e, ops::Unary::rsqrt, ops::binary(e, ops::Binary::max, squares, e.scalar(1e-14))));
    };
    return ops::matmul(e, unit(query), unit(key), {.transpose_b = true});
  }
  return ops::matmul(e, scaled_query(c, query), key, {.transpose_b = true});
}

ScoredAttention::Weighed FreeAttention::weighed(Call &c, const Parts &, Id score, Id keep) const {
  Emit &e = c.e;
  const bool cold = temperature && *temperature < std::numeric_limits<float>::min();
  if (!temperature && distribution != Distribution::hardmax)
    score = ops::fill(e, DType::f32, 0, score, e.rank(score), {});
  if (keep != none) score = ops::select(e, keep, score, e.scalar(std::numeric_limits<float>::lowest()));
  if (cold || distribution == Distribution::hardmax) return {ops::hardmax(e, score), keep};
  // Shifts the maximum to 0, so that no score overflows when divided.
  if (temperature != 1.0 || distribution == Distribution::sparsemax)
    score = ops::sub(e, score, ops::reduce(e, ops::Reduce::max, score, {-1}, true));
  if (temperature && temperature != 1.0) score = ops::div(e, score, e.scalar(*temperature));
  if (distribution == Distribution::softmax) return {ops::softmax(e, score), keep};
  // Scores at least 1 below the maximum always have zero weight.
  return {ops::sparsemax(e, ops::binary(e, ops::Binary::max, score, e.scalar(-2))), keep};
}

std::vector<Symbol> FreeAttention::attend(Call &c) const {
  Emit &e = c.e;
  std::vector<Symbol> out = ScoredAttention::attend(c);
  const Shape query = c.shape(0), value = c.shape(1);
  auto times = [&](const Shape &s) { return s.first(s.rank() - 1).last(s.rank() - 2); };
  if (out.size() > 1 && value.rank() == 4) out[1].value = ops::reshape(e, out[1].value, 2, times(value));
  for (Symbol &s : out) {
    if (query.rank() == 2) s.value = ops::squeeze(e, s.value, 1);
    if (query.rank() == 4)
      s.value = ops::reshape(e, s.value, 1, times(query).joined(e.shape(s.value).last(e.rank(s.value) - 2)));
  }
  return out;
}

namespace {

struct GlobalAttention : FreeAttention {
  static constexpr const char *doc =
      "Attention over all values, by any score function and distribution: distribution(score(query, key) / "
      "temperature) value. Inputs are query, value and, if it is not the value, key. Not a layer of Keras.";

  void fields(Fields &f) override { free_fields(f); }
  Facts facts() const override { return free_facts(); }
};

}  // namespace
DL4_KINDS(global_attention, GlobalAttention)
}  // namespace dl4::kinds
