// A model as the cell of an RNN: an LSTM that reads its own past (Cheng, Dong, Lapata 2016).
#include <cmath>
#include <deque>

#include "capi/graph_cells.hpp"

namespace {

using namespace dl4_test;
using Doubles = std::vector<double>;

constexpr int64_t units = 4, tape = 3, reading = 6;

// x [B, 2] with the tapes of hidden and cell states [B, tape, units], which of their places are filled [B, tape, 1] and
// what was read from the first of them [B, units] -> h, and what these become.
Own<dl4_model> tape_step() {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 2}), hs = input(g, "hs", {-1, tape, units}),
                 cs = input(g, "cs", {-1, tape, units}), filled = input(g, "filled", {-1, tape, 1}),
                 read = input(g, "read", {-1, units});
  auto row = [&](const char *name, dl4_node v, int64_t n) {
    return put(g, "Reshape", name, R"({"target_shape": [1, )" + std::to_string(n) + "]}", {v});
  };
  const dl4_node of_tape = put(g, "Dense", "of_tape", R"({"units": 5, "use_bias": false})", {hs});
  const dl4_node of_x = row("of_x_row", put(g, "Dense", "of_x", R"({"units": 5})", {x}), 5);
  const dl4_node of_read =
      row("of_read_row", put(g, "Dense", "of_read", R"({"units": 5, "use_bias": false})", {read}), 5);
  const dl4_node sum =
      put(g, "Activation", "bent", R"({"activation": "tanh"})", {put(g, "Add", "sum", "{}", {of_tape, of_x, of_read})});
  const dl4_node score = put(g, "Dense", "score", R"({"units": 1, "use_bias": false})", {sum});
  const dl4_node far = put(g, "Rescaling", "far", R"({"scale": 1e9, "offset": -1e9})", {filled});
  const dl4_node soft = put(g, "Softmax", "soft", R"({"axis": 1})", {put(g, "Add", "scores", "{}", {score, far})});
  const dl4_node weights = put(g, "Multiply", "weights", "{}", {soft, filled});  // of nothing is nothing
  auto past = [&](const char *name, dl4_node tape_of) {
    const std::string inner = std::string(name) + "_row";
    const dl4_node sum_of = put(g, "MatMul", inner.c_str(), R"({"transpose_a": true})", {weights, tape_of});
    return put(g, "Reshape", name, R"({"target_shape": [)" + std::to_string(units) + "]}", {sum_of});
  };
  const dl4_node h_read = past("h_read", hs), c_read = past("c_read", cs);
  const auto next = put(g, "LSTMCell", "lstm", R"({"units": 4})", {x}, 3, {.states = {h_read, c_read}});
  auto pushed = [&](const char *name, dl4_node onto, dl4_node v) {
    const dl4_node rest =
        put(g, "Cropping1D", (std::string(name) + "_rest").c_str(), R"({"cropping": [1, 0]})", {onto});
    return put(g, "Concatenate", name, R"({"axis": 1})", {rest, v});
  };
  const dl4_node last = put(g, "Cropping1D", "last", R"({"cropping": [2, 0]})", {filled});
  const dl4_node one = put(g, "Rescaling", "one", R"({"scale": 0.0, "offset": 1.0})", {last});
  return build(g, {x, hs, cs, filled, read},
               {next[0], pushed("hs_next", hs, row("h_row", next[1], units)),
                pushed("cs_next", cs, row("c_row", next[2], units)), pushed("filled_next", filled, one), h_read});
}
constexpr const char *tape_states = R"({"hs": "hs_next", "cs": "cs_next", "filled": "filled_next", "read": "h_read"})";

Doubles weight(const dl4_model *m, const char *name) {
  Own<dl4_tensor> t;
  ok(dl4_model_get_weight(m, name, t.out()));
  const auto v = floats(t);
  return {v.begin(), v.end()};
}

// x kernel, of one row.
Doubles product(const Doubles &x, const Doubles &kernel) {
  const size_t n = kernel.size() / x.size();
  Doubles y(n);
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < n; ++j) y[j] += x[i] * kernel[i * n + j];
  return y;
}
Doubles sum(Doubles a, const Doubles &b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// The outputs for one sequence, by the paper's formulas.
Doubles read_in_double(const dl4_model *step, const std::vector<Doubles> &xs) {
  std::deque<Doubles> hs, cs;
  Doubles read(units), all;
  for (const Doubles &x : xs) {
    const Doubles fixed = sum(sum(product(x, weight(step, "of_x/kernel")), weight(step, "of_x/bias")),
                              product(read, weight(step, "of_read/kernel")));
    Doubles exps, c_read(units);
    double total = 0;
    for (const Doubles &h : hs) {
      Doubles bent = sum(product(h, weight(step, "of_tape/kernel")), fixed);
      for (double &v : bent) v = std::tanh(v);
      exps.push_back(std::exp(product(bent, weight(step, "score/kernel"))[0]));
      total += exps.back();
    }
    read.assign(units, 0);
    for (size_t i = 0; i < hs.size(); ++i)
      for (size_t u = 0; u < units; ++u) {
        read[u] += exps[i] / total * hs[i][u];
        c_read[u] += exps[i] / total * cs[i][u];
      }
    const Doubles z = sum(sum(product(x, weight(step, "lstm/kernel")), weight(step, "lstm/bias")),
                          product(read, weight(step, "lstm/recurrent_kernel")));
    auto gate = [&](size_t g, size_t u) { return 1 / (1 + std::exp(-z[g * units + u])); };
    Doubles h(units), c(units);
    for (size_t u = 0; u < units; ++u) {
      c[u] = gate(1, u) * c_read[u] + gate(0, u) * std::tanh(z[2 * units + u]);
      h[u] = gate(3, u) * std::tanh(c[u]);
    }
    all.insert(all.end(), h.begin(), h.end());
    hs.push_back(h), cs.push_back(c);
    if (hs.size() > tape) hs.pop_front(), cs.pop_front();
  }
  return all;
}

TEST(GraphCell, AnLstmWithAMemoryTapeIsThePapersFormula) {
  Own<dl4_model> step = tape_step();
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, -1, 2});
  const auto y = put(g, "RNN", "reader", rnn(step, tape_states, R"({"return_sequences": true})"), {x}, 1);
  Own<dl4_model> m = build(g, {x}, y);
  ok(dl4_model_set_weight(m, "reader/graph_cell/lstm/bias", tensor({4 * units}, numbers(4 * units))));
  ok(dl4_model_set_weight(m, "reader/graph_cell/of_x/bias", tensor({5}, numbers(5))));
  const auto values = numbers(2 * reading * 2);
  Own<dl4_tensor> in = tensor({2, reading, 2}, values);
  Doubles wanted;
  for (size_t b = 0; b < 2; ++b) {
    std::vector<Doubles> xs;
    for (size_t t = 0; t < reading; ++t) {
      const size_t at = (b * reading + t) * 2;
      xs.push_back({values[at], values[at + 1]});
    }
    const Doubles one = read_in_double(step, xs);
    wanted.insert(wanted.end(), one.begin(), one.end());
  }
  expect_near(run(m, {in})[0], wanted, 1e-5, "h");
  expect_gradients(m, {in}, weight_names(m).size() + 1);
}

}  // namespace
