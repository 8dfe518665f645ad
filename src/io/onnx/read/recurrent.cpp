// ONNX's LSTM, GRU and RNN: time-major, with another gate order.
// LSTM, GRU and RNN as a body of nodes, run for each step.
#include "io/onnx/read/loops.hpp"

#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

struct Cell {
  const char *kind;
  std::vector<int> gates;  // of this library, as indices in ONNX's order
  size_t states;
};

const Cell lstm{"LSTM", {0, 2, 3, 1}, 2};  // i o f c in ONNX, i f c o here
const Cell gru{"GRU", {0, 1, 2}, 1};
const Cell simple{"SimpleRNN", {0}, 1};

// Direction d of (directions, gates * units, n), or of biases (directions, gates * units) from `at`: (n, gates * units)
// in our gate order.
Tensor part(const Tensor &t, int64_t d, int64_t at, int64_t n, int64_t units, const std::vector<int> &gates) {
  const int64_t rows = static_cast<int64_t>(gates.size()) * units, all = t.shape[1];
  Tensor to = make_tensor(DType::f32, {n, rows});
  for (size_t g = 0; g < gates.size(); ++g)
    for (int64_t u = 0; u < units; ++u)
      for (int64_t i = 0; i < n; ++i)
        to.as<float>()[i * rows + static_cast<int64_t>(g) * units + u] =
            t.as<float>()[((d * all + at + gates[g] * units + u) * n) + i];
  return to;
}

void need_shape(const Tensor &t, const Shape &wanted, const char *what) {
  if (t.shape != wanted) fail(Code::corrupt_file, "has a ", what, " of ", t.shape, ", expected ", wanted);
}

Weights weights_of(const Op &op, const Cell &cell, int64_t d, int64_t directions, int64_t units, bool reset_after) {
  const auto gates = static_cast<int64_t>(cell.gates.size()), rows = checked_mul(gates, units);
  const Tensor w = op.floats(1, "kernel"), r = op.floats(2, "recurrent kernel");
  if (w.shape.rank() != 3) fail(Code::corrupt_file, "has a kernel of ", w.shape);
  const int64_t in = w.shape[2];
  need_shape(w, {directions, rows, in}, "kernel");
  need_shape(r, {directions, rows, units}, "recurrent kernel");
  Weights list{{"kernel", part(w, d, 0, in, units, cell.gates)},
               {"recurrent_kernel", part(r, d, 0, units, units, cell.gates)}};
  if (!op.has(3)) return list;
  const Tensor b = op.floats(3, "bias");
  need_shape(b, {directions, 2 * rows}, "bias");
  const Tensor of_x = part(b, d, 0, 1, units, cell.gates), of_h = part(b, d, rows, 1, units, cell.gates);
  if (reset_after) {
    Tensor both = make_tensor(DType::f32, {2, rows});
    std::copy_n(of_x.as<float>(), rows, both.as<float>());
    std::copy_n(of_h.as<float>(), rows, both.as<float>() + rows);
    list.emplace_back("bias", both);
    return list;
  }
  Tensor sum = make_tensor(DType::f32, {rows});
  for (int64_t i = 0; i < rows; ++i) sum.as<float>()[i] = of_x.as<float>()[i] + of_h.as<float>()[i];
  list.emplace_back("bias", sum);
  return list;
}

// Our activation; none: no equivalent.
std::optional<Json> ours(const Function &f) {
  const char *plain[] = {"tanh", "sigmoid", "relu", "softplus", "softsign"};
  if (std::find(std::begin(plain), std::end(plain), f.name) != std::end(plain)) return f.name;
  if (f.name == "affine" && f.alpha == 1 && f.beta == 0) return "linear";
  if (f.name == "leakyrelu") return Json{{"class_name", "leaky_relu"}, {"config", {{"negative_slope", f.alpha}}}};
  if (f.name == "elu") return Json{{"class_name", "elu"}, {"config", {{"alpha", f.alpha}}}};
  const bool fifth = f.alpha == 0.2 || f.alpha == static_cast<double>(0.2f);
  if (f.name == "hardsigmoid" && fifth && f.beta == 0.5) return "hard_sigmoid_v1";
  return {};
}

// Each direction's "activation" and "recurrent_activation"; none: no cell supports them.
std::optional<std::vector<Json>> activations(const Op &op) {
  std::vector<Json> list;
  for (const std::vector<Function> &all : functions_of(op)) {
    const auto of_cell = ours(all[all.size() == 1 ? 0 : 1]), of_gates = ours(all[0]);
    if (!of_cell || !of_gates || ours(all.back()) != of_cell) return {};
    Json config{{"activation", *of_cell}};
    if (all.size() > 1) config["recurrent_activation"] = *of_gates;
    list.push_back(std::move(config));
  }
  return list;
}

// Whether the initial state is omitted or known to be zeros.
bool no_state(const Op &op, size_t i) {
  if (!op.has(i)) return true;
  const Value &v = op.in(i);
  if (v.filled || !v.constant || v.constant->dtype != DType::f32) return v.filled == 0.0;
  const float *begin = v.constant->as<float>(), *end = begin + v.constant->elements();
  return std::all_of(begin, end, [](float f) { return f == 0; });
}

// The initial state of direction d, (B, units).
Node initial(const Op &op, size_t i, int64_t d, bool batch_first) {
  if (op.in(i).rank() != 3) fail(Code::corrupt_file, "has a state of ", op.in(i).rank(), " axes");
  return op.layer("Take", {{"indices", d}, {"axis", batch_first ? 1 : 0}}, {op.x(i)});
}

// Whether a layer supports this form.
bool is_plain(const Op &op, const Cell &cell, const Dim &time) {
  if (op.says("clip") || op.integer("input_forget", 0) != 0) return false;
  if (cell.states == 2 && (op.has(7) || no_state(op, 5) != no_state(op, 6))) return false;
  if (!op.constant(1) || !op.constant(2) || (op.has(3) && !op.constant(3))) return false;
  if (!op.has(4)) return true;
  const auto lengths = op.constant(4);
  if (!lengths || !time.known()) return false;
  const Ints list = ints_of(*lengths);
  return std::all_of(list.begin(), list.end(), [&](int64_t n) { return n == time.factor; });
}

void recurrent(const Op &op, const Cell &cell) {
  Value &v = op.in(0);
  if (v.rank() != 3) fail(Code::corrupt_file, "expects a value of 3 axes");
  const bool first = op.integer("layout", 0) != 0, reverse = op.string("direction") == "reverse";
  const size_t time_axis = first ? 1 : 0;
  const int64_t units = op.integer("hidden_size", 0);
  const auto functions = activations(op);
  if (!functions || !is_plain(op, cell, v.dims[time_axis])) return recurrent_by_steps(op);
  const auto directions = static_cast<int64_t>(functions->size());
  const bool reset_after = cell.kind == gru.kind && op.flag("linear_before_reset");
  const Node x = op.as(v, first ? Perm{0, 1, 2} : Perm{1, 0, 2});
  std::vector<Node> sequences, states[2];
  for (int64_t d = 0; d < directions; ++d) {
    const bool backwards = d == 1 || reverse;
    Json config{{"units", units},
                {"use_bias", op.has(3)},
                {"return_sequences", true},
                {"return_state", true},
                {"go_backwards", backwards}};
    if (cell.kind == gru.kind) config["reset_after"] = reset_after;
    for (const auto &[key, function] : (*functions)[static_cast<size_t>(d)].items()) config[key] = function;
    graph::Arguments arguments;
    for (size_t i = 5; i < 5 + cell.states && !no_state(op, i); ++i)
      arguments.nodes["initial_state"].push_back(initial(op, i, d, first));
    const auto out =
        op.layers(cell.kind, config, {x}, arguments, weights_of(op, cell, d, directions, units, reset_after));
    sequences.push_back(backwards && op.wants(0) ? op.layer("Flip", {{"axis", 1}}, {out[0]}) : out[0]);
    for (size_t s = 0; s < cell.states; ++s) states[s].push_back(out[s + 1]);
  }
  const Dim batch = v.dims[first ? 0 : 1], time = v.dims[time_axis], wide{directions, {}}, each{units, {}};
  const auto stacked = [&](const std::vector<Node> &list) {
    return list.size() == 1 ? op.layer("ExpandDims", {{"axis", 1}}, {list[0]}) : op.layer("Stack", {{"axis", 1}}, list);
  };
  // The layers return (B, directions, T, units) and (B, directions, units).
  if (op.wants(0)) {
    if (first)
      op.give(0, stacked(sequences), {batch, time, wide, each}, {0, 2, 1, 3});
    else
      op.give(0, stacked(sequences), {time, wide, batch, each}, {2, 1, 0, 3});
  }
  for (size_t s = 0; s < cell.states; ++s) {
    if (!op.wants(s + 1)) continue;
    if (first)
      op.give(s + 1, stacked(states[s]), {batch, wide, each});
    else
      op.give(s + 1, stacked(states[s]), {wide, batch, each}, {1, 0, 2});
  }
}

}  // namespace

constexpr Row recurrent_table[] = {
    {"LSTM", [](const Op &op) { recurrent(op, lstm); },
     "X W R B? sequence_lens? initial_h? initial_c? P? > Y? Y_h? Y_c?; activation_alpha:floats "
     "activation_beta:floats activations:strings clip:float direction=forward|reverse|bidirectional "
     "hidden_size:int input_forget=0|1 layout@14=0|1 output_sequence@-6=0|1",
     slow},
    {"GRU", [](const Op &op) { recurrent(op, gru); },
     "X W R B? sequence_lens? initial_h? > Y? Y_h@-2 Y_h?@3; activation_alpha:floats "
     "activation_beta:floats activations:strings clip:float direction=forward|reverse|bidirectional "
     "hidden_size:int layout@14=0|1 linear_before_reset@3=0|1 output_sequence@-6=0|1",
     slow},
    {"RNN", [](const Op &op) { recurrent(op, simple); },
     "X W R B? sequence_lens? initial_h? > Y? Y_h?; activation_alpha:floats activation_beta:floats "
     "activations:strings clip:float direction=forward|reverse|bidirectional hidden_size:int "
     "layout@14=0|1 output_sequence@-6=0|1",
     slow},
};
const std::span<const Row> recurrent_rows = recurrent_table;

std::vector<std::vector<Function>> functions_of(const Op &op) {
  const size_t each = op.node.op == "RNN" ? 1 : op.node.op == "GRU" ? 2 : 3;
  std::vector<std::string> names(each * (op.string("direction") == "bidirectional" ? 2 : 1), "tanh");
  for (size_t i = 0; each > 1 && i < names.size(); i += each) names[i] = "sigmoid";
  if (const Attribute *said = op.node.find("activations")) {
    if (said->strings.size() != names.size())
      fail(Code::corrupt_file, "has ", said->strings.size(), " activations, expected ", names.size());
    for (size_t i = 0; i < names.size(); ++i) names[i] = std::string(said->strings[i]);
  }
  // Parameters are consumed by the functions that have them, in order.
  size_t alphas = 0, betas = 0;
  const auto next = [&](const char *key, size_t &at, double if_none) {
    const Attribute *a = op.node.find(key);
    return a && at < a->floats.size() ? a->floats[at++] : if_none;
  };
  const auto alpha = [&](double if_none) { return next("activation_alpha", alphas, if_none); };
  const auto beta = [&](double if_none) { return next("activation_beta", betas, if_none); };
  std::vector<std::vector<Function>> list(names.size() / each);
  for (size_t i = 0; i < names.size(); ++i) {
    std::string &name = names[i];
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    Function f{name};
    if (name == "affine") f.alpha = alpha(1), f.beta = beta(0);
    if (name == "leakyrelu") f.alpha = alpha(0.01);
    if (name == "thresholdedrelu" || name == "elu") f.alpha = alpha(1);
    if (name == "scaledtanh") f.alpha = alpha(1), f.beta = beta(1);
    if (name == "hardsigmoid") f.alpha = alpha(0.2), f.beta = beta(0.5);
    list[i / each].push_back(std::move(f));
  }
  return list;
}

namespace {

Value applied(const Nodes &n, const Function &f, const Value &x) {
  constexpr std::array<std::array<const char *, 2>, 5> plain{
      {{"relu", "Relu"}, {"tanh", "Tanh"}, {"sigmoid", "Sigmoid"}, {"softsign", "Softsign"}, {"softplus", "Softplus"}}};
  for (const auto &[name, kind] : plain)
    if (f.name == name) return n.of(kind, {x});
  const AttributeRef alpha{"alpha", f.alpha}, beta{"beta", f.beta};
  if (f.name == "affine") return n.add(n.mul(x, n.real(f.alpha)), n.real(f.beta));
  if (f.name == "scaledtanh") return n.mul(n.of("Tanh", {n.mul(x, n.real(f.beta))}), n.real(f.alpha));
  if (f.name == "hardsigmoid") return n.of("HardSigmoid", {x}, {alpha, beta});
  if (f.name == "leakyrelu") return n.of("LeakyRelu", {x}, {alpha});
  if (f.name == "thresholdedrelu") return n.of("ThresholdedRelu", {x}, {alpha});
  if (f.name == "elu") return n.of("Elu", {x}, {alpha});
  n.op.refuse("the activation ", f.name, " is not supported");
}

// Makes a value of the node's graph available in the body.
using Bring = std::function<Value(Value)>;
using Step = std::function<Values(const Nodes &, const Values &, const Bring &)>;

// A layer Scan: a step maps the states and the sequences' elements to new states and elements of output sequences,
// whose first axis is time.
Values scanned(const Op &op, const Values &states, const Values &sequences, bool backwards, const Step &step) {
  constexpr std::string_view names[] = {"in", "in_1", "in_2", "in_3"};
  Values all = states;
  all.insert(all.end(), sequences.begin(), sequences.end());
  File body;
  for (size_t i = 0; i < all.size(); ++i) body.inputs.emplace_back().name = names[i];
  Inside inside(op, body);
  std::vector<Node> in;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto behind = all[i].dims.begin() + (i < states.size() ? 0 : 1);
    inside.input(i, all[i], {behind, all[i].dims.end()});
    in.push_back(op.as(all[i], plain(all[i].rank())));
  }
  const NodeProto node = named(op.node.op);
  Values given;
  for (size_t i = 0; i < all.size(); ++i) given.push_back(inside.reader.value(names[i]));
  Values out = step(Nodes{Op(inside.reader, node)}, given, [&](Value v) { return inside.reader.brought_in(v); });
  for (Value &v : out) inside.output(v);
  Ints from, to;
  for (size_t i = 0; backwards && i < sequences.size(); ++i) from.push_back(static_cast<int64_t>(i));
  for (size_t i = 0; backwards && i + states.size() < out.size(); ++i) to.push_back(static_cast<int64_t>(i));
  const auto y = inside.scan(in, states.size(), sequences.size(), from, to);
  for (size_t i = 0; i < out.size(); ++i) {
    Value &v = out[i];
    if (i < states.size())
      v.dims = states[i].dims;
    else
      v.dims.insert(v.dims.begin(), sequences[0].dims[0]);
    v.forms = {{plain(v.rank()), y[i]}};
    v.constant.reset(), v.sizes.reset(), v.filled.reset(), v.around.reset(), v.quantized.reset();
  }
  return out;
}

// One direction of a network.
struct Direction {
  std::vector<Function> functions;
  Value x;                                                              // (T, B, gates * units): x times its weights
  std::function<Value(const Nodes &, const Value &, const Bring &)> h;  // (B, gates * units): of a state
  Values states;                                                        // (B, units)
};

struct Net {
  const Op &op;
  const Nodes n{op};
  int64_t units = op.integer("hidden_size", 0);
  bool batch_first = op.integer("layout", 0) != 0;
  Value x = batch_first ? n.transpose(op.in(0), {1, 0, 2}) : op.in(0);

  Value gate(const Nodes &m, const Value &v, int64_t k) const { return m.slice(v, 1, k * units, (k + 1) * units); }
  Value limited(const Nodes &m, const Value &v) const {
    const double clip = op.real("clip", 0);
    return clip > 0 ? m.of("Clip", {v, m.real(-clip), m.real(clip)}) : v;
  }
  // Direction d of (directions, n) or (directions, rows, n).
  Value part(size_t i, int64_t d) const { return n.at(op.in(i), 0, d); }
  Value state(size_t i, int64_t d) const {
    if (op.has(i)) return n.at(op.in(i), batch_first ? 1 : 0, d);
    const Value batch = n.of("Unsqueeze", {n.dim(x, 1), n.ints({0})});
    return n.of("ConstantOfShape", {n.of("Concat", {batch, n.ints({units})}, {{"axis", 0}})});
  }
  // The bias of x, or the one after it of the state, for some gates.
  Value bias(int64_t d, bool of_state, int64_t gates, int64_t from, int64_t to) const {
    const int64_t at = of_state ? gates * units : 0;
    return n.slice(part(3, d), 0, at + from * units, at + to * units);
  }

  // Past a sequence's length the states are kept and the output is 0.
  Values kept(const Nodes &m, const Values &made, const Values &before, const Value &step, Value lengths) const {
    const Value on = m.unsqueeze(m.of("Less", {step, m.cast(lengths, Type::int64)}), 1);
    Values out;
    for (size_t i = 0; i < made.size(); ++i) out.push_back(m.of("Where", {on, made[i], before[i]}));
    out.push_back(m.of("Where", {on, made[0], m.real(0)}));
    return out;
  }

  // f(m, states, x, bring): the next states, the output first.
  template <class F>
  void run(const std::vector<Direction> &list, F f) const {
    const size_t states = list[0].states.size();
    std::vector<Values> parts(states + 1);
    for (int64_t d = 0; d < static_cast<int64_t>(list.size()); ++d) {
      const Direction &one = list[static_cast<size_t>(d)];
      Values sequences{one.x};
      if (op.has(4)) sequences.push_back(n.of("Range", {number(0), n.dim(x, 0), number(1)}));
      const bool backwards = d == 1 || op.string("direction") == "reverse";
      Values out =
          scanned(op, one.states, sequences, backwards, [&](const Nodes &m, const Values &given, const Bring &bring) {
            const Values before(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(states));
            Values made = f(m, one, d, before, given[states], bring);
            if (op.has(4)) return kept(m, made, before, given[states + 1], bring(op.in(4)));
            made.push_back(made[0]);
            return made;
          });
      for (size_t i = 0; i < out.size(); ++i) parts[i].push_back(n.unsqueeze(out[i], i < states ? 0 : 1));
    }
    const auto joined = [&](const Values &v, int axis) {
      return v.size() == 1 ? v[0] : n.of("Concat", v, {{"axis", axis}});
    };
    const Value y = joined(parts[states], 1);
    op.give_value(0, batch_first ? n.transpose(y, {2, 0, 1, 3}) : y);
    for (size_t i = 0; i < states; ++i) {
      const Value last = joined(parts[i], 0);
      op.give_value(i + 1, batch_first ? n.transpose(last, {1, 0, 2}) : last);
    }
  }

  void lstm(const std::vector<Direction> &list) const {
    const bool coupled = op.integer("input_forget", 0) != 0;
    run(list, [&](const Nodes &m, const Direction &one, int64_t d, const Values &before, const Value &at,
                  const Bring &bring) {
      const Value all = m.add(at, one.h(m, before[0], bring));
      const auto in = [&](int64_t gate_at, const Value &c, int64_t peephole) {
        Value v = gate(m, all, gate_at);
        if (op.has(7)) v = m.add(v, m.mul(bring(n.slice(part(7, d), 0, peephole * units, (peephole + 1) * units)), c));
        return limited(m, v);
      };
      const Value &c = before[1], i = applied(m, one.functions[0], in(0, c, 0));
      const Value forget = coupled ? m.sub(m.real(1), i) : applied(m, one.functions[0], in(2, c, 2));
      const Value fresh = applied(m, one.functions[1], limited(m, gate(m, all, 3)));
      const Value next = m.add(m.mul(forget, c), m.mul(i, fresh)), o = applied(m, one.functions[0], in(1, next, 1));
      return Values{m.mul(o, applied(m, one.functions[2], next)), next};
    });
  }

  void gru(const std::vector<Direction> &list) const {
    const bool after = op.flag("linear_before_reset");
    run(list, [&](const Nodes &m, const Direction &one, int64_t d, const Values &before, const Value &at,
                  const Bring &bring) {
      const Value &h = before[0], of_h = one.h(m, h, bring);
      const auto in = [&](int64_t k) {
        Value v = m.add(gate(m, at, k), gate(m, of_h, k));
        return applied(m, one.functions[0], limited(m, op.has(3) ? m.add(v, bring(bias(d, true, 3, k, k + 1))) : v));
      };
      const Value z = in(0), r = in(1);
      Value inner = after ? gate(m, of_h, 2) : gate(m, one.h(m, m.mul(r, h), bring), 2);
      if (op.has(3)) inner = m.add(inner, bring(bias(d, true, 3, 2, 3)));
      if (after) inner = m.mul(r, inner);
      const Value fresh = applied(m, one.functions[1], limited(m, m.add(gate(m, at, 2), inner)));
      return Values{m.add(m.mul(m.sub(m.real(1), z), fresh), m.mul(z, h))};
    });
  }

  void rnn(const std::vector<Direction> &list) const {
    run(list, [&](const Nodes &m, const Direction &one, int64_t d, const Values &before, const Value &at,
                  const Bring &bring) {
      Value v = m.add(at, one.h(m, before[0], bring));
      if (op.has(3)) v = m.add(v, bring(bias(d, true, 1, 0, 1)));
      return Values{applied(m, one.functions[0], limited(m, v))};
    });
  }
};

// Refuses weights that don't match "hidden_size": (directions, n, ...), with more along the given axis.
void need_weights(const Net &net, size_t i, int64_t n, size_t axis, int rank) {
  const Value &w = net.op.in(i);
  if (net.units < 1 || net.units > max_dim || w.rank() != rank)
    fail(Code::corrupt_file, "has \"hidden_size\" ", net.units, " and input ", i, " of ", w.rank(), " axes");
  const Dim &d = w.dims[axis];
  if (d.known() && d.factor != checked_mul(n, net.units))
    fail(Code::corrupt_file, "has \"hidden_size\" ", net.units, " and input ", i, " of ", d.factor);
}

}  // namespace

void recurrent_by_steps(const Op &op) {
  const Net net{op};
  const Nodes &n = net.n;
  const bool quantized = op.node.op == "DynamicQuantizeLSTM", lstm = quantized || op.node.op == "LSTM",
             gru = op.node.op == "GRU";
  const int64_t gates = lstm ? 4 : gru ? 3 : 1;
  const size_t axis = quantized ? 2 : 1;
  need_weights(net, 1, gates, axis, 3), need_weights(net, 2, gates, axis, 3);
  if (op.has(3)) need_weights(net, 3, 2 * gates, 1, 2);
  if (lstm && op.has(7)) need_weights(net, 7, 3, 1, 2);
  // Of a product: quantized ones have a scale and a zero.
  const auto weights = [&](size_t i, int64_t d) {
    if (quantized) return Values{net.part(i, d), net.part(6 + 2 * i, d), net.part(7 + 2 * i, d)};
    return Values{n.transpose(net.part(i, d), {1, 0})};
  };
  const auto product = [](const Nodes &m, const Value &x, const Values &w) {
    if (w.size() == 1) return m.matmul(x, w[0]);
    const Values by = computed(m.op, "DynamicQuantizeLinear", {x}, {}, 3);
    const Value sum = m.of("MatMulInteger", {by[0], w[0], by[2], w[2]});
    return m.mul(m.cast(sum, Type::float32), m.mul(by[1], w[1]));
  };
  std::vector<Direction> list;
  for (const std::vector<Function> &functions : functions_of(op)) {
    const auto d = static_cast<int64_t>(list.size());
    Direction one{functions, product(n, net.x, weights(1, d)), {}, {}};
    if (op.has(3)) one.x = n.add(one.x, net.bias(d, false, gates, 0, gates));
    if (op.has(3) && lstm) one.x = n.add(one.x, net.bias(d, true, gates, 0, gates));
    one.h = [product, r = weights(2, d)](const Nodes &m, const Value &h, const Bring &bring) {
      Values inside;
      for (const Value &w : r) inside.push_back(bring(w));
      return product(m, h, inside);
    };
    for (size_t i = 0; i < (lstm ? 2u : 1u); ++i) one.states.push_back(net.state(5 + i, d));
    list.push_back(std::move(one));
  }
  lstm ? net.lstm(list) : gru ? net.gru(list) : net.rnn(list);
}

}  // namespace dl4::io::onnx
