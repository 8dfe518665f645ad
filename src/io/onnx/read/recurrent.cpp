// ONNX's LSTM, GRU and RNN: time-major, with another gate order.
#include <algorithm>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"
#include "io/onnx/read/recurrent.hpp"

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

}  // namespace dl4::io::onnx
