// LSTM and its gradient: states, masks, directions, empty sequences.
#include <algorithm>
#include <cmath>

#include "backend/cpu/dispatch/lstm.hpp"
#include "harness/gradient_check.hpp"
#include "ops/lstm.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

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
  c.inputs = randoms({{batch, time, inputs}, {inputs, 4 * units}, {units, 4 * units}});
  c.constants = {1, 2};
  if (o.bias) c.constants.push_back(3), c.inputs.push_back(random({4 * units}, 4, -1, 1));
  for (uint64_t seed : {5, 6})
    if (o.states) c.inputs.push_back(random({batch, units}, seed, -1, 1));
  if (o.mask) c.inputs.push_back(random({batch, time}, 7, 0, 1, DType::boolean));
  c.build = [=](Emit &e, const std::vector<Id> &in) {
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
  auto in_phases = [](const dispatch::LstmCut &cut) { return cut.by_units > 1; };
  const dispatch::Cutting two{.threads = 2};
  EXPECT_TRUE(in_phases({two, 1, 100, 128, 256}));
  EXPECT_TRUE(in_phases({two, 1, 100, 128, 128}));
  EXPECT_FALSE(in_phases({two, 1, 100, 64, 64}));   // too little in a step
  EXPECT_TRUE(in_phases({two, 2, 100, 128, 256}));  // each thread reads half of the weights
  EXPECT_FALSE(in_phases({two, 3, 100, 20, 100}));  // few weights for each sequence
  EXPECT_FALSE(in_phases({two, 9, 100, 128, 256}));
  EXPECT_FALSE(in_phases({dispatch::Cutting{}, 1, 100, 128, 256}));
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
  auto set_masked = [&](float v) {
    for (int step : {0, 2, 4, 8}) {
      c.inputs[6].as<uint8_t>()[step] = 0;
      std::fill_n(c.inputs[0].as<float>() + step * 3, 3, v);
    }
  };
  set_masked(0);
  check_gradient(c);
  auto in = c.inputs;  // the same memory
  for (const Shape &s : {Shape{2, 5, 4}, Shape{2, 4}, Shape{2, 4}}) in.push_back(random(s, in.size()));
  for (const Build &build : {c.build, gradients(c.build, 7, {0, 1, 2, 3, 4, 5})}) {
    Program p = program_of(build, in);
    set_masked(0);
    auto zero = evaluate(p, in).outputs;
    set_masked(NAN);
    expect_same_bits(evaluate(p, in).outputs, zero, "NaN under the mask");
  }
}

// Long enough for bits to differ, were one function of the cell another one on some instruction set.
TEST(Lstm, ManySteps) {
  Case c = lstm_case(8, 28, 28, 32, {true, false, false, false});
  c.gradient = false;
  check(c);
}

TEST(Lstm, KeepsNaN) {
  Case c = lstm_case(2, 5, 3, 4, {true, false, false, false});
  c.gradient = false;
  c.inputs[0].as<float>()[6] = NAN;
  check(c);
}

TEST(Lstm, Refusals) {
  auto refuse = [](Shape x, Shape w, Shape r, Shape bias, Shape h0, const std::string &words) {
    auto build = [](Emit &e, const auto &v) { return lstm(e, v[0], v[1], v[2], v[3], v[4], none, none, false).y; };
    check_refused(build, {x, w, r, bias, h0}, Code::shape_mismatch, words);
  };
  refuse({2, 3}, {3, 8}, {2, 8}, {8}, {2, 2}, "expected an input of 3 axes (batch, time, features), got (2, 3)");
  refuse({2, 4, 3}, {5, 8}, {2, 8}, {8}, {2, 2}, "expected kernel of shape (3, 8), got (5, 8)");
  refuse({2, 4, 3}, {3, 8}, {2, 9}, {8}, {2, 2}, "expected a recurrent kernel of shape (units, 4 * units), got (2, 9)");
  refuse({2, 4, 3}, {3, 8}, {2, 8}, {7}, {2, 2}, "expected bias of shape (8,), got (7,)");
  refuse({2, 4, 3}, {3, 8}, {2, 8}, {8}, {3, 2}, "expected initial state h of shape (2, 2), got (3, 2)");
  refuse({-1, -1, 3}, {3, 8}, {2, 8}, {8}, {-1, 3}, "expected initial state h of shape (?, 2), got (?, 3)");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
