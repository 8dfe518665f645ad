// LSTM, GRU and RNN of ONNX: time stands before the batch there, and the gates have another order.
#include <algorithm>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

struct Cell {
  const char *kind;
  std::vector<int> gates;  // of ours, by their place in ONNX
  size_t states;
};

const Cell lstm{"LSTM", {0, 2, 3, 1}, 2};  // i o f c there, i f c o here
const Cell gru{"GRU", {0, 1, 2}, 1};
const Cell simple{"SimpleRNN", {0}, 1};

// Direction d of (directions, gates * units, n), or of biases (directions, gates * units) from `at` on: (n, gates *
// units) in our order of the gates.
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

Json function(const Op &op, std::string name, size_t at) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const auto number = [&](const char *key, double otherwise) {
    const Attribute *a = op.node.find(key);
    return a && at < a->floats.size() ? a->floats[at] : otherwise;
  };
  const char *plain[] = {"tanh", "sigmoid", "relu", "softplus", "softsign"};
  if (std::find(std::begin(plain), std::end(plain), name) != std::end(plain)) return name;
  if (name == "affine" && number("activation_alpha", 1) == 1 && number("activation_beta", 0) == 0) return "linear";
  if (name == "leakyrelu")
    return {{"class_name", "leaky_relu"}, {"config", {{"negative_slope", number("activation_alpha", 0.01)}}}};
  if (name == "elu") return {{"class_name", "elu"}, {"config", {{"alpha", number("activation_alpha", 1)}}}};
  if (name == "hardsigmoid" && number("activation_alpha", 0.2) == static_cast<double>(0.2f) &&
      number("activation_beta", 0.5) == 0.5)
    return "hard_sigmoid_v1";
  op.refuse("the activation ", name, " is not supported");
}

// The activations of direction d.
void add_activations(const Op &op, const Cell &cell, size_t d, size_t directions, Json &config) {
  const Attribute *said = op.node.find("activations");
  const size_t each = cell.kind == simple.kind ? 1 : cell.kind == gru.kind ? 2 : 3;
  std::vector<std::string> names = each == 1   ? std::vector<std::string>{"Tanh"}
                                   : each == 2 ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                               : std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"};
  if (said) {
    if (said->strings.size() != each * directions)
      fail(Code::corrupt_file, "has ", said->strings.size(), " activations");
    for (size_t i = 0; i < each; ++i) names[i] = std::string(said->strings[d * each + i]);
  }
  if (each == 3 && names[1] != names[2])
    op.refuse("the activations ", names[1], " and ", names[2],
              " of cell and output are not supported, only one for both");
  config["activation"] = function(op, names[each == 1 ? 0 : 1], d * each + (each == 1 ? 0 : 1));
  if (each > 1) config["recurrent_activation"] = function(op, names[0], d * each);
}

// The state at the start of direction d, (B, units); none: zeros.
Node initial(const Op &op, size_t i, int64_t d, bool batch_first) {
  if (!op.has(i)) return graph::no_node;
  Value &v = op.in(i);
  if (v.filled == 0.0) return graph::no_node;
  if (v.constant && v.constant->dtype == DType::f32) {
    const Tensor &t = *v.constant;
    if (std::all_of(t.as<float>(), t.as<float>() + t.elements(), [](float f) { return f == 0; })) return graph::no_node;
  }
  if (v.rank() != 3) fail(Code::corrupt_file, "has a state of ", v.rank(), " axes");
  const Node x = op.x(i);
  const int axis = batch_first ? 1 : 0;
  return op.layer("Take", {{"indices", d}, {"axis", axis}}, {x});
}

void need_plain(const Op &op, const Cell &cell, int64_t time) {
  if (op.node.find("clip")) op.refuse("\"clip\" is not supported");
  op.need("input_forget", 0);
  if (cell.states == 2 && op.has(7)) op.refuse("peepholes are not supported");
  if (!op.has(4)) return;
  const auto lengths = op.constant(4);
  if (!lengths) op.refuse("\"sequence_lens\" that the model computes are not supported");
  for (int64_t n : ints_of(*lengths))
    if (n != time) op.refuse("\"sequence_lens\" of ", n, " of ", time, " steps are not supported");
}

void recurrent(const Op &op, const Cell &cell) {
  Value &v = op.in(0);
  if (v.rank() != 3) fail(Code::corrupt_file, "expects a value of 3 axes");
  const std::string direction = op.string("direction", "forward");
  const bool both = direction == "bidirectional", first = op.integer("layout", 0) != 0;
  if (!both && direction != "forward" && direction != "reverse")
    fail(Code::corrupt_file, "has \"direction\" ", direction);
  const size_t time_axis = first ? 1 : 0;
  need_plain(op, cell, v.dims[time_axis].known() ? v.dims[time_axis].factor : -1);
  const int64_t units = op.integer("hidden_size", 0), directions = both ? 2 : 1;
  const bool reset_after = cell.kind == gru.kind && op.integer("linear_before_reset", 0) != 0;
  const Node x = op.as(v, first ? Perm{0, 1, 2} : Perm{1, 0, 2});
  std::vector<Node> sequences, states[2];
  for (int64_t d = 0; d < directions; ++d) {
    const bool backwards = d == 1 || direction == "reverse";
    Json config{{"units", units},
                {"use_bias", op.has(3)},
                {"return_sequences", true},
                {"return_state", true},
                {"go_backwards", backwards}};
    if (cell.kind == gru.kind) config["reset_after"] = reset_after;
    add_activations(op, cell, static_cast<size_t>(d), static_cast<size_t>(directions), config);
    graph::Arguments arguments;
    const Node h = initial(op, 5, d, first), c = cell.states == 2 ? initial(op, 6, d, first) : graph::no_node;
    if ((h != graph::no_node) != (c != graph::no_node) && cell.states == 2)
      op.refuse("an initial state of h or c alone is not supported");
    if (h != graph::no_node)
      arguments.nodes["initial_state"] = cell.states == 2 ? std::vector<Node>{h, c} : std::vector<Node>{h};
    const auto out =
        op.layers(cell.kind, config, {x}, arguments, weights_of(op, cell, d, directions, units, reset_after));
    sequences.push_back(backwards && op.wants(0) ? op.layer("Flip", {{"axis", 1}}, {out[0]}) : out[0]);
    for (size_t s = 0; s < cell.states; ++s) states[s].push_back(out[s + 1]);
  }
  const Dim batch = v.dims[first ? 0 : 1], time = v.dims[time_axis], wide{directions, {}}, each{units, {}};
  const auto stacked = [&](const std::vector<Node> &list) {
    return list.size() == 1 ? op.layer("ExpandDims", {{"axis", 1}}, {list[0]}) : op.layer("Stack", {{"axis", 1}}, list);
  };
  // Ours lie as (B, directions, T, units), and (B, directions, units).
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

std::span<const Row> recurrent_rows() {
  static constexpr Row rows[] = {
      {"LSTM", [](const Op &op) { recurrent(op, lstm); }},
      {"GRU", [](const Op &op) { recurrent(op, gru); }},
      {"RNN", [](const Op &op) { recurrent(op, simple); }},
  };
  return rows;
}

}  // namespace dl4::io::onnx
