// A model as the cell of an RNN: an LSTM that reads its own past (Cheng, Dong, Lapata 2016).
#include <deque>

#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

using Doubles = std::vector<double>;

constexpr int64_t units = 4, tape = 3, reading = 6;

// x [B, 2] with the tapes of hidden and cell states [B, tape, units], which of their places are filled [B, tape, 1] and
// what was read from the first of them [B, units] -> h, and what these become.
Model tape_step() {
  Net g;
  const Node x = g.input("x", {free_dim, 2}), hs = g.input("hs", {free_dim, tape, units}),
             cs = g.input("cs", {free_dim, tape, units}), filled = g.input("filled", {free_dim, tape, 1}),
             read = g.input("read", {free_dim, units});
  const auto put = [&](const char *kind, const char *name, Json config, const std::vector<Node> &in) {
    return g.add(kind, name, std::move(config), in);
  };
  const auto row = [&](Node v, int64_t n) { return put("Reshape", "", {{"target_shape", {1, n}}}, {v}); };
  const auto dense = [&](const char *name, int64_t n, bool bias, Node v) {
    return put("Dense", name, {{"units", n}, {"use_bias", bias}}, {v});
  };
  const Node of_x = row(dense("of_x", 5, true, x), 5), of_read = row(dense("of_read", 5, false, read), 5);
  const Node sum = g.add("Add", "{}", {dense("of_tape", 5, false, hs), of_x, of_read});
  const Node score = dense("score", 1, false, g.add("Activation", R"({"activation": "tanh"})", {sum}));
  const Node far = g.add("Rescaling", R"({"scale": 1e9, "offset": -1e9})", {filled});
  const Node soft = g.add("Softmax", R"({"axis": 1})", {g.add("Add", "{}", {score, far})});
  const Node weights = g.add("Multiply", "{}", {soft, filled});  // of nothing is nothing
  const auto past = [&](const char *name, Node tape_of) {
    const Node sum_of = g.add("MatMul", R"({"transpose_a": true})", {weights, tape_of});
    return put("Reshape", name, {{"target_shape", Json::array({units})}}, {sum_of});
  };
  const Node h_read = past("h_read", hs), c_read = past("c_read", cs);
  const Arguments states{Json::object(), {{"states", {h_read, c_read}}}};
  const auto next = g.graph->add("LSTMCell", "lstm", {{"units", units}}, states, {x}, 3);
  const auto pushed = [&](const char *name, Node onto, Node v) {
    return put("Concatenate", name, {{"axis", 1}}, {g.add("Cropping1D", R"({"cropping": [1, 0]})", {onto}), v});
  };
  const Node last = g.add("Cropping1D", R"({"cropping": [2, 0]})", {filled});
  const Node one = g.add("Rescaling", R"({"scale": 0.0, "offset": 1.0})", {last});
  return g.model({x, hs, cs, filled, read},
                 {next[0], pushed("hs_next", hs, row(next[1], units)), pushed("cs_next", cs, row(next[2], units)),
                  pushed("filled_next", filled, one), h_read});
}
const Json tape_states{{"hs", "hs_next"}, {"cs", "cs_next"}, {"filled", "filled_next"}, {"read", "h_read"}};

Doubles weight(const Model &m, const std::string &name) {
  const auto v = floats(m.get_weight("reader/graph_cell/" + name));
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
Doubles read_in_double(const Model &step, const std::vector<Doubles> &xs) {
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
  Net g;
  const Json cell{{"class_name", "GraphCell"},
                  {"config", {{"states", tape_states}, {"model", to_json(tape_step().architecture())}}}};
  const Node x = g.input("x", {free_dim, free_dim, 2});
  Model m = g.model({x}, {g.add("RNN", "reader", {{"cell", cell}, {"return_sequences", true}}, {x})});
  m.set_weight("reader/graph_cell/lstm/bias", random_tensor({4 * units}, 1));
  m.set_weight("reader/graph_cell/of_x/bias", random_tensor({5}, 2));
  const Tensor in = random_tensor({2, reading, 2}, 3);
  std::vector<float> wanted;
  for (int64_t b = 0; b < 2; ++b) {
    std::vector<Doubles> xs;
    for (int64_t t = 0; t < reading; ++t) {
      const float *at = in.as<float>() + (b * reading + t) * 2;
      xs.push_back({at[0], at[1]});
    }
    for (double v : read_in_double(m, xs)) wanted.push_back(static_cast<float>(v));
  }
  expect_close(floats(run(m, {in})[0]), wanted);
  std::vector<std::string> all{"x"};
  for (const auto &w : m.weights()) all.push_back(w->name);
  expect_differences(m, {in}, all);
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
