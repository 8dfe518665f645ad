// The LSTM's time loops against a plain one in double precision: masks, direction, states, gradients by differences.
#include "backend/cpu/kernels/recurrent/lstm.hpp"

#include <algorithm>

#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using Values = std::vector<double>;

struct Case {
  int64_t b, t, h;
  bool backwards = false, masked = false, states = true;
};

// What goes in, and what comes out by the book.
struct Plain {
  Values x, r, h0, c0;  // x: gates by step
  Values y, h, c;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void run(const Case &k, const std::vector<uint8_t> &mask, Plain &p) {
  auto at = [](auto &v, int64_t i) -> auto & { return v[static_cast<size_t>(i)]; };
  p.h = p.h0;
  p.c = p.c0;
  p.y.assign(static_cast<size_t>(k.b * k.t * k.h), 0);
  for (int64_t b = 0; b < k.b; ++b) {
    Values out(static_cast<size_t>(k.h));
    for (int64_t s = 0; s < k.t; ++s) {
      const int64_t t = k.backwards ? k.t - 1 - s : s;
      if (mask.empty() || at(mask, b * k.t + t)) {
        Values z(static_cast<size_t>(4 * k.h));
        for (int64_t j = 0; j < 4 * k.h; ++j) {
          at(z, j) = at(p.x, (b * k.t + t) * 4 * k.h + j);
          for (int64_t i = 0; i < k.h; ++i) at(z, j) += at(p.h, b * k.h + i) * at(p.r, i * 4 * k.h + j);
        }
        for (int64_t j = 0; j < k.h; ++j) {
          double &c = at(p.c, b * k.h + j);
          c = sigmoid(at(z, k.h + j)) * c + sigmoid(at(z, j)) * std::tanh(at(z, 2 * k.h + j));
          at(out, j) = at(p.h, b * k.h + j) = sigmoid(at(z, 3 * k.h + j)) * std::tanh(c);
        }
      }
      for (int64_t j = 0; j < k.h; ++j) at(p.y, (b * k.t + s) * k.h + j) = at(out, j);
    }
  }
}

Values to_double(const std::vector<float> &v) { return Values(v.begin(), v.end()); }

double weighted(const Values &v, Edge<float> &w) {
  double s = 0;
  for (size_t i = 0; i < v.size(); ++i) s += v[i] * static_cast<double>(w[i]);
  return s;
}

// A call for each block of units, backwards, of each step.
template <class F>
void by_units(int64_t hidden, const F &f) {
  for (int64_t u = (hidden - 1) / lstm_unit_block * lstm_unit_block; u >= 0; u -= lstm_unit_block)
    f(LstmUnits{u, std::min(u + lstm_unit_block, hidden)});
}

void check(const Case &k) {
  SCOPED_TRACE(std::to_string(k.b) + " x " + std::to_string(k.t) + " x " + std::to_string(k.h) +
               (k.backwards ? " backwards" : "") + (k.masked ? " masked" : "") + (k.states ? " states" : ""));
  const int64_t n = k.b * k.h, all = k.b * k.t * k.h;
  Edge<float> x(random_floats(4 * all, -1, 1, 1)), r(random_floats(4 * k.h * k.h, -0.6f, 0.6f, 2));
  Edge<float> h0(k.states ? random_floats(n, -1, 1, 3) : std::vector<float>(static_cast<size_t>(n)));
  Edge<float> c0(k.states ? random_floats(n, -1, 1, 4) : std::vector<float>(static_cast<size_t>(n)));
  std::vector<uint8_t> mask;
  for (int64_t i = 0; k.masked && i < k.b * k.t; ++i) mask.push_back(i / k.t == 1 || (i * 7 / 3) % 3 == 0 ? 0 : 1);
  Edge<float> packed(packed_floats(k.h, 4 * k.h)), packed_t(packed_floats(4 * k.h, k.h));
  pack_b(k.h, 4 * k.h, r, 4 * k.h, false, packed);
  pack_b(4 * k.h, k.h, r, 4 * k.h, true, packed_t);

  Plain p{to_double(x.vector()), to_double(r.vector()), to_double(h0.vector()), to_double(c0.vector()), {}, {}, {}};
  run(k, mask, p);
  const LstmLoop loop{k.t, k.h, k.backwards};
  Edge<float> y(all), h(n), c(n), gates(4 * all), cells(all), h_prev(all);
  LstmForward f{.x_gates = x,
                .recurrent = packed,
                .h0 = k.states ? h0.data() : nullptr,
                .c0 = k.states ? c0.data() : nullptr,
                .mask = k.masked ? mask.data() : nullptr,
                .y = y,
                .h_last = h,
                .c_last = c,
                .gates = gates,
                .c = cells,
                .h_prev = h_prev};
  const bool cut_by_units = k.h > lstm_unit_block;
  auto slices = [&](auto &&body) {
    body(0, k.b / 3);
    body(k.b / 3, k.b);
  };
  if (cut_by_units) {
    Edge<float> gates_packed(packed_gates_floats(k.h)), scratch(lstm_forward_scratch_by_units(loop, k.b));
    by_units(k.h, [&](LstmUnits u) { pack_gates(k.h, u, r, gates_packed); });
    LstmForward g = f;
    g.recurrent = gates_packed;
    for (int64_t s = -1; s < k.t; ++s)
      by_units(k.h, [&](LstmUnits u) { lstm_forward_by_units(loop, g, k.b, s, u, scratch); });
  } else {
    slices([&](int64_t begin, int64_t end) {
      Edge<float> scratch(lstm_forward_scratch(loop, end - begin));
      lstm_forward(loop, f, begin, end, scratch);
    });
  }
  auto same = [](const Values &want, Edge<float> &got, const char *what, double tolerance = 2e-5) {
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_TRUE(near(want[i], static_cast<double>(got[i]), tolerance, tolerance / 4)) << what << " " << i;
  };
  same(p.y, y, "y");
  same(p.h, h, "h");
  same(p.c, c, "c");
  {  // in the mode of inference: nothing kept, the same outputs
    LstmForward lean = f;
    lean.gates = lean.c = lean.h_prev = lean.y = nullptr;
    Edge<float> scratch(lstm_forward_scratch(loop, k.b)), again(n);
    lean.h_last = again;
    lstm_forward(loop, lean, 0, k.b, scratch);
    same(p.h, again, "h alone");
  }

  Edge<float> dy(random_floats(all, -1, 1, 5)), dh(random_floats(n, -1, 1, 7));
  Edge<float> dc(random_floats(n, -1, 1, 8)), dh0(n), dc0(n);
  LstmBackward g{.gates = gates,
                 .c = cells,
                 .recurrent_t = packed_t,
                 .c0 = f.c0,
                 .mask = f.mask,
                 .dy = dy,
                 .dh_last = dh,
                 .dc_last = dc,
                 .dgates = gates,
                 .dh0 = dh0,
                 .dc0 = dc0};
  if (cut_by_units) {
    Edge<float> scratch(lstm_backward_scratch(loop, k.b));
    for (int64_t s = k.t - 1; s >= -1; --s)
      by_units(k.h, [&](LstmUnits u) { lstm_backward_by_units(loop, g, k.b, s, u, scratch); });
  } else {
    slices([&](int64_t begin, int64_t end) {
      Edge<float> scratch(lstm_backward_scratch(loop, end - begin));
      lstm_backward(loop, g, begin, end, scratch);
    });
  }
  auto loss = [&] {
    Plain q = p;
    run(k, mask, q);
    return weighted(q.y, dy) + weighted(q.h, dh) + weighted(q.c, dc);
  };
  auto slopes = [&](Values &v, size_t step, auto &&got, const char *what) {
    for (size_t i = 0; i < v.size(); i += step) {
      const double keep = v[i];
      v[i] = keep + 1e-5;
      const double up = loss();
      v[i] = keep - 1e-5;
      const double down = loss();
      v[i] = keep;
      ASSERT_TRUE(near((up - down) / 2e-5, got(i), 1e-4, 1e-4)) << what << " " << i;
    }
  };
  slopes(
      p.x, std::max<size_t>(3, p.x.size() / 100), [&](size_t i) { return static_cast<double>(gates[i]); }, "x");
  slopes(
      p.h0, 1, [&](size_t i) { return static_cast<double>(dh0[i]); }, "h0");
  slopes(
      p.c0, 1, [&](size_t i) { return static_cast<double>(dc0[i]); }, "c0");
  // dR = h_prev^T dgates.
  slopes(
      p.r, std::max<size_t>(5, p.r.size() / 100),
      [&](size_t i) {
        const int64_t row = static_cast<int64_t>(i) / (4 * k.h), column = static_cast<int64_t>(i) % (4 * k.h);
        double s = 0;
        for (int64_t q = 0; q < k.b * k.t; ++q)
          s += static_cast<double>(h_prev[q * k.h + row]) * static_cast<double>(gates[q * 4 * k.h + column]);
        return s;
      },
      "R");
}

TEST(Lstm, ForwardAndGradient) {
  on_every_target([] {
    for (const int64_t h : {1, 3, 8})
      for (const bool backwards : {false, true})
        for (const bool masked : {false, true})
          for (const bool states : {false, true}) check({3, 4, h, backwards, masked, states});
    check({1, 1, 17});
    check({7, 2, 9});
  });
}

TEST(Lstm, CutByUnits) {
  on_every_target([] {
    for (const bool backwards : {false, true})
      for (const bool masked : {false, true}) check({2, 3, 37, backwards, masked, masked});
    check({1, 2, 64, false, false, false});
    check({1, 1, 65});
  });
}

TEST(Lstm, NoStepsGiveTheStateBack) {
  const LstmLoop loop{0, 3};
  std::vector<float> h0 = {1, 2, 3}, h(3), c(3, 9), scratch(static_cast<size_t>(lstm_forward_scratch(loop, 1)));
  LstmForward f{.h0 = h0.data(), .h_last = h.data(), .c_last = c.data()};
  lstm_forward(loop, f, 0, 1, scratch.data());
  EXPECT_EQ(h0, h);
  EXPECT_EQ(std::vector<float>(3), c);
}

TEST(Lstm, AMaskedStepHidesNan) {
  on_every_target([] {
    std::vector<float> gates(8, nan), c(2), h(2), c0 = {1, 2}, h0 = {3, 4};
    const uint8_t mask = 0;
    lstm_cell({1, 2, 2, {gates.data(), 8}, {c0.data(), 2}, {h0.data(), 2}, {&mask, 1}, {c.data(), 2}, {h.data(), 2}});
    EXPECT_EQ(c0, c);
    EXPECT_EQ(h0, h);
    lstm_cell({1, 2, 2, {gates.data(), 8}, {c0.data(), 2}, {h0.data(), 2}, {}, {c.data(), 2}, {h.data(), 2}});
    EXPECT_TRUE(std::isnan(h[0]));
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
