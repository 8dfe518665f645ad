// ONNX's ops over steps: rotary embeddings, convolutions and attention with a state, caches.
#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

// ---- RotaryEmbedding -----------------------------------------------------------------------------------------------

// Cosines or sines of each step, with an axis for the heads.
Node turns(const Op &op, size_t i, int head_axis, int64_t half) {
  Value &cache = op.in(i);
  const bool by_id = op.has(3);
  if (cache.rank() != (by_id ? 2 : 3) || known(op, cache.dims.back(), "a cache") != half)
    fail(Code::corrupt_file, "has a cache of other axes than ", half, " pairs of features need");
  const Node t = by_id ? op.layer("Take", {{"axis", 0}}, {op.x(i), op.x(3)}) : op.x(i);
  return op.layer("ExpandDims", {{"axis", head_axis}}, {t});
}

void rotary_embedding(const Op &op) {
  Value &v = op.in(0);
  const bool flat = v.rank() == 3;
  if (!flat && v.rank() != 4) fail(Code::corrupt_file, "expects a value of 3 or 4 axes");
  if (op.has(3) && op.in(3).rank() != 2) fail(Code::corrupt_file, "expects places of two axes");
  Node x = op.x(0);
  int64_t size = known(op, v.dims.back(), "a head");
  if (flat) {
    const int64_t heads = op.integer("num_heads");
    if (heads < 1 || size % heads != 0) fail(Code::corrupt_file, "has \"num_heads\" of ", heads, " for ", size);
    size /= heads;
    x = op.layer("Reshape", {{"target_shape", Ints{known_or_free(v.dims[1]), heads, size}}}, {x});
  }
  const int64_t said = op.integer("rotary_embedding_dim"), turned = said == 0 ? size : said, half = turned / 2;
  if (turned < 2 || turned > size || turned % 2 != 0)
    fail(Code::corrupt_file, "has \"rotary_embedding_dim\" of ", said, " for ", size, " features");
  const bool interleaved = op.flag("interleaved");
  const Node cosine = turns(op, 1, flat ? 2 : 1, half), sine = turns(op, 2, flat ? 2 : 1, half);
  const Node part = turned == size ? x : op.cut(x, 3, 0, turned);
  Node pairs[2];
  const Shape s = op.shape(part);
  if (interleaved) {
    const Node apart = op.layer("Reshape", {{"target_shape", Ints{s[1], s[2], half, 2}}}, {part});
    for (int i = 0; i < 2; ++i) pairs[i] = op.layer("Squeeze", {{"axis", 4}}, {op.cut(apart, 4, i, 1)});
  } else {
    for (int i = 0; i < 2; ++i) pairs[i] = op.cut(part, 3, i * half, half);
  }
  const Node real = minus(op, times(op, cosine, pairs[0]), times(op, sine, pairs[1])),
             imaginary = plus(op, times(op, sine, pairs[0]), times(op, cosine, pairs[1]));
  Node y = op.layer(interleaved ? "Stack" : "Concatenate", {{"axis", -1}}, {real, imaginary});
  if (interleaved) y = op.layer("Reshape", {{"target_shape", Ints{s[1], s[2], turned}}}, {y});
  if (turned != size) y = op.layer("Concatenate", {{"axis", -1}}, {y, op.cut(x, 3, turned, size - turned)});
  if (flat) y = op.layer("Reshape", {{"target_shape", Ints{known_or_free(v.dims[1]), v.dims[2].factor}}}, {y});
  op.give(0, y, v.dims);
}

// ---- with a state -------------------------------------------------------------------------------------------------

void causal_conv(const Op &op) {
  Value &v = op.in(0);
  const Tensor w = op.floats(1, "kernel");
  if (v.rank() != 3 || w.shape.rank() != 3 || w.shape[1] != 1 || w.elements() == 0)
    fail(Code::corrupt_file, "expects a value of 3 axes and a kernel (channels, 1, k), got ", w.shape);
  const int64_t channels = w.shape[0], k = w.shape[2];
  const std::string function = op.string("activation");
  if (function != "none" && function != "silu" && function != "swish")
    fail(Code::corrupt_file, "has \"activation\" ", function);
  const Perm perm{0, 2, 1};
  Node x = op.as(v, perm);
  if (op.has(3))
    x = op.layer("Concatenate", {{"axis", 1}}, {op.as(3, perm), x});
  else if (k > 1)
    x = op.layer("ZeroPadding1D", {{"padding", Ints{k - 1, 0}}}, {x});
  Weights weights{{"kernel", transposed(w, {2, 0, 1})}};
  if (op.has(2)) weights.emplace_back("bias", op.floats(2, "bias"));
  const Json config{{"kernel_size", k}, {"use_bias", op.has(2)}};
  Node y = op.weighted("DepthwiseConv1D", config, {x}, weights);
  if (op.shape(y)[2] != channels) fail(Code::corrupt_file, "has a kernel of other channels than its input");
  if (function != "none") y = op.layer("Activation", activation("silu"), {y});
  op.give(0, y, v.dims, perm);
  const Node last = k == 1 ? op.cut(x, 1, 0, 0) : op.cut(x, 1, 1 - k, k - 1);
  op.give(1, last, {v.dims[0], {channels, {}}, {k - 1, {}}}, perm);
}

void linear_attention(const Op &op) {
  const std::string rule = op.string("update_rule");
  const bool gates = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  if (!gates && !corrects && rule != "linear") fail(Code::corrupt_file, "has \"update_rule\" ", rule);
  if (op.has(4) != gates || op.has(5) != corrects)
    fail(Code::corrupt_file, "has other inputs than \"update_rule\" ", rule, " takes");
  const int64_t heads = op.integer("q_num_heads", 0), kept = op.integer("kv_num_heads", 0);
  Json config{{"num_query_heads", heads}, {"num_key_value_heads", kept}, {"update_rule", rule}};
  // In ONNX 0 means the default.
  if (const double scale = op.real("scale"); scale != 0) config["scale"] = scale;
  std::vector<Node> in{op.x(0), op.x(1), op.x(2)};
  if (gates) in.push_back(op.x(4));
  if (corrects) in.push_back(op.x(5));
  graph::Arguments arguments;
  if (op.has(3)) arguments.nodes["initial_state"] = {op.x(3)};
  const auto out = op.layers("LinearAttention", config, in, arguments);
  const Value &q = op.in(0);
  op.give(0, out[0], {q.dims[0], q.dims[1]});
  op.give(1, out[1], {q.dims[0]});
}

// ---- positions per item -------------------------------------------------------------------------------------------

// Gathers x (B, n, ...) at each item's positions (B, m): (B, m, ...).
Node rows_at(const Op &op, Node x, Node places) {
  if (op.r.graph().dtype(x) != DType::f32) op.refuse("of ", op.r.graph().dtype(x), " is not supported, only of floats");
  const bool flat = op.shape(x).rank() == 2;
  if (flat) x = op.layer("ExpandDims", {{"axis", 2}}, {x});
  const Node y = op.layer("SegmentGather", {}, {x, places});
  return flat ? op.layer("Squeeze", {{"axis", 2}}, {y}) : y;
}

// Positions of axis `at` of x, int64, with a number per item.
Node counted(const Op &op, Node x, int at) { return op.cast(op.layer("Arange", {{"axis", at}}, {x}), DType::i64); }
Node each_item(const Op &op, size_t i) {
  if (op.in(i).rank() != 1) fail(Code::corrupt_file, "expects one number for each item");
  return op.layer("ExpandDims", {{"axis", 1}}, {op.cast(op.x(i), DType::i64)});
}

void reverse_sequence(const Op &op) {
  Value &v = op.in(0);
  const int64_t batch = op.axis_of(op.integer("batch_axis"), v.rank()),
                time = op.axis_of(op.integer("time_axis"), v.rank());
  if (batch == time) fail(Code::corrupt_file, "has one axis for both, items and steps");
  Perm perm{static_cast<int>(batch), static_cast<int>(time)};
  for (int i = 0; i < v.rank(); ++i)
    if (i != batch && i != time) perm.push_back(i);
  const Node x = op.as(v, perm), place = counted(op, x, 1), length = each_item(op, 1);
  const Node turned = minus(op, by_number(op, "BroadcastSubtract", length, 1), place);
  Node from = op.layer("Where", {}, {op.layer("Less", {}, {place, length}), turned, place});
  // A position out of range for a length past the steps: the run reports it.
  from = op.layer("Where", {{"x1", INT32_MAX}}, {by_number(op, "Less", length, 0), from});
  op.give(0, rows_at(op, x, from), v.dims, perm);
}

void tensor_scatter(const Op &op) {
  Value &v = op.in(0), &update = op.in(1);
  const auto axis = op.axis_of(op.integer("axis"), v.rank());
  const std::string mode = op.string("mode");
  if (mode != "linear" && mode != "circular") fail(Code::corrupt_file, "has \"mode\" ", mode);
  if (axis == 0 || update.rank() != v.rank()) fail(Code::corrupt_file, "has no axis of steps behind the items");
  Perm perm{0, static_cast<int>(axis)};
  for (int i = 1; i < v.rank(); ++i)
    if (i != axis) perm.push_back(i);
  const auto at = static_cast<size_t>(axis);
  const int64_t n = known(op, v.dims[at], "a cache"), m = known(op, update.dims[at], "an update");
  if (m > n) fail(Code::corrupt_file, "has an update of ", m, " steps for a cache of ", n);
  const Node cache = op.as(v, perm), both = op.layer("Concatenate", {{"axis", 1}}, {cache, op.as(update, perm)});
  const Node place = counted(op, cache, 1);
  const Node first =
      op.has(2) ? each_item(op, 2)
                : op.layer("ExpandDims", {{"axis", 1}}, {by_number(op, "BroadcastMultiply", counted(op, cache, 0), 0)});
  Node step = minus(op, place, first);
  if (mode == "circular") step = by_number(op, "Mod", step, static_cast<double>(n));
  const Node here = op.layer(
      "LogicalAnd", {}, {by_number(op, "GreaterEqual", step, 0), by_number(op, "Less", step, static_cast<double>(m))});
  Node from = op.layer("Where", {}, {here, by_number(op, "BroadcastAdd", step, static_cast<double>(n)), place});
  if (mode == "linear" && op.has(2)) {  // outside of the cache: a position out of range
    const Node low = by_number(op, "Less", first, 0),
               high = by_number(op, "Greater", first, static_cast<double>(n - m));
    from = op.layer("Where", {{"x1", n + m}}, {op.layer("LogicalOr", {}, {low, high}), from});
  }
  op.give(0, rows_at(op, both, from), v.dims, perm);
}

void swi_glu(const Op &op) {
  if (op.in(0).dims != op.in(1).dims) op.refuse("of two values of different shapes is not supported");
  const double alpha = op.real("alpha");
  const Node x = op.x(0), gate = alpha == 1 ? x : by_number(op, "BroadcastMultiply", x, alpha);
  const Node swish = alpha == 1 ? op.layer("Activation", activation("silu"), {x})
                                : times(op, x, op.layer("Activation", activation("sigmoid"), {gate}));
  op.give(0, times(op, swish, op.x(1)), op.in(0).dims);
}

}  // namespace

constexpr Row step_table[] = {
    {"RotaryEmbedding", rotary_embedding,
     "X~ cos_cache~ sin_cache~ position_ids? > Y; interleaved=0|1 num_heads:int rotary_embedding_dim=0"},
    {"CausalConvWithState", causal_conv,
     "input~ weight~ bias~? past_state~? > output present_state; activation=none|silu|swish"},
    {"LinearAttention", linear_attention,
     "query~ key~ value~ past_state~? decay~? beta~? > output present_state; chunk_size=64 "
     "kv_num_heads:int! q_num_heads:int! scale=0.0 update_rule=gated_delta|linear|gated|delta"},
    {"ReverseSequence", reverse_sequence, "input sequence_lens > Y=input; batch_axis=1 time_axis=0"},
    {"TensorScatter", tensor_scatter, "past_cache update write_indices? > present_cache; axis=-2 mode=linear|circular"},
    {"SwiGLU", swi_glu, "A~ B~ > Y; alpha=1.0"},
};
const std::span<const Row> step_rows = step_table;

}  // namespace dl4::io::onnx
