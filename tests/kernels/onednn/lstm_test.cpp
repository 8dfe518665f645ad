// LSTM by oneDNN against steps in double.
#include "backend/cpu/kernels/onednn/dnnl_lstm.hpp"

#include <string>

#include "kernels/run_kernel.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using namespace testing;
using Doubles = std::vector<double>;

size_t at(int64_t i) { return static_cast<size_t>(i); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  LstmShape s;
  bool initial = true;
  Guarded x, w, r, bias, h0, c0;
  Doubles y, h_last, c_last;

  Case(const LstmShape &shape, std::mt19937 &random)
      : s(shape),
        x(s.b * s.t * s.i, random),
        w(s.i * 4 * s.h, random),
        r(s.h * 4 * s.h, random),
        bias(4 * s.h, random),
        h0(s.b * s.h, random),
        c0(s.b * s.h, random) {}

  int64_t step(int64_t n) const { return s.reverse ? s.t - 1 - n : n; }

  void forward(bool with_bias) {
    y.assign(at(s.b * s.t * s.h), 0);
    h_last.assign(at(s.b * s.h), 0);
    c_last = h_last;
    for (int64_t b = 0; b < s.b; b++) {
      Doubles h(at(s.h)), c(at(s.h));
      for (int64_t j = 0; j < s.h && initial; j++) h[at(j)] = h0[b * s.h + j], c[at(j)] = c0[b * s.h + j];
      for (int64_t n = 0; n < s.t; n++) {
        int64_t row = b * s.t + step(n);
        Doubles g(at(4 * s.h));
        for (int64_t q = 0; q < 4 * s.h; q++) {
          double sum = with_bias ? bias[q] : 0;
          for (int64_t i = 0; i < s.i; i++) sum += double{x[row * s.i + i]} * w[i * 4 * s.h + q];
          for (int64_t i = 0; i < s.h; i++) sum += h[at(i)] * r[i * 4 * s.h + q];
          g[at(q)] = q / s.h == 2 ? std::tanh(sum) : sigmoid(sum);
        }
        for (int64_t j = 0; j < s.h; j++) {
          c[at(j)] = g[at(s.h + j)] * c[at(j)] + g[at(j)] * g[at(2 * s.h + j)];
          h[at(j)] = g[at(3 * s.h + j)] * std::tanh(c[at(j)]);
          y[at(row * s.h + j)] = h[at(j)];
        }
      }
      for (int64_t j = 0; j < s.h; j++) h_last[at(b * s.h + j)] = h[at(j)], c_last[at(b * s.h + j)] = c[at(j)];
    }
  }
};

const LstmShape table[] = {
    {5, 3, 7, 9},
    {1, 1, 1, 1},
    {28, 7, 28, 32},
    {3, 2, 33, 65},
    {4, 8, 16, 16},
    {6, 3, 5, 40, true},
    {2, 4, 8, 24, true},
    {28, 7, 28, 32, false, 5},
    {9, 3, 5, 40, true, 4},
    {6, 8, 16, 16, false, 1},
    {5, 2, 16, 16, true, 3},
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
          std::vector<void *> args{c.x.begin(),  c.w.begin(), c.r.begin(), c.bias.begin(), c.h0.begin(),
                                   c.c0.begin(), y.begin(),   h.begin(),   cell.begin()};
          if (!initial) args[3] = args[4] = args[5] = nullptr;
          EXPECT_EQ(run_kernel(*kernel, args, Who::caller, 3), Fault::none);
          EXPECT_TRUE(near(y, c.y, 1e-5)) << kernel->name << " " << s.t << " " << s.b << " " << s.h;
          EXPECT_TRUE(near(h, c.h_last, 1e-5)) << kernel->name;
          EXPECT_TRUE(near(cell, c.c_last, 1e-5)) << kernel->name;
          expect_same_bits(*kernel, args, 6, y, 3);
          Guarded alone(s.b * s.h);
          args[6] = args[8] = nullptr;
          args[7] = alone.begin();
          EXPECT_EQ(run_kernel(*kernel, args, Who::caller, 3), Fault::none);
          EXPECT_TRUE(near(alone, c.h_last, 1e-5)) << kernel->name;
        }
    }
}

TEST(DnnlLstm, ZeroSizesAreNotItsBusiness) {
  for (LstmShape s : {LstmShape{0, 2, 3, 4}, LstmShape{2, 0, 3, 4}, LstmShape{2, 3, 0, 4}, LstmShape{2, 3, 4, 0}})
    EXPECT_EQ(dnnl_lstm(s, 2), nullptr);
}

TEST(DnnlLstm, NanStaysInItsSequence) {
  std::mt19937 random(3);
  Case c({4, 3, 8, 16}, random);
  c.x[4 * 8 + 3] = std::nanf("");  // second sequence, first step
  c.forward(true);
  Guarded y(3 * 4 * 16);
  run_kernel(
      *dnnl_lstm(c.s, 2),
      {c.x.begin(), c.w.begin(), c.r.begin(), c.bias.begin(), c.h0.begin(), c.c0.begin(), y.begin(), nullptr, nullptr},
      Who::caller, 3);
  EXPECT_TRUE(near(y, c.y, 1e-5));
}

TEST(DnnlLstm, NoThreadAppears) {
  std::mt19937 random(4);
  int64_t before = os_threads();
  Case c({10, 32, 64, 64}, random);
  Guarded y(10 * 32 * 64);
  run_kernel(
      *dnnl_lstm(c.s, 1),
      {c.x.begin(), c.w.begin(), c.r.begin(), c.bias.begin(), c.h0.begin(), c.c0.begin(), y.begin(), nullptr, nullptr},
      Who::caller, 3);
  EXPECT_EQ(os_threads(), before);
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
