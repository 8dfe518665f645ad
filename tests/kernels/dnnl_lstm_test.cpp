// LSTM and its gradient by oneDNN against steps in double.
#include "kernels/dnnl_lstm.hpp"

#include <string>

#include "run_kernel.hpp"

namespace dl4::kernels {
namespace {

using namespace testing;
using Doubles = std::vector<double>;

size_t at(int64_t i) { return static_cast<size_t>(i); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  LstmShape s;
  bool initial = true;
  Guarded x, w, r, bias, h0, c0, dy, dh, dc;
  // Per step and sequence: the gates after their activation, cell and output.
  Doubles gates, cells, y, h_last, c_last;
  Doubles dx, dw, dr, dbias, dh0, dc0;

  Case(const LstmShape &shape, std::mt19937 &random)
      : s(shape),
        x(s.b * s.t * s.i, random),
        w(s.i * 4 * s.h, random),
        r(s.h * 4 * s.h, random),
        bias(4 * s.h, random),
        h0(s.b * s.h, random),
        c0(s.b * s.h, random),
        dy(s.b * s.t * s.h, random),
        dh(s.b * s.h, random),
        dc(s.b * s.h, random) {}

  int64_t step(int64_t n) const { return s.reverse ? s.t - 1 - n : n; }

  void forward(bool with_bias) {
    gates.assign(at(s.b * s.t * 4 * s.h), 0);
    cells.assign(at(s.b * s.t * s.h), 0);
    y = cells;
    h_last.assign(at(s.b * s.h), 0);
    c_last = h_last;
    for (int64_t b = 0; b < s.b; b++) {
      Doubles h(at(s.h)), c(at(s.h));
      for (int64_t j = 0; j < s.h && initial; j++) h[at(j)] = h0[b * s.h + j], c[at(j)] = c0[b * s.h + j];
      for (int64_t n = 0; n < s.t; n++) {
        int64_t row = b * s.t + step(n);
        double *g = &gates[at(row * 4 * s.h)];
        for (int64_t q = 0; q < 4 * s.h; q++) {
          double sum = with_bias ? bias[q] : 0;
          for (int64_t i = 0; i < s.i; i++) sum += double{x[row * s.i + i]} * w[i * 4 * s.h + q];
          for (int64_t i = 0; i < s.h; i++) sum += h[at(i)] * r[i * 4 * s.h + q];
          g[q] = q / s.h == 2 ? std::tanh(sum) : sigmoid(sum);
        }
        for (int64_t j = 0; j < s.h; j++) {
          c[at(j)] = g[s.h + j] * c[at(j)] + g[j] * g[2 * s.h + j];
          h[at(j)] = g[3 * s.h + j] * std::tanh(c[at(j)]);
          cells[at(row * s.h + j)] = c[at(j)];
          y[at(row * s.h + j)] = h[at(j)];
        }
      }
      for (int64_t j = 0; j < s.h; j++) h_last[at(b * s.h + j)] = h[at(j)], c_last[at(b * s.h + j)] = c[at(j)];
    }
  }

  void backward(bool given) {  // given: dh and dc as well as dy
    dx.assign(at(s.b * s.t * s.i), 0);
    dw.assign(at(s.i * 4 * s.h), 0);
    dr.assign(at(s.h * 4 * s.h), 0);
    dbias.assign(at(4 * s.h), 0);
    dh0.assign(at(s.b * s.h), 0);
    dc0 = dh0;
    for (int64_t b = 0; b < s.b; b++) {
      Doubles gh(at(s.h)), gc(at(s.h));
      for (int64_t j = 0; j < s.h && given; j++) gh[at(j)] = dh[b * s.h + j], gc[at(j)] = dc[b * s.h + j];
      for (int64_t n = s.t; n--;) {
        int64_t row = b * s.t + step(n), before = b * s.t + step(n - 1);
        const double *g = &gates[at(row * 4 * s.h)];
        Doubles gates_gradient(at(4 * s.h)), h_before(at(s.h));
        for (int64_t j = 0; j < s.h; j++) {
          double i = g[j], f = g[s.h + j], u = g[2 * s.h + j], o = g[3 * s.h + j], c = cells[at(row * s.h + j)];
          double c_before = n ? cells[at(before * s.h + j)] : initial ? c0[b * s.h + j] : 0;
          h_before[at(j)] = n ? y[at(before * s.h + j)] : initial ? h0[b * s.h + j] : 0;
          double d = gh[at(j)] + dy[row * s.h + j], tc = std::tanh(c);
          double dcell = gc[at(j)] + d * o * (1 - tc * tc);
          gates_gradient[at(j)] = dcell * u * i * (1 - i);
          gates_gradient[at(s.h + j)] = dcell * c_before * f * (1 - f);
          gates_gradient[at(2 * s.h + j)] = dcell * i * (1 - u * u);
          gates_gradient[at(3 * s.h + j)] = d * tc * o * (1 - o);
          gc[at(j)] = dcell * f;
        }
        for (int64_t q = 0; q < 4 * s.h; q++) {
          double d = gates_gradient[at(q)];
          dbias[at(q)] += d;
          for (int64_t i = 0; i < s.i; i++) {
            dw[at(i * 4 * s.h + q)] += d * x[row * s.i + i];
            dx[at(row * s.i + i)] += d * w[i * 4 * s.h + q];
          }
          for (int64_t i = 0; i < s.h; i++) dr[at(i * 4 * s.h + q)] += d * h_before[at(i)];
        }
        for (int64_t i = 0; i < s.h; i++) {
          gh[at(i)] = 0;
          for (int64_t q = 0; q < 4 * s.h; q++) gh[at(i)] += gates_gradient[at(q)] * r[i * 4 * s.h + q];
        }
      }
      for (int64_t j = 0; j < s.h; j++) dh0[at(b * s.h + j)] = gh[at(j)], dc0[at(b * s.h + j)] = gc[at(j)];
    }
  }
};

const LstmShape table[] = {
    {5, 3, 7, 9}, {1, 1, 1, 1}, {28, 7, 28, 32}, {3, 2, 33, 65}, {4, 8, 16, 16}, {6, 3, 5, 40, true},
    {2, 4, 8, 24, true},
};

TEST(DnnlLstm, Inference) {
  std::mt19937 random(1);
  for (LstmShape s : table)
    for (bool initial : {false, true}) {
      Case c(s, random);
      c.initial = initial;
      c.forward(initial);  // a bias goes with it, to save time
      Constant w{c.w.begin()}, r{c.r.begin()};
      for (int64_t slices : {1, 2, 3, 7})
        for (bool constant : {false, true}) {
          auto kernel = dnnl_lstm(s, slices, constant ? &w : nullptr, constant ? &r : nullptr);
          ASSERT_NE(kernel, nullptr);
          EXPECT_EQ(kernel->slices, std::min(slices, s.b));
          Guarded y(s.b * s.t * s.h), h(s.b * s.h), cell(s.b * s.h);
          std::vector<void *> args{c.x.begin(), c.w.begin(), c.r.begin(), c.bias.begin(), c.h0.begin(), c.c0.begin(),
                                   y.begin(),   h.begin(),   cell.begin()};
          if (!initial) args[3] = args[4] = args[5] = nullptr;
          EXPECT_EQ(run_kernel(*kernel, args), Fault::none);
          EXPECT_TRUE(near(y, c.y, 1e-5)) << kernel->name << " " << s.t << " " << s.b << " " << s.h;
          EXPECT_TRUE(near(h, c.h_last, 1e-5)) << kernel->name;
          EXPECT_TRUE(near(cell, c.c_last, 1e-5)) << kernel->name;
          expect_same_bits(*kernel, args, 6, y);
          Guarded alone(s.b * s.h);
          args[6] = args[8] = nullptr;
          args[7] = alone.begin();
          EXPECT_EQ(run_kernel(*kernel, args), Fault::none);
          EXPECT_TRUE(near(alone, c.h_last, 1e-5)) << kernel->name;
        }
    }
}

TEST(DnnlLstm, Gradients) {
  std::mt19937 random(2);
  for (LstmShape s : table)
    for (bool initial : {false, true}) {
      s.training = true;
      Case c(s, random);
      c.initial = initial;
      c.forward(true);
      c.backward(initial);
      for (int64_t slices : {1, 2, 3, 7}) {
        auto forward = dnnl_lstm(s, slices);
        auto backward = dnnl_lstm_backward(s, slices);
        ASSERT_TRUE(forward && backward);
        std::vector<char> bytes(static_cast<size_t>(dnnl_lstm_workspace(s, slices)) + 128, char(0x7f));
        char *workspace = bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64);
        Guarded y(s.b * s.t * s.h), h(s.b * s.h), cell(s.b * s.h);
        std::vector<void *> args{c.x.begin(), c.w.begin(), c.r.begin(),  c.bias.begin(), c.h0.begin(),
                                 c.c0.begin(), y.begin(),   h.begin(),    cell.begin(),   workspace};
        if (!initial) args[4] = args[5] = nullptr;
        EXPECT_EQ(run_kernel(*forward, args), Fault::none);
        EXPECT_TRUE(near(y, c.y, 1e-5)) << forward->name;
        EXPECT_EQ(workspace[dnnl_lstm_workspace(s, slices)], char(0x7f)) << "workspace overrun";
        Guarded dx(s.b * s.t * s.i), dw(s.i * 4 * s.h), dr(s.h * 4 * s.h), dbias(4 * s.h), dh0(s.b * s.h),
            dc0(s.b * s.h);
        for (void *p : {c.dy.begin(), initial ? c.dh.begin() : nullptr, initial ? c.dc.begin() : nullptr, dx.begin(),
                        dw.begin(), dr.begin(), dbias.begin(), dh0.begin(), dc0.begin()})
          args.push_back(p);
        EXPECT_EQ(run_kernel(*backward, args), Fault::none);
        EXPECT_TRUE(near(dx, c.dx, 1e-4)) << backward->name << " " << s.t << " " << s.b << " " << s.h;
        EXPECT_TRUE(near(dw, c.dw, 1e-4)) << backward->name;
        EXPECT_TRUE(near(dr, c.dr, 1e-4)) << backward->name;
        EXPECT_TRUE(near(dbias, c.dbias, 1e-4)) << backward->name;
        EXPECT_TRUE(near(dh0, c.dh0, 1e-4)) << backward->name;
        EXPECT_TRUE(near(dc0, c.dc0, 1e-4)) << backward->name;
        expect_same_bits(*backward, args, 14, dw);
        args[13] = args[15] = args[17] = args[18] = nullptr;
        Guarded alone(s.i * 4 * s.h);
        args[14] = alone.begin();
        EXPECT_EQ(run_kernel(*backward, args), Fault::none);
        EXPECT_TRUE(near(alone, c.dw, 1e-4)) << backward->name;
      }
    }
}

TEST(DnnlLstm, ZeroSizesAreNotItsBusiness) {
  for (LstmShape s : {LstmShape{0, 2, 3, 4}, LstmShape{2, 0, 3, 4}, LstmShape{2, 3, 0, 4}, LstmShape{2, 3, 4, 0}}) {
    EXPECT_EQ(dnnl_lstm(s, 2), nullptr);
    EXPECT_EQ(dnnl_lstm_backward(s, 2), nullptr);
    EXPECT_EQ(dnnl_lstm_workspace(s, 2), 0);
  }
}

TEST(DnnlLstm, NanStaysInItsSequence) {
  std::mt19937 random(3);
  Case c({4, 3, 8, 16}, random);
  c.x[4 * 8 + 3] = std::nanf("");  // second sequence, first step
  c.forward(true);
  Guarded y(3 * 4 * 16);
  run_kernel(*dnnl_lstm(c.s, 2), {c.x.begin(), c.w.begin(), c.r.begin(), c.bias.begin(), c.h0.begin(), c.c0.begin(),
                                  y.begin(), nullptr, nullptr});
  EXPECT_TRUE(near(y, c.y, 1e-5));
}

TEST(DnnlLstm, NoThreadAppears) {
  std::mt19937 random(4);
  int64_t before = os_threads();
  Case c({10, 32, 64, 64}, random);
  Guarded y(10 * 32 * 64);
  run_kernel(*dnnl_lstm(c.s, 1), {c.x.begin(), c.w.begin(), c.r.begin(), c.bias.begin(), c.h0.begin(), c.c0.begin(),
                                  y.begin(), nullptr, nullptr});
  EXPECT_EQ(os_threads(), before);
}

}  // namespace
}  // namespace dl4::kernels
