// LinearAttention: the recurrence in double, parts of a sequence, refusals. SegmentGather.
#include <cmath>

#include "layer_call.hpp"
#include "layer_case.hpp"

namespace dl4::test::DL4_FILE {
namespace {

constexpr int64_t batch = 2, steps = 4, heads = 2, group = 2, features = 3, values = 2;

struct Form {
  const char *rule;
  bool gates, corrects, each_feature, one_beta;
};

std::vector<Array> naive(const std::vector<Array> &in, const Form &f, double scale, bool started) {
  Array y = zeros({batch, steps, heads * group * values}), state = zeros({batch, heads, features, values});
  if (started) state = in.back();
  const auto each = [&](const Array &a, int64_t b, int64_t t, int64_t i) {
    return a[(b * steps + t) * a.shape.last() + i];
  };
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t t = 0; t < steps; ++t)
      for (int64_t h = 0; h < heads; ++h) {
        const auto s = [&](int64_t d, int64_t v) -> double & {
          return state[((b * heads + h) * features + d) * values + v];
        };
        for (int64_t d = 0; d < features && f.gates; ++d)
          for (int64_t v = 0; v < values; ++v)
            s(d, v) *= std::exp(each(in[3], b, t, f.each_feature ? h * features + d : h));
        for (int64_t v = 0; v < values; ++v) {
          double add = each(in[2], b, t, h * values + v);
          if (f.corrects) {
            for (int64_t d = 0; d < features; ++d) add -= each(in[1], b, t, h * features + d) * s(d, v);
            add *= each(in[f.gates ? 4 : 3], b, t, f.one_beta ? 0 : h);
          }
          for (int64_t d = 0; d < features; ++d) s(d, v) += each(in[1], b, t, h * features + d) * add;
          for (int64_t g = 0; g < group; ++g) {
            double &to = y[(b * steps + t) * y.shape.last() + (h * group + g) * values + v];
            for (int64_t d = 0; d < features; ++d)
              to += scale * each(in[0], b, t, (h * group + g) * features + d) * s(d, v);
          }
        }
      }
  return {y, state};
}

Json config_of(const char *rule) {
  return {{"num_query_heads", heads * group}, {"num_key_value_heads", heads}, {"update_rule", rule}};
}

std::vector<Tensor> inputs_of(const Form &f) {
  std::vector<Shape> shapes{
      {batch, steps, heads * group * features}, {batch, steps, heads * features}, {batch, steps, heads * values}};
  if (f.gates) shapes.push_back({batch, steps, f.each_feature ? heads * features : heads});
  if (f.corrects) shapes.push_back({batch, steps, f.one_beta ? 1 : heads});
  return randoms(shapes);
}

const Form forms[] = {{"linear", false, false, false, false},  {"gated", true, false, true, false},
                      {"gated", true, false, false, false},    {"delta", false, true, false, false},
                      {"gated_delta", true, true, true, true}, {"gated_delta", true, true, false, false}};

TEST(LinearAttention, Formula) {
  for (const Form &f : forms)
    for (const bool scaled : {false, true}) {
      SCOPED_TRACE(text(f.rule, f.each_feature, f.one_beta, scaled));
      Json config = config_of(f.rule);
      if (scaled) config["scale"] = 0.7;
      const double scale = scaled ? 0.7 : 1 / std::sqrt(3.0);
      check(layer_case("LinearAttention", config, inputs_of(f), 0,
                       [=](const auto &in) { return naive(in, f, scale, false); }));
    }
}

// From a state on: the numbers of the formula that begins there.
TEST(LinearAttention, BeginsAtAStateIfGivenOne) {
  const Form f = forms[5];
  LayerCall l("LinearAttention", config_of(f.rule));
  std::vector<Tensor> in = inputs_of(f);
  in.push_back(randoms({{batch, heads, features, values}})[0]);
  std::vector<Symbol> symbols;
  for (const Tensor &t : in) symbols.push_back(l.input(t.shape));
  Arguments arguments;
  arguments.symbols["initial_state"] = {symbols.back()};
  symbols.pop_back();
  const auto out = l.run(l.call(symbols, arguments), in);
  const auto wanted = naive(arrays(in), f, 1 / std::sqrt(3.0), true);
  for (size_t i = 0; i < 2; ++i) expect_close(out[i], to_tensor(DType::f32, wanted[i]), 1e-5, text("output ", i));
}

TEST(LinearAttention, Refuses) {
  expect_config_refusal("LinearAttention", {{"num_query_heads", 3}, {"num_key_value_heads", 2}}, Code::invalid_argument,
                        "expected a multiple of num_key_value_heads, 2, got 3");
  const Shape q{2, 4, 12}, k{2, 4, 6}, v{2, 4, 4};
  expect_call_refusal("LinearAttention", config_of("linear"), {{2, 4, 8}, k, v}, "query: expected 12 features");
  expect_call_refusal("LinearAttention", config_of("gated"), {q, k, v, {2, 4, 4}}, "decay: expected 2 or 6 features");
  expect_call_refusal("LinearAttention", config_of("delta"), {q, k, v, {2, 4, 3}}, "beta: expected 2 features or 1");
}

TEST(SegmentGather, TakesRowsOfSegments) {
  for (const bool batched : {false, true}) {
    Tensor ids = make_tensor(DType::i64, batched ? Shape{2, 4} : Shape{4});
    for (int64_t i = 0; i < ids.elements(); ++i) ids.as<int64_t>()[i] = i % 4 - 1;
    const Shape s = batched ? Shape{2, 3, 2} : Shape{3, 2};
    check(layer_case("SegmentGather", Json::object(), {randoms({s})[0], ids}, 0, [=](const auto &in) {
      Array y = zeros(batched ? Shape{2, 4, 2} : Shape{4, 2});
      for (int64_t i = 0; i < y.shape.elements(); ++i) {
        const auto id = static_cast<int64_t>(in[1][i / 2]);
        if (id >= 0) y[i] = in[0][(i / 8 * 3 + id) * 2 + i % 2];
      }
      return std::vector<Array>{y};
    }));
  }
}

TEST(SegmentGather, Refuses) {
  LayerCall l("SegmentGather");
  expect_refusal(Code::shape_mismatch, "expected shape (E) or (B, E)", [&] {
    l.call({l.input({2, 3}), l.input({2, 3, 4}, DType::i64)});
  });
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
