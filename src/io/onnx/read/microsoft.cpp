// Ops of com.microsoft, written by ONNX Runtime's optimizer and its quantizing tools: each is read as ONNX's own nodes.
#include <cmath>

#include "io/onnx/read/loops.hpp"
#include "io/onnx/read/ml.hpp"

namespace dl4::io::onnx {
namespace {

Values first_inputs(const Op &op, size_t n) {
  Values in;
  for (size_t i = 0; i < n && op.has(i); ++i) in.push_back(op.in(i));
  return in;
}

// ---- products and convolutions -------------------------------------------------------------------------------------

// "activation" with its parameters, whose names depend on the version.
Value activated(const Op &op, const Value &v) {
  const Nodes n{op};
  const std::string kind = op.string("activation");
  std::vector<double> p;
  if (const Attribute *a = op.node.find("activation_params")) p = a->floats;
  for (const char *name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (op.says(name)) p.push_back(op.real(name));
  const auto alpha = [&](size_t i, double otherwise) { return i < p.size() ? p[i] : otherwise; };
  if (kind.empty()) return v;
  if (kind == "Relu" || kind == "Sigmoid" || kind == "Tanh") return n.of(kind.c_str(), {v});
  if (kind == "LeakyRelu") return n.of("LeakyRelu", {v}, {{"alpha", alpha(0, 0.01)}});
  if (kind == "Elu") return n.of("Elu", {v}, {{"alpha", alpha(0, 1)}});
  if (kind == "HardSigmoid") return n.of("HardSigmoid", {v}, {{"alpha", alpha(0, 0.2)}, {"beta", alpha(1, 0.5)}});
  if (kind == "Clip") return n.of("Clip", {v, n.real(alpha(0, -3.402823466e38)), n.real(alpha(1, 3.402823466e38))});
  op.refuse("the activation \"", kind, "\" is not supported");
}

void fused_conv(const Op &op) {
  const Nodes n{op};
  Value y = n.of("Conv", first_inputs(op, 3), own(op, {"activation", "activation_params"}));
  if (op.has(3)) y = n.add(y, n.in(3));
  op.give_value(0, activated(op, y));
}

void fused_gemm(const Op &op) {
  const Nodes n{op};
  const Value y =
      n.of("Gemm", first_inputs(op, 3),
           own(op, {"activation", "activation_params", "activation_alpha", "activation_beta", "activation_gamma"}));
  op.give_value(0, activated(op, y));
}

void fused_matmul(const Op &op) {
  const Nodes n{op};
  const auto side = [&](size_t i, const char *name) {
    const Value v = n.in(i);
    if (!op.flag(name) || v.rank() < 2) return v;
    Ints perm(v.dims.size());
    for (size_t k = 0; k < perm.size(); ++k) perm[k] = static_cast<int64_t>(k);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return n.transpose(v, perm);
  };
  const Value y = n.matmul(side(0, "transA"), side(1, "transB"));
  const double alpha = op.real("alpha");
  op.give_value(0, alpha == 1 ? y : n.mul(y, n.real(alpha)));
}

// ---- functions -----------------------------------------------------------------------------------------------------

// Of a sum with the bias, if there is one.
void gelu(const Op &op) {
  const Nodes n{op};
  const Value x = op.has(1) ? n.add(n.in(0), n.in(1)) : n.in(0);
  op.give_value(0, n.of("Gelu", {x}, {{"approximate", op.node.op == "FastGelu" ? "tanh" : "none"}}));
}
void quick_gelu(const Op &op) {
  const Nodes n{op};
  const double alpha = op.real("alpha");
  op.give_value(0, n.mul(n.in(0), n.of("Sigmoid", {n.mul(n.in(0), n.real(alpha))})));
}

// ---- normalizations ------------------------------------------------------------------------------------------------

Attributes of_last(const Op &op) {
  return {AttributeRef{"axis", op.integer("axis")}, AttributeRef{"epsilon", op.real("epsilon")}};
}

void simplified_layer_normalization(const Op &op) {
  const Nodes n{op};
  op.give_value(0, n.of("RMSNormalization", {n.in(0), n.in(1)}, of_last(op)));
}
void layer_normalization(const Op &op) {
  const size_t outputs = op.node.out.size();
  const Values y = computed(op, "LayerNormalization", first_inputs(op, 3), of_last(op), outputs);
  for (size_t i = 0; i < outputs; ++i) op.give_value(i, y[i]);
}

// Normalizes the sum of the first two inputs and a bias; the sum is the last output.
void skip_normalization(const Op &op, bool simplified) {
  const Nodes n{op};
  Value sum = n.add(n.in(0), n.in(1));
  const size_t bias = simplified ? 3 : 4;
  if (op.has(bias)) sum = n.add(sum, n.in(bias));
  Values in{sum, n.in(2)};
  if (!simplified && op.has(3)) in.push_back(n.in(3));
  op.give_value(0, n.of(simplified ? "RMSNormalization" : "LayerNormalization", in,
                        {{"axis", -1}, {"epsilon", op.real("epsilon")}}));
  op.give_value(3, sum);
}

void embed_layer_normalization(const Op &op) {
  const Nodes n{op};
  const auto rows = [&](size_t table, const Value &ids) { return n.of("Gather", {n.in(table), ids}, {{"axis", 0}}); };
  const Value ids = n.in(0);
  Value sum = rows(2, ids);
  const Value steps = op.has(8) ? n.in(8) : n.of("Range", {number(0), n.dim(ids, 1), number(1)});
  sum = n.add(sum, rows(3, steps));
  if (op.has(1) && op.has(4)) sum = n.add(sum, rows(4, n.in(1)));
  op.give_value(0,
                n.of("LayerNormalization", {sum, n.in(5), n.in(6)}, {{"axis", -1}, {"epsilon", op.real("epsilon")}}));
  if (op.wants(1)) {
    const Value counted = op.has(7) ? n.cast(n.in(7), Type::float32) : n.mul(n.cast(ids, Type::float32), n.real(0));
    const Value sums = n.of("ReduceSum", {counted, n.ints({1})}, {{"keepdims", 0}});
    op.give_value(1, n.cast(sums, Type::int32));
  }
  op.give_value(2, sum);
}

// ---- attention -----------------------------------------------------------------------------------------------------

struct Attended {
  Value q, k, v;   // (B, heads, T, features)
  Values added{};  // terms of the scores
};

Value with_heads(const Nodes &n, const Value &v, int64_t heads) {
  const Value apart = n.of("Reshape", {v, n.ints({0, 0, heads, -1})});
  return n.transpose(apart, {0, 2, 1, 3});
}

// 0 for a true flag, else the node's "mask_filter_value".
Value hidden(const Nodes &n, const Value &seen) {
  const double low = n.op.real("mask_filter_value");
  return n.of("Where", {seen, n.real(0), n.real(low)});
}

Value places(const Nodes &n, const Value &v, int64_t axis) {
  return n.of("Range", {number(0), n.dim(v, axis), number(1)});
}

// From (B) lengths, (B, keys) or (B, queries, keys): a term that hides scores.
Value mask_of(const Nodes &n, const Value &mask, const Value &k) {
  const Value whole = n.cast(mask, Type::int64);
  if (mask.rank() == 1) {
    const Value size = n.of("Unsqueeze", {whole, n.ints({1, 2, 3})});
    if (!k.dims.empty() && mask.dims[0] != k.dims[0] && mask.dims[0].known())
      n.op.refuse("with a mask of another form than lengths of (B) is not supported");
    return hidden(n, n.of("Less", {places(n, k, 2), size}));
  }
  if (mask.rank() > 3) n.op.refuse("with a mask of ", mask.rank(), " axes is not supported");
  const Ints axes = mask.rank() == 2 ? Ints{1, 2} : Ints{1};
  return hidden(n, n.of("Greater", {n.of("Unsqueeze", {whole, n.ints(axes)}), number(0)}));
}

Value causal(const Nodes &n, const Value &q, const Value &k) {
  const Value past = n.of("Sub", {n.dim(k, 2), n.dim(q, 2)});
  const Value query = n.of("Unsqueeze", {n.add(places(n, q, 2), past), n.ints({1})});
  return hidden(n, n.of("LessOrEqual", {places(n, k, 2), query}));
}

// (B, T, heads * features)
Value attended(const Nodes &n, const Attended &a) {
  const Op &op = n.op;
  if (!a.q.dims.back().known()) op.refuse("of a free number of features is not supported");
  double scale = op.real("scale");
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(a.q.dims.back().factor));
  Value scores = n.mul(n.matmul(a.q, n.transpose(a.k, {0, 1, 3, 2})), n.real(scale));
  for (const Value &v : a.added) scores = n.add(scores, v);
  if (op.flag("unidirectional")) scores = n.add(scores, causal(n, a.q, a.k));
  const Value p = n.of("Softmax", {scores}, {{"axis", -1}});
  const Value y = n.transpose(n.matmul(p, a.v), {0, 2, 1, 3});
  return n.of("Reshape", {y, n.ints({0, 0, -1})});
}

int64_t heads_of(const Op &op) {
  const int64_t heads = op.integer("num_heads");
  if (heads < 1) fail(Code::corrupt_file, "has \"num_heads\" ", heads);
  return heads;
}

// From projections of x, and inputs after them: mask, past, terms of the scores.
void from_projections(const Op &op, const Value &projected, size_t mask, size_t past, size_t added) {
  const Nodes n{op};
  const int64_t heads = heads_of(op);
  if (!projected.dims.back().known()) op.refuse("of a free number of features is not supported");
  const int64_t all = projected.dims.back().factor;
  Ints sizes = op.integers("qkv_hidden_sizes").value_or(Ints{all / 3, all / 3, all / 3});
  if (sizes.size() != 3 || sizes[0] < 1 || sizes[1] < 1 || sizes[2] < 1 ||
      checked_add(sizes[0], sizes[1], sizes[2]) != all)
    fail(Code::corrupt_file, "has \"qkv_hidden_sizes\" that are not those of its weights");
  const auto part = [&](int64_t from, int64_t size) {
    return with_heads(n, n.slice(projected, 2, from, from + size), heads);
  };
  Attended a{part(0, sizes[0]), part(sizes[0], sizes[1]), part(sizes[0] + sizes[1], sizes[2])};
  if (op.has(past)) {
    const auto before = [&](int64_t i) { return n.of("Squeeze", {n.slice(n.in(past), 0, i, i + 1), n.ints({0})}); };
    a.k = n.of("Concat", {before(0), a.k}, {{"axis", 2}});
    a.v = n.of("Concat", {before(1), a.v}, {{"axis", 2}});
  }
  if (op.wants(1)) {
    const Value k = n.of("Unsqueeze", {a.k, n.ints({0})}), v = n.of("Unsqueeze", {a.v, n.ints({0})});
    op.give_value(1, n.of("Concat", {k, v}, {{"axis", 0}}));
  }
  if (op.has(mask)) a.added.push_back(mask_of(n, n.in(mask), a.k));
  if (op.has(added)) a.added.push_back(n.in(added));
  op.give_value(0, attended(n, a));
}

void attention(const Op &op) {
  const Nodes n{op};
  Value x = n.matmul(n.in(0), n.in(1));
  if (op.has(2)) x = n.add(x, n.in(2));
  if (op.has(6)) op.refuse("with a \"past_sequence_length\" is not supported");
  from_projections(op, x, 3, 4, 5);
}

void quantized_attention(const Op &op) {
  const Nodes n{op};
  const Value x = n.floats(n.in(0), n.in(3), n.given(6)), w = n.floats(n.in(1), n.in(4), n.given(7));
  from_projections(op, n.add(n.matmul(x, w), n.in(2)), 5, 8, 9);
}

void multi_head_attention(const Op &op) {
  const Nodes n{op};
  const int64_t heads = heads_of(op);
  Value q = n.in(0);
  if (q.rank() != 3 || !op.has(1) || !op.has(2)) op.refuse("of queries, keys and values in one input is not supported");
  Value k = n.in(1), v = n.in(2);
  if (k.rank() != v.rank() || (k.rank() != 3 && k.rank() != 4))
    op.refuse("of keys of ", k.rank(), " axes is not supported");
  if (op.has(3)) {
    const auto part = [&](int64_t from, const Value &of) {
      if (!of.dims.back().known()) op.refuse("of a free number of features is not supported");
      return n.slice(n.in(3), 0, from, from + of.dims.back().factor);
    };
    const int64_t hidden_size = q.dims.back().factor;
    q = n.add(q, part(0, q));
    if (k.rank() == 3) {
      const int64_t keys = k.dims.back().factor;
      k = n.add(k, part(hidden_size, k)), v = n.add(v, part(hidden_size + keys, v));
    }
  }
  Attended a{with_heads(n, q, heads), k.rank() == 4 ? k : with_heads(n, k, heads),
             v.rank() == 4 ? v : with_heads(n, v, heads)};
  if (op.has(6) != op.has(7)) fail(Code::corrupt_file, "has keys of before without values, or values without keys");
  if (op.has(8) || op.has(9)) op.refuse("with a \"past_sequence_length\" or \"cache_indirection\" is not supported");
  if (op.has(6)) {
    a.k = n.of("Concat", {n.in(6), a.k}, {{"axis", 2}});
    a.v = n.of("Concat", {n.in(7), a.v}, {{"axis", 2}});
  }
  op.give_value(1, a.k), op.give_value(2, a.v);
  if (op.has(4)) {
    if (n.in(4).rank() > 2) op.refuse("with a mask of ", n.in(4).rank(), " axes is not supported");
    a.added.push_back(mask_of(n, n.in(4), a.k));
  }
  if (op.has(5)) a.added.push_back(n.in(5));
  op.give_value(0, attended(n, a));
}

// Input i as float; its scale and zero point follow it.
Value floats(const Nodes &n, size_t i) { return n.floats(n.in(i), n.in(i + 1), n.given(i + 2)); }

// Quantizes floats; the scale is input i, followed by the zero point.
Value quantized(const Nodes &n, const Value &v, size_t i) {
  Values in{v, n.in(i)};
  if (const auto zero = n.given(i + 1)) in.push_back(*zero);
  return n.of("QuantizeLinear", in);
}

// A float function between dequantization of the first input and quantization of the output.
template <class F>
void between(const Op &op, F f) {
  const Nodes n{op};
  op.give_value(0, quantized(n, f(n, floats(n, 0)), 3));
}

void of_two(const Op &op, const char *kind) {
  const Nodes n{op};
  op.give_value(0, quantized(n, n.of(kind, {floats(n, 0), floats(n, 3)}), 6));
}

void pool(const Op &op, const char *kind) {
  between(op, [&](const Nodes &n, const Value &x) { return n.of(kind, {x}, own(op, {"channels_last"})); });
}

void softmax(const Op &op) {
  const int rank = op.in(0).rank();
  if (op.axis(rank) != rank - 1) op.refuse("over another axis than the last is not supported");
  between(op, [](const Nodes &n, const Value &x) { return n.of("Softmax", {x}, {{"axis", -1}}); });
}

void concat(const Op &op) {
  const Nodes n{op};
  if (op.inputs() % 3 != 2) fail(Code::corrupt_file, "expects values, each with a scale and a zero point");
  Values parts;
  for (size_t i = 2; i + 1 < op.inputs(); i += 3) parts.push_back(floats(n, i));
  op.give_value(0, quantized(n, n.of("Concat", parts, op.node.attributes), 0));
}

void where(const Op &op) {
  const Nodes n{op};
  op.give_value(0, quantized(n, n.of("Where", {n.in(0), floats(n, 1), floats(n, 4)}), 7));
}

// An integer product plus an integer bias, times the scales.
void gemm(const Op &op) {
  const Nodes n{op};
  const auto side = [&](size_t i, const char *transposed) {
    return !op.flag(transposed) ? n.in(i) : n.transpose(n.in(i), {1, 0});
  };
  Value sum = n.of("MatMulInteger", {side(0, "transA"), side(3, "transB"), n.in(2), n.in(5)});
  if (op.has(6)) sum = n.add(sum, n.in(6));
  Value scale = n.mul(n.in(1), n.in(4));
  if (const double alpha = op.real("alpha"); alpha != 1) scale = n.mul(scale, n.real(alpha));
  if (!op.has(7)) return op.give_value(0, n.mul(n.cast(sum, Type::float32), scale));
  const Value y = n.mul(n.cast(sum, Type::float32), n.of("Div", {scale, n.in(7)}));
  Values whole{y, n.real(1)};
  if (op.has(8)) whole.push_back(n.in(8));
  op.give_value(0, n.of("QuantizeLinear", whole));
}

void matmul_integer_to_float(const Op &op) {
  const Nodes n{op};
  const Value a = n.floats(n.in(0), n.in(2), n.given(4)), b = n.floats(n.in(1), n.in(3), n.given(5));
  const Value y = n.matmul(a, b);
  op.give_value(0, op.has(6) ? n.add(y, n.in(6)) : y);
}

void dynamic_quantize_matmul(const Op &op) {
  const Nodes n{op};
  const Values a = computed(op, "DynamicQuantizeLinear", {n.in(0)}, {}, 3);
  const Value y = n.matmul(n.floats(a[0], a[1], a[2]), n.floats(n.in(1), n.in(2), n.given(3)));
  op.give_value(0, op.has(4) ? n.add(y, n.in(4)) : y);
}

}  // namespace

constexpr Row microsoft_table[] = {
    {"FusedConv", fused_conv,
     "X W B? Z? > Y; activation:string activation_params:floats "
     "auto_pad=NOTSET|SAME_UPPER|SAME_LOWER|VALID dilations:ints group=1 kernel_shape:ints pads:ints "
     "strides:ints"},
    {"FusedGemm", fused_gemm,
     "A B C? > Y; activation:string activation_alpha:float activation_beta:float "
     "activation_gamma:float alpha=1.0 beta=1.0 transA=0|1 transB=0|1"},
    {"FusedMatMul", fused_matmul, "A B > Y; alpha=1.0 transA=0|1 transB=0|1 transBatchA=0| transBatchB=0|"},
    {"TransposeMatMul", fused_matmul, "A B > Y; alpha=1.0 transA=0|1 transB=0|1"},
    {"Gelu", gelu, "X > Y"},
    {"BiasGelu", gelu, "A B > C"},
    {"FastGelu", gelu, "X bias? > Y"},
    {"QuickGelu", quick_gelu, "X > Y; alpha=1.702"},
    {"LayerNormalization", layer_normalization,
     "X scale B? > Y mean? inv_std_dev?; axis=-1 epsilon=1e-05 stash_type=1|"},
    {"SimplifiedLayerNormalization", simplified_layer_normalization,
     "X scale > Y inv_std_var?; axis=-1 epsilon=1e-05 stash_type=1|"},
    {"SkipLayerNormalization", [](const Op &op) { skip_normalization(op, false); },
     "input skip gamma beta? bias? > output mean? inv_std_var? input_skip_bias_sum?; epsilon=1e-12"},
    {"SkipSimplifiedLayerNormalization", [](const Op &op) { skip_normalization(op, true); },
     "input skip gamma bias? > output mean? inv_std_var? input_skip_bias_sum?; epsilon=1e-12"},
    {"EmbedLayerNormalization", embed_layer_normalization,
     "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta mask? "
     "position_ids? > output mask_index? embedding_sum?; epsilon=1e-12 mask_index_type=0|1"},
    {"Attention", attention,
     "input weights bias? mask_index? past? attention_bias? past_sequence_length? > output present?; "
     "do_rotary=0| mask_filter_value=-10000.0 num_heads:int! past_present_share_buffer=0| "
     "qkv_hidden_sizes:ints rotary_embedding_dim:int scale=0.0 unidirectional=0|1"},
    {"MultiHeadAttention", multi_head_attention,
     "query key? value? bias? key_padding_mask? attention_bias? past_key? past_value? "
     "past_sequence_length? cache_indirection? > output present_key? present_value? qk?; "
     "mask_filter_value=-10000.0 num_heads:int! scale=0.0 unidirectional=0|1"},
    {"Tokenizer", tokenizer, "X > Y; mark:int! mincharnum:int! pad_value:string! separators:strings tokenexp:string"},
    {"QAttention", quantized_attention,
     "input weight bias input_scale weight_scale mask_index? input_zero_point? weight_zero_point? "
     "past? > output present?; do_rotary=0| mask_filter_value=-10000.0 num_heads:int! "
     "past_present_share_buffer=0| scale=0.0 unidirectional=0|1"},
    {"QLinearAdd", [](const Op &op) { of_two(op, "Add"); },
     "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point? > C"},
    {"QLinearMul", [](const Op &op) { of_two(op, "Mul"); },
     "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point? > C"},
    {"QLinearSigmoid",
     [](const Op &op) { between(op, [](const Nodes &n, const Value &x) { return n.of("Sigmoid", {x}); }); },
     "X X_scale X_zero_point? Y_scale Y_zero_point? > Y"},
    {"QLinearLeakyRelu",
     [](const Op &op) {
       between(op, [&](const Nodes &n, const Value &x) { return n.of("LeakyRelu", {x}, op.node.attributes); });
     },
     "X X_scale X_zero_point? Y_scale Y_zero_point? > Y; alpha=0.01"},
    {"QLinearSoftmax", softmax, "X X_scale X_zero_point? Y_scale Y_zero_point > Y; axis=-1 opset:int!"},
    {"QLinearAveragePool", [](const Op &op) { pool(op, "AveragePool"); },
     "X x_scale x_zero_point? y_scale y_zero_point? > Y; auto_pad=NOTSET|SAME_UPPER|SAME_LOWER|VALID "
     "ceil_mode=0|1 channels_last=0| count_include_pad=0|1 kernel_shape:ints! pads:ints strides:ints"},
    {"QLinearGlobalAveragePool", [](const Op &op) { pool(op, "GlobalAveragePool"); },
     "X x_scale x_zero_point y_scale y_zero_point > Y; channels_last=0|"},
    {"QLinearConcat", concat, "Y_scale Y_zero_point inputs+ > Y; axis:int!"},
    {"QLinearWhere", where, "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point > Z"},
    {"QGemm", gemm,
     "A a_scale a_zero_point B b_scale b_zero_point C? y_scale? y_zero_point? > Y; alpha=1.0 "
     "transA=0|1 transB=0|1"},
    {"MatMulIntegerToFloat", matmul_integer_to_float, "A B a_scale b_scale a_zero_point? b_zero_point? bias? > Y"},
    {"DynamicQuantizeMatMul", dynamic_quantize_matmul, "A B b_scale b_zero_point? bias? > Y"},
    {"DynamicQuantizeLSTM", recurrent_by_steps,
     "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point R_scale R_zero_point > Y? "
     "Y_h? Y_c?; activation_alpha:floats activation_beta:floats activations:strings clip:float "
     "direction=forward|reverse|bidirectional hidden_size:int input_forget=0|1"},
};
const std::span<const Row> microsoft_rows = microsoft_table;

}  // namespace dl4::io::onnx
