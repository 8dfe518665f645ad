// Writes larger ops: products, convolutions, pooling, normalization, attention and recurrence.
#include <numeric>

#include "io/onnx/reader.hpp"
#include "io/onnx/write/writer.hpp"
#include "ops/conv.hpp"
#include "ops/lstm.hpp"
#include "ops/matched.hpp"
#include "ops/scan.hpp"

namespace dl4::io::onnx {
namespace {

Ints axes_of(int rank) {
  Ints axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Name swapped(Writer &w, Name x, int rank) {
  Ints perm = axes_of(rank);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return w.transposed(x, perm);
}

void need_no_activation(Writer &w, const ops::Fused &fused) {
  if (fused.activation) w.refuse("it is fused with an activation");
}

// The step that makes v, if it computes that function.
const ops::Step *made_by(const Writer &w, ops::Id v, ops::Binary f) {
  const ops::Step *step = w.maker(v);
  const auto *op = step ? ops::as<ops::BinaryOp>(*step) : nullptr;
  return op && op->f == f && !op->activation ? step : nullptr;
}
std::optional<float> number_of(const Writer &w, ops::Id v) {
  const std::optional<Tensor> t = w.held(v);
  if (!t || t->dtype != DType::f32 || t->elements() != 1) return {};
  return *t->as<float>();
}
// Integers as made by quantized layers: of inputs, rounded and clamped to a byte; of weights, bytes offset by 128.
bool is_whole(const Writer &w, ops::Id v) {
  const ops::Step *least = made_by(w, v, ops::Binary::min);
  const ops::Step *most = least ? made_by(w, least->src[0], ops::Binary::max) : nullptr;
  const ops::Step *rounded = most ? w.maker(most->src[0]) : nullptr;
  const auto *op = rounded ? ops::as<ops::UnaryOp>(*rounded) : nullptr;
  return op && op->function.f == ops::Unary::round && number_of(w, most->src[1]).value_or(-129) >= -128 &&
         number_of(w, least->src[1]).value_or(128) <= 127;
}
std::optional<ops::Id> bytes_of(const Writer &w, ops::Id v) {
  const ops::Step *moved = made_by(w, v, ops::Binary::sub);
  const ops::Step *cast = moved && number_of(w, moved->src[1]) == 128.0f ? w.maker(moved->src[0]) : nullptr;
  if (!cast || cast->op->name() != "cast" || w.program()[cast->src[0]].dtype != DType::u8) return {};
  return cast->src[0];
}
// An integer product, or "".
Name whole_product(Writer &w) {
  const std::optional<ops::Id> bytes = bytes_of_product(w, w.now());
  if (!bytes) return {};
  Tensor zero = make_tensor(DType::u8, {});
  *zero.as<uint8_t>() = 128;
  const Name a = w.cast(w.node("Add", {w.in(0), w.real(128)}), DType::u8), point = w.tensor(zero);
  return w.cast(w.node("MatMulInteger", {a, w.name_of(*bytes), point, point}), DType::f32);
}

}  // namespace

std::optional<ops::Id> bytes_of_product(const Writer &w, const ops::Step &step) {
  const auto *op = ops::as<ops::MatMulOp>(step);
  const bool plain = op && !op->how.transpose_a && !op->how.transpose_b;
  return plain && is_whole(w, step.src[0]) ? bytes_of(w, step.src[1]) : std::nullopt;
}

namespace {

void matmul(Writer &w, const Listed &) {
  const auto *op = ops::as<ops::MatMulOp>(w.now());
  need_no_activation(w, op->fused);
  if (const Name y = whole_product(w); !y.empty()) return w.give(0, op->fused.bias ? w.node("Add", {y, w.in(2)}) : y);
  const Name a = op->how.transpose_a ? swapped(w, w.in(0), w.shape(0).rank()) : w.in(0);
  const Name b = op->how.transpose_b ? swapped(w, w.in(1), w.shape(1).rank()) : w.in(1);
  const Name y = w.node("MatMul", {a, b});
  w.give(0, op->fused.bias ? w.node("Add", {y, w.in(2)}) : y);
}

// ---- images --------------------------------------------------------------------------------------------------------

Name channels_first(Writer &w, Name x, int rank) {
  Ints perm = axes_of(rank);
  std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  return w.transposed(x, perm);
}
Name channels_behind(Writer &w, Name x, int rank) {
  const Perm perm = channels_last(rank);
  return w.transposed(x, Ints(perm.begin(), perm.end()));
}

// (..., C, F) as (F, C, ...), or (..., F, C) as (C, F, ...).
Name kernel_first(Writer &w, size_t i) {
  Perm perm = plain(w.shape(i).rank());
  std::rotate(perm.begin(), perm.end() - 2, perm.end());
  std::swap(perm[0], perm[1]);
  if (!w.is_held(i)) return w.transposed(w.in(i), Ints(perm.begin(), perm.end()));
  return w.tensor(transposed(w.numbers(i, "kernel"), perm), w.program()[w.now().src[i]].name);
}

Ints reach_of(const ops::Conv &how, const Shape &kernel) {
  Ints reach;
  for (size_t i = 0; i < how.strides.size(); ++i)
    reach.push_back((kernel[static_cast<int>(i)] - 1) * how.dilation[i] + 1);
  return reach;
}

void conv(Writer &w, const Listed &) {
  const auto *op = ops::as<ops::ConvOp>(w.now());
  need_no_activation(w, op->fused);
  const ops::Conv &how = op->how;
  std::vector<Said> said{{"strides", how.strides}, {"dilations", how.dilation}, {"group", how.groups}};
  const Ints reach = reach_of(how, w.shape(1));
  const size_t n = reach.size();
  const bool holes = std::any_of(how.dilation.begin(), how.dilation.end(), [](int64_t d) { return d != 1; });
  Ints pads(2 * n, 0);
  if (how.padding == ops::Padding::same && holes) {  // ONNX Runtime computes no automatic padding with dilation
    for (size_t i = 0; i < n; ++i) {
      if (how.strides[i] != 1) w.refuse("it has strides and holes, padded to the same size");
      pads[i] = (reach[i] - 1) / 2, pads[n + i] = reach[i] - 1 - pads[i];
    }
    said.emplace_back("pads", pads);
  } else if (how.padding == ops::Padding::same) {
    said.emplace_back("auto_pad", "SAME_UPPER");
  } else if (how.padding == ops::Padding::causal) {
    pads[n - 1] = reach.back() - 1;
    said.emplace_back("pads", pads);
  }
  const int rank = w.shape(0).rank();
  Names in{channels_first(w, w.in(0), rank), kernel_first(w, 1)};
  if (op->fused.bias) in.push_back(w.in(2));
  w.give(0, channels_behind(w, w.node("Conv", in, said), rank));
}

void conv_transpose(Writer &w, const Listed &listed) {
  ops::Conv how;
  how.strides = listed.numbers("strides"), how.dilation = listed.numbers("dilation");
  const Ints reach = reach_of(how, w.shape(1)), extra = listed.numbers("output_padding");
  const size_t n = reach.size();
  Ints pads(2 * n, 0), more(n, 0);
  if (listed.number("groups") != 1 || listed.text("padding") == "causal") w.refuse("it has groups");
  for (size_t i = 0; i < n; ++i) {
    // What the windows reach past the output, or the reverse.
    int64_t total = extra[i] < 0 ? std::min<int64_t>(reach[i] - how.strides[i], 0) : -extra[i];
    if (listed.text("padding") == "same")
      total = extra[i] < 0 ? reach[i] - how.strides[i] : reach[i] - reach[i] % 2 - extra[i];
    if (total >= 0)
      pads[i] = total / 2, pads[n + i] = total - total / 2;
    else
      more[i] = -total;
  }
  const int rank = w.shape(0).rank();
  const Name y =
      w.node("ConvTranspose", {channels_first(w, w.in(0), rank), kernel_first(w, 1)},
             {{"strides", how.strides}, {"dilations", how.dilation}, {"pads", pads}, {"output_padding", more}});
  w.give(0, channels_behind(w, y, rank));
}

void pool(Writer &w, const Listed &said) {
  if (said.flag("adaptive")) w.refuse("it has adaptive windows");
  const Ints &size = said.numbers("size");
  std::vector<Said> how{{"kernel_shape", size}, {"strides", said.numbers("strides")}};
  // ONNX Runtime supports negative padding for windows of size 1, which need none.
  const bool single = std::all_of(size.begin(), size.end(), [](int64_t n) { return n == 1; });
  if (said.text("padding") == "same" && !single) how.emplace_back("auto_pad", "SAME_UPPER");
  const int rank = w.shape(0).rank();
  const Name x = channels_first(w, w.in(0), rank);
  w.give(0, channels_behind(w, w.node(said.flag("average") ? "AveragePool" : "MaxPool", {x}, how), rank));
}

// ---- normalization and attention -----------------------------------------------------------------------------------

void normalize(Writer &w, const Listed &said) {
  const int64_t axes = said.number("axes");
  const auto epsilon = static_cast<float>(said.real("epsilon"));
  const Shape last = w.shape(0).last(static_cast<int>(axes));
  if (!last.known()) w.refuse("it normalizes a free axis");
  if (said.flag("center")) {
    Tensor ones = make_tensor(DType::f32, last);
    std::fill_n(ones.as<float>(), ones.elements(), 1.0f);
    Names in{w.in(0), w.has(1) ? w.in(1) : w.tensor(ones), w.has(2) ? w.in(2) : Name()};
    return w.give(0, w.node("LayerNormalization", in, {{"axis", -axes}, {"epsilon", epsilon}}));
  }
  Ints which;
  for (int64_t i = 1; i <= axes; ++i) which.push_back(-i);
  const Name x = w.in(0), mean = w.node("ReduceMean", {w.node("Mul", {x, x}), w.ints(which)});
  const Name root = w.node("Sqrt", {w.node("Add", {mean, w.real(static_cast<double>(epsilon))})});
  Name y = w.node("Div", {x, root});
  if (w.has(1)) y = w.node("Mul", {y, w.in(1)});
  w.give(0, w.has(2) ? w.node("Add", {y, w.in(2)}) : y);
}

// softmax(scale q k^T) v; zeros where no key is seen.
void attention(Writer &w, const Listed &said) {
  const bool heads = said.flag("heads");
  Name q = w.in(0), k = w.in(1), v = w.in(2);
  int rank = 3;
  if (heads) {  // (N, T, H, D) to (N, H, T, D)
    rank = 4;
    for (Name *x : {&q, &k, &v}) *x = w.transposed(*x, {0, 2, 1, 3});
    const int64_t each = w.shape(0)[2] / w.shape(1)[2];
    if (each > 1) k = w.repeated(k, 1, 4, each), v = w.repeated(v, 1, 4, each);
  }
  Name scores = w.node("Mul", {w.node("MatMul", {q, swapped(w, k, rank)}), w.real(said.real("scale"))});
  Name seen;
  if (w.has(3)) seen = w.node("Unsqueeze", {w.in(3), heads ? w.ints({1, 2}) : w.ints({1})});
  if (said.flag("causal")) {
    const Name t = w.node("Unsqueeze", {w.range_over(scores, rank - 2), w.ints({1})});
    const Name past = w.node("LessOrEqual", {w.range_over(scores, rank - 1), t});
    seen = seen.empty() ? past : w.node("And", {seen, past});
  }
  if (!seen.empty()) scores = w.node("Where", {seen, scores, w.real(-1e30)});
  Name p = w.node("Softmax", {scores}, {{"axis", -1}});
  if (!seen.empty()) p = w.node("Where", {seen, p, w.real(0)});
  const Name y = w.node("MatMul", {p, v});
  w.give(0, heads ? w.transposed(y, {0, 2, 1, 3}) : y);
}

// ---- recurrence ----------------------------------------------------------------------------------------------------

// (n, 4 units) with gates i f c o, or a row of it, as (1, 4 units, n) with i o f c.
Tensor gates(const Tensor &t, int64_t units) {
  constexpr int64_t order[] = {0, 3, 1, 2};
  const int64_t n = t.shape.rank() == 1 ? 1 : t.shape[0], rows = 4 * units;
  Tensor to = make_tensor(DType::f32, {1, rows, n});
  for (int64_t g = 0; g < 4; ++g)
    for (int64_t u = 0; u < units; ++u)
      for (int64_t i = 0; i < n; ++i)
        to.as<float>()[(g * units + u) * n + i] = t.as<float>()[i * rows + order[g] * units + u];
  return to;
}

// A node Scan: states precede the sequences in `in`; ports as fields of the body.
Names scan_node(Writer &w, const std::string &nodes, const std::string &ports, ArrayRef<Name> in,
                const Ints &directions, const Ints &out_directions) {
  MessageWriter body;
  body.bytes = nodes;
  body.text(2, "body");
  body.bytes += ports;
  std::vector<Said> said{{"body", body},
                         {"num_scan_inputs", static_cast<int64_t>(directions.size())},
                         {"scan_input_directions", directions}};
  if (!out_directions.empty()) said.emplace_back("scan_output_directions", out_directions);
  return w.nodes_of("Scan", in, in.size() - directions.size() + out_directions.size(), said);
}

// ONNX's LSTM supports only lengths. Here y is a state too: zeros until the first unmasked step, whatever the initial
// h.
void masked_lstm(Writer &w, bool backwards) {
  namespace dst = ops::lstm_dst;
  const int64_t batch = w.shape(ops::src_x)[0], units = w.shape(ops::src_recurrent_kernel)[0];
  Name from_x = w.node("MatMul", {w.transposed(w.in(ops::src_x), {1, 0, 2}), w.in(ops::src_kernel)});
  if (w.has(ops::src_bias)) from_x = w.node("Add", {from_x, w.in(ops::src_bias)});
  const Name sizes = w.node("Concat", {w.dims(w.in(ops::src_x), 0, 1), w.ints({units})}, {{"axis", 0}}),
             zeros = w.node("Expand", {w.real(0), sizes}), kernel = w.in(ops::src_recurrent_kernel);
  const Names in{w.has(ops::src_h0) ? w.in(ops::src_h0) : zeros, w.has(ops::src_c0) ? w.in(ops::src_c0) : zeros, zeros,
                 from_x, w.transposed(w.in(ops::src_mask), {1, 0})};
  Writer body(w.whole(), w.program(), {});
  MessageWriter ports, results;
  const auto enter = [&](const char *what, DType type, const Shape &shape) {
    const Name name = w.whole().unique(w.now().scope, what);
    ports.message(11, value_info(name, type, shape));
    return name;
  };
  const Shape state{batch, units};
  const Name h = enter("/h", DType::f32, state), c = enter("/c", DType::f32, state), y = enter("/y", DType::f32, state),
             x = enter("/x", DType::f32, {batch, checked_mul(4, units)}),
             seen = body.node("Unsqueeze", {enter("/seen", DType::boolean, {batch}), w.ints({1})});
  const Names gate = body.nodes_of(
      "Split", {body.node("Add", {x, body.node("MatMul", {h, kernel})}), w.ints({units, units, units, units})}, 4,
      {{"axis", 1}});
  const auto of = [&](const char *function, Name v) { return body.node(function, {v}); };
  const auto product = [&](Name a, Name b) { return body.node("Mul", {a, b}); };
  const Name next_c = body.node(
                 "Add", {product(of("Sigmoid", gate[1]), c), product(of("Sigmoid", gate[0]), of("Tanh", gate[2]))}),
             next_h = product(of("Sigmoid", gate[3]), of("Tanh", next_c));
  const auto leave = [&](Name next, Name before) {
    const Name name = body.node("Where", {seen, next, before});
    results.message(12, value_info(name, DType::f32, state));
    return name;
  };
  leave(next_h, h), leave(next_c, c);
  const Name step = body.node("Identity", {leave(next_h, y)});
  const bool whole = w.is_read(dst::y);
  if (whole) results.message(12, value_info(step, DType::f32, state));
  const int64_t way = backwards ? 1 : 0;
  const Names out =
      scan_node(w, body.nodes.bytes, ports.bytes + results.bytes, in, {way, way}, whole ? Ints{0} : Ints{});
  if (whole) w.give(dst::y, w.transposed(out[3], {1, 0, 2}));  // in processing order, like ours
  w.give(dst::h, out[0]), w.give(dst::c, out[1]);
}

void lstm(Writer &w, const Listed &said) {
  namespace dst = ops::lstm_dst;
  for (size_t i : {size_t{dst::gates}, size_t{dst::cells}, size_t{dst::h_before}})
    if (w.is_read(i)) w.refuse("an output that it keeps for its gradient is used");
  if (w.has(ops::src_mask)) return masked_lstm(w, said.flag("go_backwards"));
  const int64_t units = w.shape(ops::src_recurrent_kernel)[0];
  const auto weight = [&](size_t i, const char *what) {
    return w.tensor(gates(w.numbers(i, what), units), w.program()[w.now().src[i]].name);
  };
  Names in{w.transposed(w.in(ops::src_x), {1, 0, 2}),
           weight(ops::src_kernel, "kernel"),
           weight(ops::src_recurrent_kernel, "recurrent kernel"),
           {},
           {},
           {},
           {}};
  if (w.has(ops::src_bias)) {
    Tensor both = make_zeros(DType::f32, {1, 8 * units});
    const Tensor of_x = gates(w.numbers(ops::src_bias, "bias"), units);
    std::copy_n(of_x.as<float>(), 4 * units, both.as<float>());
    in[3] = w.tensor(both, w.program()[w.now().src[ops::src_bias]].name);
  }
  if (w.has(ops::src_h0)) in[5] = w.node("Unsqueeze", {w.in(ops::src_h0), w.ints({0})});
  if (w.has(ops::src_c0)) in[6] = w.node("Unsqueeze", {w.in(ops::src_c0), w.ints({0})});
  const bool backwards = said.flag("go_backwards");
  const Names out =
      w.nodes_of("LSTM", in, 3, {{"hidden_size", units}, {"direction", backwards ? "reverse" : "forward"}});
  if (w.is_read(dst::y)) {
    const Name y = w.transposed(w.node("Squeeze", {out[0], w.ints({1})}), {1, 0, 2});
    w.give(dst::y, backwards ? w.reversed(y, 1) : y);  // ours are in processing order
  }
  if (w.is_read(dst::h)) w.give(dst::h, w.node("Squeeze", {out[1], w.ints({0})}));
  if (w.is_read(dst::c)) w.give(dst::c, w.node("Squeeze", {out[2], w.ints({0})}));
}

// One step from the products of input and state.
void gru_cell(Writer &w, const Listed &) {
  const auto apart = [&](size_t i) {
    const int64_t u = w.shape(2)[1];
    return w.nodes_of("Split", {w.in(i), w.ints({u, u, u})}, 3, {{"axis", 1}});
  };
  const Names x = apart(0), s = apart(1);
  const Name h = w.in(2);
  const Name z = w.node("Sigmoid", {w.node("Add", {x[0], s[0]})}), r = w.node("Sigmoid", {w.node("Add", {x[1], s[1]})});
  const Name c = w.node("Tanh", {w.node("Add", {x[2], w.node("Mul", {r, s[2]})})});
  w.give(0, w.node("Add", {c, w.node("Mul", {z, w.node("Sub", {h, c})})}));
}

// A separate body, whose constants are values of the enclosing graph.
void scan(Writer &w, const Listed &) {
  if (const auto &r = w.recurrence(w.now())) return write_recurrence(w, *r);
  const auto *op = ops::as<ops::ScanOp>(w.now());
  const ops::Program &p = *op->body;
  Writer body(w.whole(), p, {});
  Names states, sequences;
  Ints directions, out_directions;
  MessageWriter state_ports, sequence_ports, out_ports;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const ops::Id v = p.inputs[i];
    if (op->carry[i] == ops::Carry::constant) {
      if (op->read[i]) body.call(v, w.in(i));
      continue;
    }
    const bool state = op->carry[i] == ops::Carry::state;
    const Name name = w.whole().unique(w.now().scope, state ? "/state" : "/step");
    body.call(v, name);
    (state ? state_ports : sequence_ports).message(11, value_info(name, p[v].dtype, p[v].shape));
    (state ? states : sequences).push_back(w.in(i));
    if (!state) directions.push_back(op->carry[i] == ops::Carry::reversed ? 1 : 0);
  }
  for (const ops::Step &step : p.steps) {
    body.step(step);
  }
  const auto port = [&](ops::Id v) {
    const Name name = body.node("Identity", {body.name_of(v)});
    out_ports.message(12, value_info(name, p[v].dtype, p[v].shape));
  };
  for (size_t i = 0; i < states.size(); ++i) port(p.outputs[i]);
  std::vector<size_t> stacked;
  for (size_t i = 0; i < p.outputs.size(); ++i)
    if (w.is_read(i)) {
      stacked.push_back(i), port(p.outputs[i]);
      out_directions.push_back(op->reversed[i]);
    }
  Names in = states;
  in.insert(in.end(), sequences.begin(), sequences.end());
  const Names out = scan_node(w, body.nodes.bytes, state_ports.bytes + sequence_ports.bytes + out_ports.bytes, in,
                              directions, out_directions);
  for (size_t i = 0; i < stacked.size(); ++i) w.give(stacked[i], out[states.size() + i]);
  for (size_t i = 0; i < states.size(); ++i) w.give(p.outputs.size() + i, out[i]);
}

}  // namespace

constexpr WriteRow larger_table[] = {
    {"matmul", matmul},       {"conv", conv},           {"conv_transpose", conv_transpose},
    {"pool", pool},           {"normalize", normalize}, {"attention", attention},
    {"lstm", lstm},           {"gru_cell", gru_cell},   {"scan", scan},
    {"branch", write_branch}, {"while", write_while},   {"ensure_size", write_ensure_size}};
const std::span<const WriteRow> larger_ops = larger_table;

}  // namespace dl4::io::onnx
