// ONNX's Attention, as single steps.
#include <cmath>

#include "io/onnx/read/math.hpp"
#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {
namespace {

constexpr double most = std::numeric_limits<float>::max(), hidden = -1e38;

struct Part {
  Node node;  // (B, heads, T, features)
  std::vector<Dim> dims;
};

// (B, T, heads * features), reshaped with an axis of heads.
Part with_heads(const Op &op, size_t i, const char *attribute) {
  Value &v = op.in(i);
  if (v.rank() == 4) return {op.x(i), v.dims};
  const int64_t heads = op.integer(attribute, 0);
  if (v.rank() != 3 || heads < 1 || !v.dims[2].known() || v.dims[2].factor % heads != 0)
    fail(Code::corrupt_file, "expects values of 4 axes, or of 3 and \"", attribute, "\", a divisor of the last one");
  const int64_t each = v.dims[2].factor / heads;
  const Ints target{v.dims[1].known() ? v.dims[1].factor : free_dim, heads, each};
  const Node apart = op.layer("Reshape", {{"target_shape", target}}, {op.x(i)});
  return {op.layer("Transpose", {{"perm", {0, 2, 1, 3}}}, {apart}), {v.dims[0], {heads, {}}, v.dims[1], {each, {}}}};
}

// Past keys or values concatenated with the new ones.
Part joined(const Op &op, const Part &now, size_t before, size_t out) {
  Part all = now;
  if (op.has(before)) {
    const Value &past = op.in(before);
    all.node = op.layer("Concatenate", {{"axis", 2}}, {op.x(before), now.node});
    const bool known = past.rank() == 4 && past.dims[2].known() && now.dims[2].known();
    all.dims[2] = known ? Dim{checked_add(past.dims[2].factor, now.dims[2].factor), {}} : Dim{1, {op.r.fresh()}};
  }
  op.give(out, all.node, all.dims);
  return all;
}

Node repeated(const Op &op, const Part &p, int64_t heads) {
  if (!p.dims[1].known() || p.dims[1].factor < 1 || heads % p.dims[1].factor != 0)
    fail(Code::corrupt_file, "has keys and values of other heads than its queries");
  const int64_t times = heads / p.dims[1].factor;
  return times == 1 ? p.node : op.layer("Repeat", {{"repeats", times}, {"axis", 1}}, {p.node});
}

// A number for each query and key: f(query, key).
template <class F>
Tensor pairs(const Op &op, const Part &q, const Part &k, DType type, F f) {
  const Dim &t = q.dims[2], &s = k.dims[2];
  if (!t.known() || !s.known())
    op.refuse(
        "of a free number of steps with \"is_causal\", a window or lengths is not supported; export it with that "
        "number");
  op.take(checked_mul(t.factor, s.factor, size_of(type)));
  Tensor all = make_tensor(type, {t.factor, s.factor});
  for (int64_t i = 0; i < t.factor; ++i)
    for (int64_t j = 0; j < s.factor; ++j)
      if (type == DType::i64)
        all.as<int64_t>()[i * s.factor + j] = f(i, j);
      else
        all.as<uint8_t>()[i * s.factor + j] = f(i, j) != 0;
  return all;
}

// Mask of keys that a query may see, by position.
Node band(const Op &op, const Part &q, const Part &k, int64_t before, int64_t after) {
  const int64_t past = op.has(4) ? op.in(4).dims[2].factor : 0;
  return op.constant_node(pairs(op, q, k, DType::boolean, [&](int64_t i, int64_t j) {
    return int64_t{(before < 0 || i + past - j <= before) && (after < 0 || j - i - past <= after)};
  }));
}

// The same if each item's keys end at a length, which is the position of the last query.
Node band_of_lengths(const Op &op, const Part &q, const Part &k, int64_t before, int64_t after) {
  const Node length = op.layer("ExpandDims", {{"axis", {1, 2, 3}}}, {op.cast(op.x(6), DType::i64)});
  const auto compared = [&](const char *kind, const Tensor &t) {
    return op.layer(kind, {}, {op.constant_node(t), length});
  };
  Node seen = compared("Less", pairs(op, q, k, DType::i64, [](int64_t, int64_t j) { return j; }));
  const int64_t steps = q.dims[2].factor;
  const auto both = [&](Node other) { seen = op.layer("LogicalAnd", {}, {seen, other}); };
  if (after >= 0)
    both(compared("LessEqual",
                  pairs(op, q, k, DType::i64, [&](int64_t i, int64_t j) { return j - i + steps - after; })));
  if (before >= 0)
    both(compared("GreaterEqual",
                  pairs(op, q, k, DType::i64, [&](int64_t i, int64_t j) { return j - i + steps + before; })));
  return seen;
}

// A mask shorter than the keys, possibly with a single key: since opset 24 keys past its end are not seen.
struct Short {
  Node mask, seen = graph::no_node;
};
Short mask_of(const Op &op, const Part &k) {
  const Value &mask = op.in(3);
  const Dim keys = mask.rank() > 0 ? mask.dims.back() : Dim{}, &all = k.dims[2];
  if (keys == all || mask.rank() == 0 || (keys == Dim{} && op.opset() < 24)) return {op.x(3)};
  if (op.opset() < 24 || !keys.known() || !all.known() || keys.factor < 1 || keys.factor > all.factor)
    op.refuse("with a mask of another number of keys than there are is not supported");
  op.take(checked_mul(all.factor, 9));
  Ints from;
  Tensor seen = make_tensor(DType::boolean, {all.factor});
  for (int64_t i = 0; i < all.factor; ++i) {
    from.push_back(std::min(i, keys.factor - 1));
    seen.as<uint8_t>()[i] = i < keys.factor;
  }
  return {op.layer("Take", {{"indices", from}, {"axis", mask.rank() - 1}}, {op.x(3)}), op.constant_node(seen)};
}

// The scores with unseen keys set to the lowest float (unchanged if all are seen), or to ONNX's -infinity.
Node masked(const Op &op, Node scores, const Part &q, const Part &k, bool &any, bool infinite = false) {
  const auto hide = [&](Node seen) {
    if (!infinite) return op.layer("Where", {{"x2", -most}}, {seen, scores});
    const Node low = op.constant_node(scalar(-std::numeric_limits<double>::infinity()));
    return op.layer("Where", {}, {seen, scores, low});
  };
  if (op.has(3)) {
    any = true;
    const Short mask = mask_of(op, k);
    if (op.in(3).dtype == DType::boolean) {
      scores = hide(mask.mask);
    } else {
      scores = plus(op, scores, mask.mask);
      if (!infinite) scores = op.layer("Clip", {{"x_min", -most}, {"x_max", most}}, {scores});
    }
    if (mask.seen != graph::no_node) scores = hide(mask.seen);
  }
  int64_t before = std::min<int64_t>(op.integer("left_window_size"), max_dim),
          after = std::min<int64_t>(op.integer("right_window_size"), max_dim);
  if (op.flag("is_causal")) after = after < 0 ? 0 : std::min<int64_t>(after, 0);
  if (before < 0 && after < 0 && !op.has(6)) return scores;
  any = true;
  const Node seen = op.has(6) ? band_of_lengths(op, q, k, before, after) : band(op, q, k, before, after);
  return hide(seen);
}

// All floats are float32 here.
void need_precision(const Op &op) {
  const auto type = static_cast<Type>(op.integer("softmax_precision", 1));
  if (stands_for(type) != DType::f32) op.refuse("\"softmax_precision\" ", type, " is not supported");
}

void attention(const Op &op) {
  need_precision(op);
  const bool flat = op.in(0).rank() == 3;
  const Part q = with_heads(op, 0, "q_num_heads");
  const Part k = joined(op, with_heads(op, 1, "kv_num_heads"), 4, 1);
  const Part v = joined(op, with_heads(op, 2, "kv_num_heads"), 5, 2);
  if (!q.dims[1].known() || !q.dims[3].known()) op.refuse("of a free number of heads or features is not supported");
  const int64_t heads = q.dims[1].factor, mode = op.integer("qk_matmul_output_mode");
  const double scale = op.real("scale", 1 / std::sqrt(static_cast<double>(q.dims[3].factor)));
  Node x = op.layer("MatMul", {{"transpose_b", true}}, {q.node, repeated(op, k, heads)});
  const std::vector<Dim> dims{q.dims[0], q.dims[1], q.dims[2], k.dims[2]};
  x = by_number(op, "BroadcastMultiply", x, scale);
  const Node raw = x;
  if (const double cap = op.real("softcap"); cap > 0)
    x = by_number(op, "BroadcastMultiply", op.layer("Tanh", {}, {by_number(op, "BroadcastMultiply", x, 1 / cap)}), cap);
  const Node capped = x;
  const bool shown = op.wants(3) && mode == 2;
  bool any = false;
  const Node hiding = x = masked(op, x, q, k, any, shown);
  if (shown && any) x = op.layer("Clip", {{"x_min", -most}, {"x_max", most}}, {x});
  Node p = op.layer("Softmax", {}, {x});
  if (any) p = op.layer("Where", {{"x2", 0}}, {by_number(op, "Greater", x, hidden), p});
  Node y = op.layer("MatMul", {}, {p, repeated(op, v, heads)});
  if (op.wants(3)) {
    op.give(3, mode == 0 ? raw : mode == 1 ? capped : mode == 2 ? hiding : p, dims);
  }
  if (!flat) return op.give(0, y, {q.dims[0], q.dims[1], q.dims[2], v.dims[3]});
  y = op.layer("Transpose", {{"perm", {0, 2, 1, 3}}}, {y});
  const Ints target{q.dims[2].known() ? q.dims[2].factor : free_dim, heads * v.dims[3].factor};
  op.give(0, op.layer("Reshape", {{"target_shape", target}}, {y}), {q.dims[0], q.dims[2]});
}

// Applies the body in an attribute to scores or probabilities; without one returns them.
Node changed(const Op &op, const char *body, Node x, const std::vector<Dim> &dims) {
  if (!op.says(body)) return x;
  Value v;
  v.type = Type::float32;
  v.dims = dims;
  v.forms.push_back({plain(4), x});
  Values out = inlined(op, body_of(op, body), {v});
  if (out.size() != 1 || out[0].list || out[0].absent || out[0].dims != dims || out[0].dtype != DType::f32)
    op.refuse("\"", body, "\" gives another shape or type than it takes");
  return op.as(out[0], plain(4));
}

void flex_attention(const Op &op) {
  for (size_t i = 0; i < 3; ++i)
    if (op.in(i).rank() != 4) fail(Code::corrupt_file, "expects values of 4 axes");
  need_precision(op);
  const Part q{op.x(0), op.in(0).dims}, k{op.x(1), op.in(1).dims}, v{op.x(2), op.in(2).dims};
  const int64_t heads = known(op, q.dims[1], "a number of heads"), size = known(op, q.dims[3], "a head");
  const double scale = op.real("scale", 1 / std::sqrt(static_cast<double>(size)));
  const std::vector<Dim> dims{q.dims[0], q.dims[1], q.dims[2], k.dims[2]};
  Node x = op.layer("MatMul", {{"transpose_b", true}}, {q.node, repeated(op, k, heads)});
  x = changed(op, "score_mod", by_number(op, "BroadcastMultiply", x, scale), dims);
  x = changed(op, "prob_mod", op.layer("Softmax", {}, {x}), dims);
  const Node y = op.layer("MatMul", {}, {x, repeated(op, v, heads)});
  op.give(0, y, {q.dims[0], q.dims[1], q.dims[2], v.dims[3]});
}

}  // namespace

constexpr Row attention_table[] = {
    {"Attention", attention,
     "Q~ K~ V~ attn_mask? past_key? past_value? nonpad_kv_seqlen?@24 > Y present_key? present_value? "
     "qk_matmul_output?; is_causal=0|1 kv_num_heads:int left_window_size@25=-1 q_num_heads:int "
     "qk_matmul_output_mode=0|1|2|3 right_window_size@25=-1 scale:float softcap=0.0 "
     "softmax_precision:int",
     slow},
    {"FlexAttention", flex_attention,
     "Q~ K~ V~ > Y; prob_mod:graph scale:float score_mod:graph softmax_precision:int"}};
const std::span<const Row> attention_rows = attention_table;

}  // namespace dl4::io::onnx
