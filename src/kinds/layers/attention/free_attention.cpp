// GlobalAttention: any score function and distribution, over all values. LocalAttention: a window around a position,
// the query's own or a predicted one. JoinHeads: combines the outputs of several attentions. LinearAttention: sums over
// keys instead of scores.
#include <cmath>

#include "kinds/layers/attention/scored_attention.hpp"
#include "ops/scan.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::none;

struct FreeAttention : ScoredAttention {
  enum class Score { dot, scaled, general, concat, location, content } score = Score::dot;
  enum class Distribution { softmax, hardmax, sparsemax } distribution = Distribution::softmax;
  std::optional<double> temperature = 1;  // none: infinite
  std::optional<int64_t> units;
  Of<Initializer> kernel_initializer = parse<Initializer>("GlorotUniform");

  ops::Id dot_query(Call &c, Id query) const override {
    const bool by_dots = score == Score::dot || score == Score::scaled || score == Score::general;
    return by_dots && distribution == Distribution::softmax && temperature == 1.0 ? scaled_query(c, query) : none;
  }
  ops::Id scores(Call &c, Id query, Id key) const override {
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
  Weighed weighed(Call &c, const Parts &, Id score, Id keep) const override {
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

 protected:
  std::vector<Symbol> attend(Call &c) const override {
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
  bool takes_one_query() const override { return true; }
  void free_fields(Fields &f) {
    f("score", score, {"dot", "scaled", "general", "concat", "location", "content"},
      "of a query q and a key k: \"dot\": q k; \"scaled\": q k / sqrt(D); \"general\": q W k; \"concat\": "
      "v tanh(W q + U k); \"location\": W q, by the key's place alone; \"content\": the cosine of q and k");
    f("units", units, "size of v, of the layer's own products; null = the query's D").within(1, max_dim);
    f("distribution", distribution, {"softmax", "hardmax", "sparsemax"},
      "from scores to weights; \"hardmax\": 1 for the first of the largest, its gradient is softmax's "
      "(straight-through)");
    f("temperature", temperature,
      "divides the scores; 0: hardmax; null: infinite, the same weight for all that is not masked")
        .at_least(0);
    f("dropout", dropout, "fraction of the attention weights to drop in training").within(0, 1);
    f("seed", seed, "seed of the dropout; null = from the context's");
    f("kernel_initializer", kernel_initializer, "fills the weights at the start");
  }
  Facts free_facts() const {
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
  int64_t units_of(Call &c) const { return units.value_or(c.last_dim(0)); }
  // Query with one time axis; image axes of query, value and key are flattened.
  Parts parts(Call &c) const override {
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

 private:
  // For dot, scaled and general scores.
  ops::Id scaled_query(Call &c, Id query) const {
    Emit &e = c.e;
    const int64_t features = c.last_dim(0), of_key = c.last_dim(static_cast<int>(c.in.size()) - 1);
    if (score == Score::dot) return query;
    if (score == Score::scaled)
      return ops::scale(e, query, static_cast<float>(1 / std::sqrt(static_cast<double>(features))));
    return ops::matmul(e, query, c.weight("score_kernel", {features, of_key}, kernel_initializer));
  }
  ops::Id pair_scores(Call &c, Id query, Id key) const {
    Emit &e = c.e;
    const int64_t u = units_of(c);
    Id q = ops::matmul(e, query, c.weight("query_kernel", {c.last_dim(0), u}, kernel_initializer));
    const int64_t features = e.shape(key).last();
    Id k = ops::matmul(e, key, c.weight("key_kernel", {features, u}, kernel_initializer));
    Id v = c.weight("score_vector", {u}, kernel_initializer);
    return ops::reduce(e, ops::Reduce::sum, ops::mul(e, ops::unary(e, ops::Unary::tanh, all_pairs(c, q, k)), v), {-1});
  }
};

struct GlobalAttention : FreeAttention {
  static constexpr const char *doc =
      "Attention over all values, by any score function and distribution: distribution(score(query, key) / "
      "temperature) value. Inputs are query, value and, if it is not the value, key. Not a layer of Keras.";

  void fields(Fields &f) override { free_fields(f); }
  Facts facts() const override { return free_facts(); }
};

struct LocalAttention : FreeAttention {
  static constexpr const char *doc =
      "Attention over the values within a window around a place p (Luong et al. 2015), in sequences or images. The "
      "weights of what lies within are a distribution, then multiplied by exp(-(s - p)^2 / (2 (window / 2)^2)), s the "
      "value's place, without being divided by their sum again. Inputs are query, value and, if it is not the value, "
      "key. Not a layer of Keras.";
  enum class Alignment { monotonic, predictive } alignment = Alignment::monotonic;
  int64_t window = 0;
  std::optional<bool> gaussian;

  void fields(Fields &f) override {
    f("window", window, "how far from p values are seen: 2 window + 1 of them, in an image squared")
        .required("2")
        .within(1, max_dim / 2);
    f("alignment", alignment, {"monotonic", "predictive"},
      "p: \"monotonic\": the query's own place; \"predictive\": S sigmoid(v tanh(W query)), S the length");
    f("gaussian", gaussian, "whether weights fall with the distance from p; null = where it is predicted");
    free_fields(f);
  }
  Facts facts() const override {
    Facts f = free_facts();
    f.weights.push_back({"place_kernel", "(D, units)", "alignment=predictive"});
    f.weights.push_back({"place_vector", "(units), of images (units, 2)", "alignment=predictive"});
    return f;
  }

  ops::Id dot_query(Call &, ops::Id) const override { return none; }
  Weighed weighed(Call &c, const Parts &parts, Id score, Id keep) const override {
    Emit &e = c.e;
    const int axes = c.shape(1).rank() - 2;
    if (alignment == Alignment::monotonic && c.shape(0).rank() != axes + 2)
      fail(Code::shape_mismatch, "\"alignment\": \"monotonic\" needs a query with the value's axes, got shapes ",
           c.shape(0), " and ", c.shape(1));
    Id predicted = alignment == Alignment::predictive ? predict(c, parts.query, axes) : none, squares = none;
    const bool steps = predicted == none && axes == 1;
    const bool falls = gaussian.value_or(alignment == Alignment::predictive);
    if (steps) keep = both(e, keep, ops::band_mask(e, score, window, window));
    for (int a = 0; a < axes && (falls || !steps); ++a) {
      Id p = predicted == none ? ops::expand_dims(e, places(e, c.x(0), axes, a), -1) : lengths(c, parts, predicted, a);
      Id far = ops::sub(e, places(e, c.x(1), axes, a), p);  // (B, Tq, Tv) or (Tq, Tv)
      if (!steps)
        keep = both(e, keep,
                    ops::binary(e, ops::Binary::less_equal, ops::unary(e, ops::Unary::abs, far), e.scalar(window)));
      Id square = ops::unary(e, ops::Unary::square, far);
      squares = squares == none ? square : ops::add(e, squares, square);
    }
    Weighed w = FreeAttention::weighed(c, parts, score, keep);
    if (!falls) return w;
    const auto d = static_cast<double>(window);
    Id fall = ops::unary(e, ops::Unary::exp, ops::scale(e, squares, static_cast<float>(-2 / (d * d))));
    return {ops::mul(e, w.weights, fall), w.keep};
  }

 private:
  // Positions of the elements of x along one of its time or image axes, as a list.
  static Id places(Emit &e, Id x, int axes, int a) {
    auto along = [&](int axis) { return ops::cast(e, ops::indices(e, x, 1 + axis), DType::f32); };
    if (axes == 1) return along(a);
    Id other = ops::scale(e, along(1 - a), 0);
    Id grid = a == 0 ? ops::add(e, ops::expand_dims(e, along(0), 1), other)
                     : ops::add(e, ops::expand_dims(e, other, 1), along(1));
    return ops::reshape(e, grid, 0, {free_dim});
  }

  // sigmoid(v tanh(W query)) for each axis: (B, Tq, axes).
  Id predict(Call &c, Id query, int axes) const {
    Emit &e = c.e;
    const int64_t u = units_of(c);
    Id w = c.weight("place_kernel", {c.last_dim(0), u}, kernel_initializer);
    Id v = c.weight("place_vector", axes == 1 ? Shape{u} : Shape{u, axes}, kernel_initializer);
    Id h = ops::unary(e, ops::Unary::tanh, ops::matmul(e, query, w));
    return ops::unary(e, ops::Unary::sigmoid, ops::matmul(e, h, axes == 1 ? ops::expand_dims(e, v, -1) : v));
  }

  // The prediction for one axis times its length; for masked sequences, the number of unmasked steps.
  static Id lengths(Call &c, const Parts &parts, Id predicted, int a) {
    Emit &e = c.e;
    Id share = ops::slice(e, predicted, -1, a, 1);  // (B, Tq, 1)
    if (parts.value_mask != none) {
      Id count = ops::reduce(e, ops::Reduce::sum, ops::cast(e, parts.value_mask, DType::f32), {-1}, true);
      return ops::mul(e, share, ops::expand_dims(e, count, -1));
    }
    Id ones = ops::fill(e, DType::f32, 1, ops::indices(e, c.x(1), 1 + a), 1, {});
    return ops::mul(e, share, ops::reduce(e, ops::Reduce::sum, ones, {}));
  }
};

struct JoinHeads : LayerOf<JoinHeads> {
  static constexpr const char *doc = "Heads of one shape as one output. Not a layer of Keras.";
  enum class Join { concat, mean, max, vector, matrices } join = Join::concat;
  Of<Initializer> kernel_initializer = parse<Initializer>("GlorotUniform");

  void fields(Fields &f) override {
    f("join", join, {"concat", "mean", "max", "vector", "matrices"},
      "\"concat\": one behind the other; \"mean\", \"max\": of each feature; \"vector\": the sum with a weight "
      "for each head; \"matrices\": the sum of each head times a matrix of its own");
    f("kernel_initializer", kernel_initializer, "fills the weights at the start");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"heads", "(..., V) each"}},
      .outputs = {{"y", "(..., V), with join=concat (..., H V)"}},
      .weights = {{"head_vector", "(H)", "join=vector"}, {"head_matrices", "(H, V, V)", "join=matrices"}},
      .mask = "the first input's is passed on"};
  Arity arity() const override { return {1, any_number}; }

  std::vector<Symbol> call(Call &c) const override {
    ops::Emit &e = c.e;
    const auto heads = static_cast<int64_t>(c.in.size());
    std::vector<Id> each;
    for (int i = 0; i < static_cast<int>(heads); ++i) {
      c.need_float(i);
      c.need_rank_from(i, 2);
      if (!compatible(c.shape(i), c.shape(0)))
        fail(Code::shape_mismatch, "expected heads of one shape, got ", c.shape(0), " and ", c.shape(i));
      each.push_back(c.x(i));
    }
    const Id mask = c.mask();
    const int64_t size = c.last_dim();
    if (join == Join::concat) return {{ops::concat(e, each, -1), mask}};
    if (join == Join::matrices) {  // one product over the features of all heads
      Id w = c.weight("head_matrices", {heads, size, size}, kernel_initializer);
      return {
          {ops::matmul(e, ops::concat(e, each, -1), ops::reshape(e, w, 0, {checked_mul(heads, size), size})), mask}};
    }
    for (Id &x : each) x = ops::expand_dims(e, x, -1);
    Id all = ops::concat(e, each, -1);  // (..., V, H)
    if (join == Join::vector) {
      Id w = c.weight("head_vector", {heads}, kernel_initializer);
      return {{ops::reduce(e, ops::Reduce::sum, ops::mul(e, all, w), {-1}), mask}};
    }
    return {{ops::reduce(e, join == Join::mean ? ops::Reduce::mean : ops::Reduce::max, all, {-1}), mask}};
  }
};

// (B, T, H * D) as (T, B, H, D).
Id by_steps(Emit &e, Id x, int64_t heads, int64_t each) {
  return ops::transpose(e, ops::reshape(e, x, 2, {heads, each}), {1, 0, 2, 3});
}

struct LinearAttention final : LayerOf<LinearAttention> {
  static constexpr const char *doc =
      "Attention without a softmax: ONNX's LinearAttention. Each head keeps a matrix. A step adds the product of its "
      "key and value to it, and its query reads it. With the rule \"gated\" the matrix is multiplied by exp(decay) "
      "first. With \"delta\" the value is replaced by beta times its difference from what the matrix holds for the "
      "key.";
  int64_t num_query_heads = 0, num_key_value_heads = 0;
  enum class Rule { linear, gated, delta, gated_delta } update_rule = Rule::gated_delta;
  std::optional<double> scale;

  void fields(Fields &f) override {
    f("num_query_heads", num_query_heads, "heads of the queries").required("4").within(1, max_dim);
    f("num_key_value_heads", num_key_value_heads, "heads of the keys and values, a divisor of those of the queries")
        .required("2")
        .within(1, max_dim);
    f("update_rule", update_rule, {"linear", "gated", "delta", "gated_delta"}, "how a step changes the matrix");
    f("scale", scale, "factor of the queries; null: 1 / sqrt(features of a key's head)");
  }
  void check() override {
    if (num_query_heads % num_key_value_heads != 0)
      refuse_attribute("num_query_heads", "expected a multiple of num_key_value_heads, ", num_key_value_heads, ", got ",
                       num_query_heads);
  }
  bool gates() const { return update_rule == Rule::gated || update_rule == Rule::gated_delta; }
  bool corrects() const { return update_rule == Rule::delta || update_rule == Rule::gated_delta; }
  Arity arity() const override {
    const int n = 3 + (gates() ? 1 : 0) + (corrects() ? 1 : 0);
    return {n, n};
  }
  static constexpr PlainFacts plain{
      .inputs = {{"query", "(B, T, num_query_heads * D)"},
                 {"key", "(B, T, num_key_value_heads * D)"},
                 {"value", "(B, T, num_key_value_heads * V)"},
                 {"decay", "(B, T, num_key_value_heads), or times D", "update_rule gated or gated_delta"},
                 {"beta", "(B, T, num_key_value_heads), or of 1", "update_rule delta or gated_delta"}},
      .outputs = {{"y", "(B, T, num_query_heads * V)"}, {"state", "(B, num_key_value_heads, D, V)"}},
      .arguments = {{"initial_state", "tensor", "(B, num_key_value_heads, D, V); zeros by default"}}};

  std::vector<Symbol> call(Call &c) const override {
    Emit &e = c.e;
    for (int i = 0; i < static_cast<int>(c.in.size()); ++i) {
      c.need_rank(i, 3);
      c.need_float(i);
    }
    const int64_t h = num_key_value_heads, group = num_query_heads / h;
    const auto heads_of = [&](int i, int64_t heads, const char *what) {
      const int64_t n = c.last_dim(i);
      if (n % heads != 0)
        fail(Code::shape_mismatch, what, ": expected a multiple of ", heads, " features, got ", c.shape(i));
      return n / heads;
    };
    const int64_t d = heads_of(1, h, "key"), v = heads_of(2, h, "value");
    if (heads_of(0, num_query_heads, "query") != d)
      fail(Code::shape_mismatch, "query: expected ", num_query_heads * d, " features, got ", c.shape());
    Id decay = ops::none, beta = ops::none;
    if (gates()) {
      const int64_t n = heads_of(3, h, "decay");
      if (n != 1 && n != d)
        fail(Code::shape_mismatch, "decay: expected ", h, " or ", h * d, " features, got ", c.shape(3));
      decay = ops::unary(e, ops::Unary::exp, ops::expand_dims(e, by_steps(e, c.x(3), h, n), -1));
    }
    if (corrects()) {
      const int at = gates() ? 4 : 3;
      const int64_t n = c.last_dim(at);
      if (n != 1 && n != h) fail(Code::shape_mismatch, "beta: expected ", h, " features or 1, got ", c.shape(at));
      beta = ops::expand_dims(e, by_steps(e, c.x(at), n, 1), -1);
    }
    const double by = scale.value_or(1 / std::sqrt(static_cast<double>(d)));
    // The query heads of a key head are adjacent.
    Id q = ops::reshape(e, ops::scale(e, c.x(), static_cast<float>(by)), 2, {h, group, d});
    q = ops::transpose(e, q, {1, 0, 2, 3, 4});

    ops::Scan scan(e);
    Emit &b = scan.body;
    const auto given = c.symbols("initial_state");
    const Id before =
        scan.state(given.empty() ? ops::fill(e, DType::f32, 0, c.x(), 1, {h, d, v}) : start(c, given, {h, d, v}));
    const Id key = ops::expand_dims(b, scan.each(by_steps(e, c.x(1), h, d)), -1);  // (B, H, D, 1)
    Id value = ops::expand_dims(b, scan.each(by_steps(e, c.x(2), h, v)), -2);      // (B, H, 1, V)
    Id state = decay == ops::none ? before : ops::mul(b, before, scan.each(decay));
    if (beta != ops::none) {
      const Id there = ops::matmul(b, key, state, {.transpose_a = true});
      value = ops::mul(b, ops::sub(b, value, there), scan.each(beta));
    }
    const Id after = ops::add(b, state, ops::mul(b, key, value));
    scan.become(before, after);
    scan.output(ops::matmul(b, scan.each(q), after));  // (B, H, group, V)
    const ops::Scan::Values all = scan.emit();
    const Id y = ops::transpose(e, all.outputs[0], {1, 0, 2, 3, 4});
    return {{ops::reshape(e, y, 2, {checked_mul(num_query_heads, v)})}, {all.last[0]}};
  }

 private:
  static Id start(Call &c, std::span<const Symbol> given, const Shape &tail) {
    const Shape wanted = tail.inserted(0, c.shape()[0]);
    const Shape got = c.e.shape(given[0].value);
    if (given.size() != 1 || got.rank() != 4 || !compatible(got, wanted) || c.e.dtype(given[0].value) != DType::f32)
      fail(Code::shape_mismatch, "\"initial_state\": expected float32 ", wanted, ", got ", c.e.dtype(given[0].value),
           ' ', got);
    return given[0].value;
  }
};

}  // namespace

DL4_KINDS(free_attention, GlobalAttention, LocalAttention, JoinHeads, LinearAttention)

}  // namespace dl4::kinds
