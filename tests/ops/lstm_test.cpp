// LSTM and its gradient: states, masks, directions, empty sequences.
#include <algorithm>

#include "every_way.hpp"
#include "ops/lstm.hpp"

namespace dl4::ops {
namespace {

using namespace every_way;

struct Options {
  bool bias = true, states = true, mask = false, backwards = false;
};

// Inputs: x, kernel, recurrent kernel, then bias, h0, c0, mask where there are any.
std::vector<Array> naive(const std::vector<Array> &in, Options o) {
  const Array &x = in[0], &w = in[1], &r = in[2];
  size_t next = 3;
  const Array *bias = o.bias ? &in[next++] : nullptr;
  const Array *h0 = o.states ? &in[next++] : nullptr, *c0 = o.states ? &in[next++] : nullptr;
  const Array *mask = o.mask ? &in[next++] : nullptr;
  int64_t batch = x.shape[0], time = x.shape[1], inputs = x.shape[2], units = r.shape[0];
  Array y = zeros({batch, time, units}), h = zeros({batch, units}), c = h;
  if (h0) h.v = h0->v, c.v = c0->v;
  auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t step = 0; step < time; ++step) {
      int64_t t = o.backwards ? time - 1 - step : step;
      if (mask && (*mask)[b * time + t] == 0) {
        for (int64_t u = 0, at = (b * time + step) * units; u < units && step > 0; ++u) y[at + u] = y[at - units + u];
        continue;
      }
      std::vector<double> gates(static_cast<size_t>(4 * units));
      for (int64_t g = 0; g < 4 * units; ++g) {
        double s = bias ? (*bias)[g] : 0;
        for (int64_t i = 0; i < inputs; ++i) s += x[(b * time + t) * inputs + i] * w[i * 4 * units + g];
        for (int64_t u = 0; u < units; ++u) s += h[b * units + u] * r[u * 4 * units + g];
        gates[static_cast<size_t>(g)] = s;
      }
      auto gate = [&](int64_t which, int64_t u) { return gates[static_cast<size_t>(which * units + u)]; };
      for (int64_t u = 0; u < units; ++u) {
        double cell = sigmoid(gate(1, u)) * c[b * units + u] + sigmoid(gate(0, u)) * std::tanh(gate(2, u));
        c[b * units + u] = cell;
        h[b * units + u] = y[(b * time + step) * units + u] = sigmoid(gate(3, u)) * std::tanh(cell);
      }
    }
  }
  return {y, h, c};
}

// which: the outputs that are read.
Case lstm_case(int64_t batch, int64_t time, int64_t inputs, int64_t units, Options o,
               std::vector<size_t> which = {0, 1, 2}) {
  Case c;
  c.name = text("batch ", batch, " time ", time, " inputs ", inputs, " units ", units, o.bias ? " bias" : "",
                o.states ? " states" : "", o.mask ? " mask" : "", o.backwards ? " backwards" : "", ", outputs from ",
                which[0]);
  c.inputs = {{{batch, time, inputs}}, {{inputs, 4 * units}, DType::f32, true}, {{units, 4 * units}, DType::f32, true}};
  if (o.bias) c.inputs.push_back({{4 * units}, DType::f32, true});
  if (o.states) c.inputs.insert(c.inputs.end(), 2, {{batch, units}});
  if (o.mask) c.inputs.push_back({{batch, time}, DType::boolean});
  c.emit = [=](Emit &e, const std::vector<Id> &in) {
    size_t next = 3;
    Id bias = o.bias ? in[next++] : none;
    Id h0 = o.states ? in[next++] : none, c0 = o.states ? in[next++] : none, mask = o.mask ? in[next++] : none;
    auto v = lstm(e, in[0], in[1], in[2], bias, h0, c0, mask, o.backwards);
    Id all[] = {v.y, v.h, v.c};
    std::vector<Id> out;
    for (size_t i : which) out.push_back(all[i]);
    return out;
  };
  c.reference = [=](const std::vector<Array> &in) {
    auto all = naive(in, o);
    std::vector<Array> out;
    for (size_t i : which) out.push_back(all[i]);
    return out;
  };
  c.kernels = {"own_lstm", "dnnl_lstm"};
  return c;
}

TEST(Lstm, EveryOption) {
  for (bool bias : {false, true})
    for (bool states : {false, true})
      for (bool mask : {false, true})
        for (bool backwards : {false, true}) check(lstm_case(3, 4, 5, 3, {bias, states, mask, backwards}));
}

TEST(Lstm, Sizes) {
  for (int64_t batch : {1, 2, 8})
    for (int64_t units : {1, 2, 17}) check(lstm_case(batch, 3, 2, units, {}));
  for (int64_t units : {16, 33}) {
    Case c = lstm_case(9, 5, 20, units, {});
    c.gradient = false;
    check(c);
  }
}

// Few sequences of many units: each step is a phase.
TEST(Lstm, CutByUnits) {
  auto in_phases = [](const LstmCut &cut) { return cut.by_units > 1; };
  const Cutting two{.threads = 2};
  EXPECT_TRUE(in_phases({two, 1, 100, 128, 128}));
  EXPECT_FALSE(in_phases({two, 1, 100, 128, 32}));   // too little in a step
  EXPECT_FALSE(in_phases({two, 2, 100, 128, 128}));  // a sequence for each thread
  EXPECT_FALSE(in_phases({Cutting{}, 1, 100, 128, 128}));
  for (bool mask : {false, true})
    for (bool backwards : {false, true}) {
      Case c = lstm_case(1, 3, 4, 37, {true, mask, mask, backwards});
      c.gradient = !mask || !backwards;  // slow
      check(c);
    }
  check(lstm_case(1, 3, 2, 35, {false, true, true, false}, {1}));
  Case c = lstm_case(2, 4, 3, 100, {});
  c.gradient = false;
  check(c);
}

TEST(Lstm, SomeOutputs) {
  for (bool backwards : {false, true})
    for (bool mask : {false, true}) {
      check(lstm_case(3, 4, 2, 3, {true, true, mask, backwards}, {0}));
      check(lstm_case(3, 4, 2, 3, {true, true, mask, backwards}, {1}));
      check(lstm_case(3, 4, 2, 3, {true, true, mask, backwards}, {2}));
    }
}

TEST(Lstm, FreeSizes) {
  Case c = lstm_case(3, 4, 2, 3, {true, true, true, false});
  c.free_axes = {0};
  check(c);
  c = lstm_case(3, 4, 2, 3, {true, false, true, false});
  c.free_axes = {0, 1};
  check(c);
}

TEST(Lstm, ZeroSizes) {
  for (bool states : {false, true})
    for (bool mask : {false, true}) {
      check(lstm_case(3, 0, 2, 3, {true, states, mask, false}));
      check(lstm_case(0, 4, 2, 3, {true, states, mask, false}));
      check(lstm_case(2, 4, 0, 3, {true, states, mask, false}));
    }
}

TEST(Lstm, NothingLeaksThroughTheMask) {
  Case c = lstm_case(2, 5, 3, 4, {true, true, true, false});
  auto in = draw(c, 5);
  Array &x = in[0], &mask = in[6];
  for (int64_t step : {0, 2, 4, 8}) {
    mask[step] = 0;
    for (int64_t i = 0; i < 3; ++i) x[step * 3 + i] = 0;
  }
  check_gradient(c, in);
  Program p;
  Emit e(p);
  auto ids = declare(e, c);
  auto out = c.emit(e, ids);
  std::vector<Id> dy;
  std::map<Id, Tensor> values;
  for (Id v : out) {
    dy.push_back(e.input("dy", DType::f32, p[v].shape));
    values[dy.back()] = make_tensor(DType::f32, p[v].shape);
    std::fill_n(values[dy.back()].as<float>(), p[v].shape.elements(), 0.5f);
  }
  auto diffs = backward(e, {ids.begin(), ids.end() - 1}, out, dy);
  for (Id v : out) e.output(v);
  for (Id v : diffs) e.output(v);
  for (size_t i = 0; i < ids.size(); ++i) values[ids[i]] = to_tensor(in[i], c.inputs[i].dtype);
  auto zero = evaluate(p, values, {}, {});
  for (int64_t step : {0, 2, 4, 8}) std::fill_n(values[ids[0]].as<float>() + step * 3, 3, std::nanf(""));
  auto nan = evaluate(p, values, {}, {});
  for (Id v : p.outputs)
    EXPECT_EQ(0, std::memcmp(zero[v].data.get(), nan[v].data.get(), static_cast<size_t>(zero[v].bytes()))) << v;
}

TEST(Lstm, KeepsNaN) {
  Case c = lstm_case(2, 5, 3, 4, {true, false, false, false});
  auto in = draw(c, 5);
  in[0][6] = std::nan("");
  check_forward(c, in);
}

TEST(Lstm, Refusals) {
  auto refuse = [](Shape x, Shape w, Shape r, Shape bias, Shape h0, const std::string &words) {
    expect_refusal(
        [&](Emit &e) {
          auto in = [&](const char *name, const Shape &s) { return e.input(name, DType::f32, s); };
          lstm(e, in("x", x), in("w", w), in("r", r), in("bias", bias), in("h0", h0), none, none, false);
        },
        words);
  };
  refuse({2, 3}, {3, 8}, {2, 8}, {8}, {2, 2}, "expected an input of 3 axes (batch, time, features), got (2, 3)");
  refuse({2, 4, 3}, {5, 8}, {2, 8}, {8}, {2, 2}, "expected kernel of shape (3, 8), got (5, 8)");
  refuse({2, 4, 3}, {3, 8}, {2, 9}, {8}, {2, 2}, "expected a recurrent kernel of shape (units, 4 * units), got (2, 9)");
  refuse({2, 4, 3}, {3, 8}, {2, 8}, {7}, {2, 2}, "expected bias of shape (8,), got (7,)");
  refuse({2, 4, 3}, {3, 8}, {2, 8}, {8}, {3, 2}, "expected initial state h of shape (2, 2), got (3, 2)");
  refuse({-1, -1, 3}, {3, 8}, {2, 8}, {8}, {-1, 3}, "expected initial state h of shape (?, 2), got (?, 3)");
}

}  // namespace
}  // namespace dl4::ops
