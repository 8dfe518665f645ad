// LinearAttention: attention through a state that each step updates.
#include <cmath>

#include "base/error.hpp"
#include "kinds/layer.hpp"
#include "ops/scan.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit;
using ops::Id;

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
    f("num_query_heads", num_query_heads).required("4").at_least(1).at_most(max_dim).doc("heads of the queries");
    f("num_key_value_heads", num_key_value_heads)
        .required("2")
        .at_least(1)
        .at_most(max_dim)
        .doc("heads of the keys and values, a divisor of those of the queries");
    f("update_rule", update_rule, {"linear", "gated", "delta", "gated_delta"}).doc("how a step changes the matrix");
    f("scale", scale).doc("factor of the queries; null: 1 / sqrt(features of a key's head)");
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
DL4_KINDS(linear_attention, LinearAttention)
}  // namespace dl4::kinds
