// Special values in the LSTM's step, its gradient and the loops: where they go, and that they go nowhere else.
#include <algorithm>
#include <array>

#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "backend/cpu/kernels/recurrent/lstm.hpp"
#include "special_values.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double sigmoid_slope(double d, double s) { return d * (s * (1 - s)); }
double tanh_slope(double d, double t) { return d * (1 - t * t); }

// A special pre-activation saturates its own unit; NaN goes no further than that.
TEST(SpecialValues, LstmCell) {
  on_every_target([] {
    for (const int64_t h : {1, 3, 17})
      for (const bool keep : {false, true}) {
        Edge<float> in(std::vector<float>(static_cast<size_t>(4 * h), 0.25f)), gates(4 * h), c(h), out(h);
        Edge<float> before(std::vector<float>(static_cast<size_t>(h), 0.5f));
        auto check = [&](int64_t) {
          std::copy_n(in.data(), 4 * h, gates.data());
          lstm_cell({1, h, h, {gates, 4 * h}, {before, h}, {}, {}, {c, h}, {out, h}, keep});
          for (int64_t i = 0; i < h; ++i) {
            std::array<double, 4> g;
            for (int64_t k = 0; k < 4; ++k) {
              const double x = value(in[k * h + i]);
              g[static_cast<size_t>(k)] = k == 2 ? std::tanh(x) : sigmoid(x);
              if (keep) {
                EXPECT_TRUE(near(g[static_cast<size_t>(k)], value(gates[k * h + i]))) << k << ' ' << i;
              }
            }
            const double cell = g[1] * value(before[i]) + g[0] * g[2];
            EXPECT_TRUE(near(cell, value(c[i]))) << i;
            EXPECT_TRUE(near(g[3] * std::tanh(cell), value(out[i]))) << i;
          }
        };
        at_each_place(in, check);
        at_each_place(before, check);
      }
  });
}

TEST(SpecialValues, LstmCellGradient) {
  on_every_target([] {
    for (const int64_t h : {1, 3, 17}) {
      Edge<float> gates(random_floats(4 * h, 0.1f, 0.9f, 1)), before(random_floats(h, 0.1f, 0.9f, 2));
      Edge<float> c(random_floats(h, 0.1f, 0.9f, 3)), dh(random_floats(h, 0.1f, 0.9f, 4)),
          dc(random_floats(h, 0.1f, 0.9f, 5)), dc_out(h), dgates(4 * h);
      auto check = [&](int64_t) {
        std::copy_n(dc.data(), h, dc_out.data());
        lstm_cell_grad({1, h, h, {gates, 4 * h}, {before, h}, {c, h}, {dh, h}, {}, {dc_out, h}, {dgates, 4 * h}});
        for (int64_t j = 0; j < h; ++j) {
          const double i = value(gates[j]), f = value(gates[h + j]), a = value(gates[2 * h + j]),
                       o = value(gates[3 * h + j]), d = value(dh[j]), t = std::tanh(value(c[j]));
          const double cell = value(dc[j]) + tanh_slope(d * o, t);
          EXPECT_TRUE(near(sigmoid_slope(cell * a, i), value(dgates[j]))) << j;
          EXPECT_TRUE(near(sigmoid_slope(cell * value(before[j]), f), value(dgates[h + j]))) << j;
          EXPECT_TRUE(near(tanh_slope(cell * i, a), value(dgates[2 * h + j]))) << j;
          EXPECT_TRUE(near(sigmoid_slope(d * t, o), value(dgates[3 * h + j]))) << j;
          EXPECT_TRUE(near(cell * f, value(dc_out[j]))) << j;
        }
      };
      for (auto *x : {&gates, &before, &c, &dh, &dc}) at_each_place(*x, check);
    }
  });
}

// Both loops over a few sequences, cut by units where there are some more, and all that they write.
struct Loops {
  static constexpr int64_t b = 3, time = 5;
  LstmLoop loop;
  std::vector<uint8_t> mask;
  int64_t hidden = loop.hidden, n = b * hidden, all = n * time;
  Edge<float> x{random_floats(4 * all, -1, 1, 1)}, h0{random_floats(n, -1, 1, 2)}, c0{random_floats(n, -1, 1, 3)},
      dy{random_floats(all, -1, 1, 4)}, packed{cut() ? packed_gates_floats(hidden) : packed_floats(hidden, 4 * hidden)},
      packed_t{packed_floats(4 * hidden, hidden)}, gates{4 * all};
  // Sequence after sequence.
  Edge<float> y{all}, cells{all}, h_prev{all}, dgates{4 * all}, h{n}, c{n}, dh0{n}, dc0{n};
  Edge<float> scratch{cut() ? lstm_forward_scratch_by_units(loop, b) : lstm_forward_scratch(loop, b)},
      back{lstm_backward_scratch(loop, b)};
  std::vector<std::vector<float>> clean;

  Loops(const LstmLoop &loop, bool masked) : loop(loop), mask(masked ? b * time : 0) {
    for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % 4 != 1;
    Edge<float> r(random_floats(4 * hidden * hidden, -1, 1, 5));
    if (cut())
      each_part([&](LstmUnits u) { pack_gates(hidden, u, r, packed); });
    else
      pack_b(hidden, 4 * hidden, r, 4 * hidden, false, packed);
    pack_b(4 * hidden, hidden, r, 4 * hidden, true, packed_t);
    run();
    for (auto *v : results()) clean.push_back(v->vector());
  }
  std::array<Edge<float> *, 8> results() { return {&y, &cells, &h_prev, &dgates, &h, &c, &dh0, &dc0}; }
  bool valid(int64_t step) const { return mask.empty() || mask[static_cast<size_t>(step)]; }
  // From steps in time to steps as run, and back.
  int64_t turned(int64_t t) const { return loop.backwards ? time - 1 - t : t; }

  bool cut() const { return hidden > lstm_unit_block; }
  template <class F>
  void each_part(const F &f) const {
    for (int64_t u = 0; u < hidden; u += lstm_unit_block) f(LstmUnits{u, std::min(u + lstm_unit_block, hidden)});
  }

  void run() {
    const uint8_t *m = mask.empty() ? nullptr : mask.data();
    const LstmForward f{.x_gates = x,
                        .recurrent = packed,
                        .h0 = h0,
                        .c0 = c0,
                        .mask = m,
                        .y = y,
                        .h_last = h,
                        .c_last = c,
                        .gates = gates,
                        .c = cells,
                        .h_prev = h_prev};
    const LstmBackward g{.gates = gates,
                         .c = cells,
                         .recurrent_t = packed_t,
                         .c0 = c0,
                         .mask = m,
                         .dy = dy,
                         .dgates = dgates,
                         .dh0 = dh0,
                         .dc0 = dc0};
    if (!cut()) {
      lstm_forward(loop, f, 0, b, scratch);
      return lstm_backward(loop, g, 0, b, back);
    }
    for (int64_t s = -1; s < time; ++s)
      each_part([&](LstmUnits u) { lstm_forward_by_units(loop, f, b, s, u, scratch); });
    for (int64_t s = time - 1; s >= -1; --s)
      each_part([&](LstmUnits u) { lstm_backward_by_units(loop, g, b, s, u, back); });
  }
  // The bits are as without a special value, but those of one sequence (-1: all are).
  void expect_clean_but(int64_t sequence) {
    for (size_t i = 0; i < clean.size(); ++i)
      for (int64_t s = 0, each = results()[i]->size() / b; s < b; ++s)
        if (s != sequence) {
          EXPECT_EQ(0, std::memcmp(&clean[i][static_cast<size_t>(s * each)], results()[i]->data() + s * each,
                                   static_cast<size_t>(each) * sizeof(float)))
              << "result " << i << ", sequence " << s;
        }
  }
};

// A special value reaches its own sequence alone, there nothing that ran before, and at a masked step nothing at all.
TEST(SpecialValues, LstmLoops) {
  auto check = [](const LstmLoop &loop, bool masked) {
    Loops l(loop, masked);
    const int64_t h = l.hidden, time = l.time;
    at_each_place(
        l.x,
        [&](int64_t at) {
          l.run();
          const int64_t step = at / (4 * h), s = step / time, ran = l.turned(step % time);
          l.expect_clean_but(l.valid(step) ? s : -1);
          EXPECT_EQ(0, std::memcmp(&l.clean[0][static_cast<size_t>(s * time * h)], l.y.data() + s * time * h,
                                   static_cast<size_t>(ran * h) * sizeof(float)));
          if (std::isnan(l.x[at]) && l.valid(step)) {
            EXPECT_TRUE(std::isnan(l.h[s * h + at % h]));
          }
        },
        1 + l.x.size() / 20);
    at_each_place(
        l.dy,
        [&](int64_t at) {
          l.run();
          const int64_t s = at / (time * h), step = s * time + l.turned(at / h % time);
          l.expect_clean_but(s);
          if (std::isnan(l.dy[at]) && l.valid(step)) {
            EXPECT_TRUE(std::isnan(l.dh0[s * h + at % h]));
          }
        },
        1 + l.dy.size() / 10);
  };
  on_every_target([&] {
    for (const bool backwards : {false, true}) {
      check({Loops::time, 3, backwards}, false);
      check({Loops::time, 5, backwards}, true);
      check({Loops::time, 33, backwards}, true);
    }
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
