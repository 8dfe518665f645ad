// Attention in heads and the layers of our own: formulas in double, corner cases, refusals.
#include <algorithm>
#include <cmath>

#include "layer_call.hpp"
#include "layer_case.hpp"
#include "plan/differentiate.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using Row = std::vector<double>;

Row row_of(const Array &a, int64_t row) {
  const int64_t n = a.shape.last();
  return {a.v.begin() + row * n, a.v.begin() + (row + 1) * n};
}
double dot(const Row &a, const Row &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
// x W for W (x.size(), n).
Row times(const Row &x, const Array &w) {
  Row y(static_cast<size_t>(w.shape.last()), 0.0);
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < y.size(); ++j) y[j] += x[i] * w.v[i * y.size() + j];
  return y;
}
Row tanh_of(Row x) {
  for (double &v : x) v = std::tanh(v);
  return x;
}

// A query, and all keys of its sequence; in: what follows query, value, key.
double score_of(const std::string &score, const Row &q, const Row &k, int64_t place, const std::vector<Array> &w) {
  if (score == "scaled") return dot(q, k) / std::sqrt(static_cast<double>(q.size()));
  if (score == "general") return dot(times(q, w[0]), k);
  if (score == "location") return times(q, w[0])[static_cast<size_t>(place)];
  if (score == "content") return dot(q, k) / std::sqrt(dot(q, q) * dot(k, k));
  if (score != "concat") return dot(q, k);
  Row sum = times(q, w[0]), of_key = times(k, w[1]);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += of_key[i];
  return dot(tanh_of(sum), w[2].v);
}

Row softmax(Row x, double temperature) {
  const double most = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double &v : x) sum += v = std::exp((v - most) / temperature);
  for (double &v : x) v /= sum;
  return x;
}
Row hardmax(const Row &x) {
  Row y(x.size(), 0.0);
  y[static_cast<size_t>(std::max_element(x.begin(), x.end()) - x.begin())] = 1;
  return y;
}
Row sparsemax(const Row &x, double temperature) {
  Row z = x;
  for (double &v : z) v /= temperature;
  Row sorted = z;
  std::sort(sorted.rbegin(), sorted.rend());
  double sum = 0, tau = 0;
  for (size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    if (1 + static_cast<double>(k + 1) * sorted[k] > sum) tau = (sum - 1) / static_cast<double>(k + 1);
  }
  for (double &v : z) v = std::max(0.0, v - tau);
  return z;
}
Row distributed(const std::string &how, const Row &x, double temperature) {
  if (how == "hardmax" || temperature == 0) return hardmax(x);
  if (std::isinf(temperature)) return Row(x.size(), 1.0 / static_cast<double>(x.size()));
  return how == "softmax" ? softmax(x, temperature) : sparsemax(x, temperature);
}

// in: query (B, T, D), value (B, S, V), key (B, S, K), weights. Outputs: y and scores.
std::vector<Array> naive_global(const std::vector<Array> &in, const std::string &score, const std::string &how,
                                double temperature) {
  const int64_t batch = in[0].shape[0], queries = in[0].shape[1], keys = in[1].shape[1], width = in[1].shape[2];
  Array y = zeros({batch, queries, width}), scores = zeros({batch, queries, keys});
  const std::vector<Array> w(in.begin() + 3, in.end());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t t = 0; t < queries; ++t) {
      Row x;
      for (int64_t s = 0; s < keys; ++s)
        x.push_back(score_of(score, row_of(in[0], b * queries + t), row_of(in[2], b * keys + s), s, w));
      x = distributed(how, x, temperature);
      for (int64_t s = 0; s < keys; ++s) {
        scores[(b * queries + t) * keys + s] = x[static_cast<size_t>(s)];
        for (int64_t j = 0; j < width; ++j)
          y[(b * queries + t) * width + j] += x[static_cast<size_t>(s)] * in[1][(b * keys + s) * width + j];
      }
    }
  return {y, scores};
}

std::vector<Shape> weights_of(const std::string &score, int64_t d, int64_t k, int64_t units, int64_t keys) {
  if (score == "general") return {{d, k}};
  if (score == "location") return {{d, keys}};
  if (score == "concat") return {{d, units}, {k, units}, {units}};
  return {};
}

void check_global(const std::string &score, const std::string &how, const Json &temperature, double as_number,
                  bool scores) {
  SCOPED_TRACE(text(score, ' ', how, ' ', as_number, scores ? " scores" : ""));
  const bool by_dots = score == "dot" || score == "scaled" || score == "content";
  const int64_t d = 3, k = by_dots ? d : 2, keys = 5;
  std::vector<Shape> shapes{{2, 4, d}, {2, keys, 3}, {2, keys, k}};
  const auto extra = weights_of(score, d, k, score == "concat" ? 4 : d, keys);
  shapes.insert(shapes.end(), extra.begin(), extra.end());
  Json config = {{"score", score}, {"distribution", how}, {"temperature", temperature}};
  if (score == "concat") config["units"] = 4;
  Case c = layer_case(
      "GlobalAttention", config, randoms(shapes), extra.size(),
      [=](const auto &in) {
        auto both = naive_global(in, score, how, as_number);
        if (!scores) both.pop_back();
        return both;
      },
      scores ? with_flag("return_attention_scores") : Arguments{});
  // Places have scores whatever the keys are, which then have no gradient.
  c.gradient = how == "softmax" && as_number > 0 && !std::isinf(as_number) && score != "location";
  check(c);
}

TEST(GlobalAttention, EveryScoreAndDistribution) {
  for (const char *score : {"dot", "scaled", "general", "concat", "location", "content"}) {
    for (bool scores : {false, true}) check_global(score, "softmax", 1, 1, scores);
    check_global(score, "softmax", 0.3, 0.3, false);
    check_global(score, "hardmax", 1, 1, true);
    check_global(score, "sparsemax", 0.4, 0.4, true);
  }
  for (bool scores : {false, true}) {
    check_global("dot", "softmax", 0, 0, scores);
    check_global("dot", "softmax", nullptr, INFINITY, scores);
    check_global("dot", "sparsemax", nullptr, INFINITY, scores);
  }
}

TEST(GlobalAttention, GradientOfLocation) {
  check(layer_case("GlobalAttention", {{"score", "location"}}, randoms({{2, 4, 3}, {2, 5, 3}, {3, 5}}), 1,
                   [](const auto &in) {
                     auto y = naive_global({in[0], in[1], in[1], in[2]}, "location", "softmax", 1);
                     y.pop_back();
                     return y;
                   }));
}

Tensor global(const Json &config, const std::vector<Tensor> &in, const Arguments &arguments = {}) {
  LayerCall l("GlobalAttention", config);
  std::vector<Symbol> symbols;
  for (const Tensor &t : in) symbols.push_back(l.input(t.shape, t.dtype));
  return l.run({l.call(symbols, arguments).back()}, in)[0];
}

TEST(GlobalAttention, OneQueryASample) {
  const std::vector<Tensor> in{tensor<float>({1, 2}, {0, 0.9f}), tensor<float>({1, 2, 1}, {0, 1}),
                               tensor<float>({1, 2, 2}, {0, 0, 0, 1})};
  const Tensor soft = global(Json::object(), in), hard = global({{"distribution", "hardmax"}}, in);
  EXPECT_EQ(soft.shape, (Shape{1, 1}));
  EXPECT_NEAR(values(soft)[0], 0.7109, 5e-5);
  EXPECT_EQ(values(hard), std::vector<double>{1});
  EXPECT_EQ(values(global({{"temperature", 0}}, in)), std::vector<double>{1});
  EXPECT_EQ(values(global({{"temperature", 1e-44}}, in)), std::vector<double>{1});
  EXPECT_NEAR(values(global({{"temperature", 1e-37}}, in))[0], 1, 0);
  EXPECT_NEAR(values(global({{"temperature", 1e30}}, in))[0], 0.5, 1e-6);
  EXPECT_EQ(values(global({{"temperature", nullptr}}, in)), std::vector<double>{0.5});
}

TEST(GlobalAttention, SleepyChild) {
  const Tensor words = tensor<float>({1, 6, 3}, {0, 0, 0, 2, 0, 1, 1, -1, -2, 2, 3, 1, -2, 0, 0, 0, 2, 1});
  const Tensor w =
      global(Json::object(), {tensor<float>({1, 3}, {0, 2, 1}), words}, with_flag("return_attention_scores"));
  const double expected[] = {0.0008, 0.0022, 0.0000, 0.8775, 0.0008, 0.1187};
  EXPECT_EQ(w.shape, (Shape{1, 6}));
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(values(w)[i], expected[i], 1e-4) << i;
}

TEST(GlobalAttention, HardmaxTakesTheFirstAndIsStraightThrough) {
  auto gradient = [](const char *how) {
    LayerCall l("GlobalAttention", {{"distribution", how}});
    Symbol q = l.input({1, 1, 1}), v = l.input({1, 3, 1}), k = l.input({1, 3, 1});
    auto y = l.call({q, v, k}, with_flag("return_attention_scores"));
    Id loss = ops::reduce(l.e, ops::Reduce::sum, y[0].value, {});
    std::vector<Id> wrt{k.value};
    return l.run(
        {y[1], {plan::differentiate(l.e, loss, wrt)[0]}},
        {tensor<float>({1, 1, 1}, {2}), tensor<float>({1, 3, 1}, {1, 5, 2}), tensor<float>({1, 3, 1}, {0, 3, 3})});
  };
  auto hard = gradient("hardmax"), soft = gradient("softmax");
  EXPECT_EQ(values(hard[0]), (std::vector<double>{0, 1, 0}));
  expect_close(hard[1], soft[1], 1e-6, "the gradient of the keys");
}

TEST(GlobalAttention, MaskedValuesHaveNoWeightWhateverTheDistribution) {
  const float nan = NAN;
  for (const char *how : {"softmax", "hardmax", "sparsemax"})
    for (const Json &temperature : {Json(1), Json(0), Json(0.01), Json(nullptr)}) {
      SCOPED_TRACE(text(how, temperature.shown()));
      LayerCall l("GlobalAttention", {{"distribution", how}, {"temperature", temperature}});
      Symbol q = l.input({2, 1, 1}), v = l.masked({2, 3, 1});
      auto y = l.call({q, v}, with_flag("return_attention_scores"));
      auto got = l.run(y, {tensor<float>({2, 1, 1}, {1, 1}), tensor<float>({2, 3, 1}, {3, nan, 3, 1, 4, 7}),
                           tensor<bool>({2, 3}, {true, false, true, false, false, false})});
      EXPECT_FLOAT_EQ(got[0].as<float>()[0], 3);
      EXPECT_EQ(got[1].as<float>()[1], 0);
      EXPECT_FLOAT_EQ(got[0].as<float>()[1], 4);  // all masked: the same weight for all
    }
}

// ---- local attention -----------------------------------------------------------------------------------------------

struct Local {
  bool predictive, gaussian;
  int64_t window;
  std::vector<int64_t> image;  // of the values: (S) or (H, W); monotonic: also of the queries
  int64_t queries;
};

// in: query (B, T, D), value (B, S, V), flat, place_kernel, place_vector.
std::vector<Array> naive_local(const std::vector<Array> &in, const Local &l) {
  const int64_t batch = in[0].shape[0], width = in[1].shape.last(), last = l.image.back();
  int64_t keys = 1;
  for (int64_t n : l.image) keys *= n;
  const auto axes = static_cast<int64_t>(l.image.size());
  Array y = zeros({batch, l.queries, width});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t t = 0; t < l.queries; ++t) {
      auto place = [&](int64_t i, int64_t a) {
        return static_cast<double>(axes == 1 ? i : a == 0 ? i / last : i % last);
      };
      Row p(static_cast<size_t>(axes)), x;
      for (int64_t a = 0; a < axes; ++a) p[static_cast<size_t>(a)] = place(t, a);
      const Row q = row_of(in[0], b * l.queries + t);
      if (l.predictive) {
        Array v = in[3];
        v.shape = {v.shape[0], axes};
        p = times(tanh_of(times(q, in[2])), v);
        for (size_t a = 0; a < p.size(); ++a) p[a] = static_cast<double>(l.image[a]) / (1 + std::exp(-p[a]));
      }
      std::vector<int64_t> seen;
      Row fall;
      for (int64_t s = 0; s < keys; ++s) {
        double squares = 0, most = 0;
        for (int64_t a = 0; a < axes; ++a) {
          const double far = place(s, a) - p[static_cast<size_t>(a)];
          squares += far * far;
          most = std::max(most, std::fabs(far));
        }
        if (most > static_cast<double>(l.window)) continue;
        seen.push_back(s);
        x.push_back(dot(q, row_of(in[1], b * keys + s)));
        const double sigma = static_cast<double>(l.window) / 2;
        fall.push_back(l.gaussian ? std::exp(-squares / (2 * sigma * sigma)) : 1);
      }
      x = softmax(x, 1);
      for (size_t i = 0; i < seen.size(); ++i)
        for (int64_t j = 0; j < width; ++j)
          y[(b * l.queries + t) * width + j] += x[i] * fall[i] * in[1][(b * keys + seen[i]) * width + j];
    }
  return {y};
}

void check_local(const Local &l, Json config, const Shape &query, const Shape &value) {
  SCOPED_TRACE(text(config.shown(), query, value));
  config["window"] = l.window;
  if (l.predictive) config["alignment"] = "predictive";
  const int64_t d = query.last(), axes = value.rank() - 2;
  std::vector<Tensor> in = randoms({query, value});
  if (l.predictive) {
    config["units"] = 4;
    for (Tensor &t : randoms({{d, 4}, axes == 1 ? Shape{4} : Shape{4, axes}})) in.push_back(t);
  }
  Case c = layer_case("LocalAttention", config, in, l.predictive ? 2 : 0, [=](std::vector<Array> x) {
    x[0].shape = {query[0], l.queries, d};
    x[1].shape = {value[0], x[1].shape.elements() / value[0] / value.last(), value.last()};
    auto y = naive_local(x, l);
    y[0].shape = query.first(query.rank() - 1).joined({value.last()});
    return y;
  });
  c.gradient = false;  // its window moves in steps: see below
  check(c);
}

TEST(LocalAttention, SequencesAndImages) {
  const Json plain = Json::object(), falling = {{"gaussian", true}}, level = {{"gaussian", false}};
  check_local({false, false, 1, {6}, 5}, plain, {2, 5, 3}, {2, 6, 3});
  check_local({false, true, 2, {6}, 6}, falling, {2, 6, 3}, {2, 6, 3});
  check_local({true, true, 2, {6}, 4}, plain, {2, 4, 3}, {2, 6, 3});
  check_local({true, false, 3, {9}, 4}, level, {2, 4, 3}, {2, 9, 3});
  check_local({true, true, 2, {7}, 1}, plain, {2, 3}, {2, 7, 3});
  check_local({false, false, 1, {3, 4}, 12}, plain, {2, 3, 4, 3}, {2, 3, 4, 3});
  check_local({true, true, 2, {4, 5}, 3}, plain, {2, 3, 3}, {2, 4, 5, 3});
  check_local({true, true, 1, {4, 5}, 1}, plain, {2, 3}, {2, 4, 5, 3});
}

TEST(LocalAttention, GradientThroughThePlace) {
  // All values lie within the window, wherever it is.
  const Local l{true, true, 20, {5}, 3};
  Case c =
      layer_case("LocalAttention", {{"window", 20}, {"alignment", "predictive"}, {"units", 4}},
                 randoms({{2, 3, 2}, {2, 5, 2}, {2, 4}, {4}}), 2, [=](const auto &in) { return naive_local(in, l); });
  check(c);
}

TEST(LocalAttention, PredictsWithinWhatIsNotMasked) {
  LayerCall l("LocalAttention", {{"window", 1}, {"alignment", "predictive"}, {"gaussian", false}});
  Symbol q = l.input({1, 1}), v = l.masked({1, 6, 1});
  auto got = l.run(l.call({q, v}), {tensor<float>({1, 1}, {0}), tensor<float>({1, 6, 1}, {1, 2, 4, 8, NAN, NAN}),
                                    tensor<bool>({1, 6}, {true, true, true, true, false, false})});
  EXPECT_FLOAT_EQ(got[0].as<float>()[0], (2 + 4 + 8) / 3.0f);  // p = 4 / 2
}

TEST(LocalAttention, HeatMapOfAnImage) {
  LayerCall l("LocalAttention", {{"window", 1}, {"alignment", "predictive"}});
  auto y = l.call({l.input({free_dim, 3}), l.input({free_dim, 4, 5, 3})}, with_flag("return_attention_scores"));
  EXPECT_EQ(l.shape(y[0]), (Shape{free_dim, 3}));
  EXPECT_EQ(l.shape(y[1]), (Shape{free_dim, 4, 5}));
}

// ---- joins ---------------------------------------------------------------------------------------------------------

TEST(JoinHeads, EveryJoin) {
  const int64_t heads = 3, rows = 4, n = 2;
  for (const std::string join : {"concat", "mean", "max", "vector", "matrices"}) {
    SCOPED_TRACE(join);
    std::vector<Shape> shapes(heads, Shape{2, 2, n});
    const size_t weights = join == "vector" || join == "matrices";
    if (join == "vector") shapes.push_back({heads});
    if (join == "matrices") shapes.push_back({heads, n, n});
    check(layer_case("JoinHeads", {{"join", join}}, randoms(shapes), weights, [=](const auto &in) {
      Array y = zeros({2, 2, join == "concat" ? heads * n : n});
      if (join == "max") std::fill(y.v.begin(), y.v.end(), -INFINITY);
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t j = 0; j < n; ++j) {
            const double x = in[static_cast<size_t>(h)][r * n + j];
            if (join == "concat") y[(r * heads + h) * n + j] = x;
            if (join == "mean") y[r * n + j] += x / static_cast<double>(heads);
            if (join == "max") y[r * n + j] = std::max(y[r * n + j], x);
            if (join == "vector") y[r * n + j] += x * in[3][h];
            for (int64_t i = 0; join == "matrices" && i < n; ++i) y[r * n + i] += x * in[3][(h * n + j) * n + i];
          }
      return std::vector<Array>{y};
    }));
  }
}

// ---- refusals ------------------------------------------------------------------------------------------------------

TEST(AttentionKinds, RefusedConfigs) {
  auto refused = [](const char *kind, const Json &config, const std::string &words,
                    Code code = Code::invalid_argument) { expect_config_refusal(kind, config, code, words); };
  refused("MultiHeadAttention", {{"num_heads", 2}}, "attribute \"key_dim\" is missing");
  refused("MultiHeadAttention", {{"num_heads", 0}, {"key_dim", 2}}, "\"num_heads\"");
  refused("MultiHeadAttention", {{"num_heads", 2}, {"key_dim", 2}, {"value_dim", 0}}, "\"value_dim\"");
  refused("MultiHeadAttention", {{"num_heads", 2}, {"key_dim", 2}, {"sliding_window", 0}}, "\"sliding_window\"");
  refused("MultiHeadAttention", {{"num_heads", 2}, {"key_dim", 2}, {"dropout", 0.5}, {"flash_attention", true}},
          "\"dropout\": expected 0 with flash_attention, got 0.5");
  refused("GroupQueryAttention", {{"head_dim", 2}, {"num_query_heads", 4}, {"num_key_value_heads", 3}},
          "\"num_query_heads\": expected a multiple of num_key_value_heads, 3, got 4");
  refused("GlobalAttention", {{"temperature", -1}}, "\"temperature\"");
  refused("GlobalAttention", {{"score", "cosine"}}, "\"score\"");
  refused("LocalAttention", Json::object(), "attribute \"window\" is missing");
  refused("LocalAttention", {{"window", 0}}, "\"window\"");
}

TEST(AttentionKinds, RefusedCalls) {
  const Json mha = {{"num_heads", 2}, {"key_dim", 3}};
  auto with_axes = [&](const Json &axes) {
    Json j = mha;
    j["attention_axes"] = axes;
    return j;
  };
  expect_call_refusal("MultiHeadAttention", mha, {{2, 3}, {2, 3}}, "expected ndim=3, found ndim=2");
  expect_call_refusal("MultiHeadAttention", mha, {{2, 3, 4}, {2, 3, 4, 5}}, "expected ndim=3, found ndim=4");
  expect_call_refusal("MultiHeadAttention", mha, {{2, 3, 4}, {2, 5, 4}, {2, 6, 4}}, "but the last must be equal");
  expect_call_refusal("MultiHeadAttention", with_axes(2), {{2, 3, 4}, {2, 5, 4}},
                      "\"attention_axes\": expected different axes from 1 to 1, got 2");
  expect_call_refusal("MultiHeadAttention", with_axes({1, -3}), {{2, 3, 4, 5}, {2, 3, 4, 5}}, "got -3");
  expect_call_refusal("MultiHeadAttention", with_axes(Json::array()), {{2, 3, 4}, {2, 5, 4}}, "at least one axis");
  expect_call_refusal("GroupQueryAttention", {{"head_dim", 2}, {"num_query_heads", 4}, {"num_key_value_heads", 2}},
                      {{2, 3, 4, 5}, {2, 3, 4, 5}}, "expected ndim=3, found ndim=4");
  expect_call_refusal("GlobalAttention", {{"score", "location"}}, {{2, 3}, {2, free_dim, 3}}, "known number of values");
  expect_call_refusal("GlobalAttention", Json::object(), {{2, 3, 4, 5, 6}, {2, 3, 4}}, "query: expected shape");
  expect_call_refusal("GlobalAttention", Json::object(), {{2, 3, 4}, {2, 4}}, "value and key: expected shapes");
  expect_call_refusal("GlobalAttention", Json::object(), {{2, 3}, {2, 5, 3}, {2, 6, 3}}, "value and key");
  expect_call_refusal("LocalAttention", {{"window", 2}}, {{2, 3}, {2, 5, 3}}, "\"monotonic\" needs a query with");
  expect_call_refusal("JoinHeads", Json::object(), {{2, 3}, {2, 4}}, "expected heads of one shape");
}

TEST(AttentionKinds, RefusedArguments) {
  const Json mha = {{"num_heads", 2}, {"key_dim", 3}};
  auto refused = [&](Json config, const Shape &shape, const char *key, const Shape &mask, const std::string &words,
                     Code code = Code::shape_mismatch) {
    expect_refusal(code, words, [&] {
      LayerCall l("MultiHeadAttention", config);
      Symbol x = l.input(shape);
      Arguments a;
      if (mask.rank())
        a.symbols[key] = {l.input(mask, DType::boolean)};
      else
        a.plain[key] = true;
      l.call({x, x}, a);
    });
  };
  refused(mha, {2, 5, 4}, "attention_mask", {2, 5, 4}, "\"attention_mask\": expected a shape that broadcasts to");
  refused(mha, {2, 5, 4}, "attention_mask", {5}, "\"attention_mask\": expected at least 2 axes");
  refused(mha, {2, 5, 4}, "attention_mask", {2, 1, 2, 5, 5}, "\"attention_mask\"");
  refused(mha, {2, 5, 4}, "value_mask", {2, 4}, "\"value_mask\": expected the first 2 axes of shape (2, 5, 4)");
  refused(mha, {2, 5, 3, 4}, "value_mask", {2, 5}, "not supported with attention over 2 axes", Code::unsupported);
  refused(mha, {2, 5, 3, 4}, "use_causal_mask", {}, "\"use_causal_mask\": not supported", Code::unsupported);
  Json flash = mha, window = mha;
  flash["flash_attention"] = true;
  window["sliding_window"] = 2;
  refused(flash, {2, 5, 4}, "return_attention_scores", {}, "expected false with flash_attention",
          Code::invalid_argument);
  refused(window, {2, 5, 3, 4}, "training", {}, "\"sliding_window\": not supported", Code::unsupported);
}

// Keras gives it the mean of all values where it makes no scores, and nothing where it does; NaNs in what is masked
// change neither.
TEST(HeadedAttention, AQueryThatSeesNothingIsUniformUnlessScoresAreMade) {
  for (bool scores : {false, true})
    for (float padding : {5.0f, NAN}) {
      LayerCall l("MultiHeadAttention", {{"num_heads", 2}, {"key_dim", 2}});
      Symbol q = l.input({2, 1, 2}), v = l.masked({2, 3, 2});
      auto y = l.call({q, v}, scores ? with_flag("return_attention_scores") : Arguments{});
      auto got = l.run(y, {tensor<float>({2, 1, 2}, {1, 2, 3, 4}),
                           tensor<float>({2, 3, 2}, {1, 2, padding, 1, 3, 4, 1, 2, 3, 4, 5, 6}),
                           tensor<bool>({2, 3}, {true, false, true, false, false, false})});
      // Weights are ones: the values' mean (3, 4) projects to 3 + 4 + 1, four of which and 1 make the output.
      EXPECT_FLOAT_EQ(got[0].as<float>()[2], scores ? 1 : 4 * (7 + 1) + 1);
      EXPECT_FALSE(std::isnan(got[0].as<float>()[0]));
      if (!scores) continue;
      for (int i = 6; i < 12; ++i) EXPECT_EQ(got[1].as<float>()[i], 0) << i;
      for (int i : {1, 4}) EXPECT_EQ(got[1].as<float>()[i], 0);
    }
}

TEST(HeadedAttention, ScoresAreBeforeDropout) {
  LayerCall l("MultiHeadAttention", {{"num_heads", 2}, {"key_dim", 2}, {"dropout", 1.0}});
  auto y = l.call({l.input({1, 2, 3}), l.input({1, 4, 3})}, with_flag("return_attention_scores"), true);
  auto got = l.run(y, randoms({{1, 2, 3}, {1, 4, 3}}));
  EXPECT_EQ(values(got[0]), std::vector<double>(6, 1));  // the bias
  for (int row = 0; row < 4; ++row) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += got[1].as<float>()[row * 4 + i];
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

// Heads made of other layers: products, attention by each head, one behind the other, a product.
TEST(HeadedAttention, EqualsItsParts) {
  const std::vector<Shape> weights{{3, 2, 4}, {2, 4}, {3, 2, 4}, {2, 4}, {3, 2, 4}, {2, 4}, {2, 4, 3}, {3}};
  std::vector<Shape> shapes{{2, 5, 3}, {2, 6, 3}};
  shapes.insert(shapes.end(), weights.begin(), weights.end());
  const std::vector<Tensor> in = randoms(shapes);
  auto parts = [](Emit &e, const std::vector<Id> &v) {
    GivenWeights none_given({}, e);
    auto attention = std::static_pointer_cast<const kinds::Layer>(kinds::find("layer", "Attention").make({}));
    auto head = [&](Id x, size_t kernel, int64_t h) {
      Id w = ops::squeeze(e, ops::slice(e, v[kernel], 1, h, 1), 1);
      return ops::matmul(e, x, w, {}, ops::squeeze(e, ops::slice(e, v[kernel + 1], 0, h, 1), 0));
    };
    std::vector<Id> heads;
    const kinds::Arguments no_arguments;
    for (int64_t h = 0; h < 2; ++h) {
      const std::vector<Symbol> qvk{{ops::scale(e, head(v[0], 2, h), 0.5f)}, {head(v[1], 6, h)}, {head(v[1], 4, h)}};
      kinds::Call call(e, none_given, qvk, no_arguments, false);
      heads.push_back(attention->call(call)[0].value);
    }
    Id w = ops::reshape(e, v[8], 0, {8, 3});
    return std::vector<Id>{ops::matmul(e, ops::concat(e, heads, -1), w, {}, v[9])};
  };
  Case whole = layer_case("MultiHeadAttention", {{"num_heads", 2}, {"key_dim", 4}}, in, weights.size(), nullptr);
  expect_close(evaluate(program_of(whole.build, in), in).outputs[0], evaluate(program_of(parts, in), in).outputs[0],
               1e-5, "its parts");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
