// scan: sequences, states, what stands still, gradients, what moves out of the body.
#include "ops/scan.hpp"

#include <cmath>

#include "harness/gradient_check.hpp"
#include "plan/plan.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

// h' = tanh(x w + h r + b), or h where the mask is false. Inputs: x (T, B, I), w, r, b, h (B, U), mask (T, B).
struct Options {
  bool mask = false, reversed = false;
};

std::vector<Id> simple(Emit &e, const std::vector<Id> &in, Options o) {
  Scan s(e);
  Id x = s.each(in[0], o.reversed), h = s.state(in[4]);
  Id z = add(s.body, matmul(s.body, x, s.constant(in[1])), matmul(s.body, h, s.constant(in[2]), {}, s.constant(in[3])));
  Id next = unary(s.body, Unary::tanh, z);
  if (o.mask) next = select(s.body, expand_dims(s.body, s.each(in[5], o.reversed), 1), next, h);
  s.become(h, next);
  auto v = s.emit();
  return {v.states[0], v.last[0]};
}

std::vector<Array> naive(const std::vector<Array> &in, Options o) {
  const Array &x = in[0], &w = in[1], &r = in[2], &b = in[3];
  const int64_t time = x.shape[0], batch = x.shape[1], inputs = x.shape[2], units = r.shape[0];
  Array y = zeros({time, batch, units}), h = in[4];
  for (int64_t s = 0; s < time; ++s) {
    const int64_t t = o.reversed ? time - 1 - s : s;
    Array next = h;
    for (int64_t n = 0; n < batch; ++n) {
      if (o.mask && in[5][t * batch + n] == 0) continue;
      for (int64_t u = 0; u < units; ++u) {
        double z = b[u];
        for (int64_t i = 0; i < inputs; ++i) z += x[(t * batch + n) * inputs + i] * w[i * units + u];
        for (int64_t i = 0; i < units; ++i) z += h[n * units + i] * r[i * units + u];
        next[n * units + u] = std::tanh(z);
      }
    }
    h = next;
    for (int64_t i = 0; i < batch * units; ++i) y[s * batch * units + i] = h[i];
  }
  return {y, h};
}

Case simple_case(int64_t time, int64_t batch, int64_t inputs, int64_t units, Options o,
                 const std::vector<size_t> &which = {0, 1}) {
  Case c;
  c.inputs = randoms({{time, batch, inputs}, {inputs, units}, {units, units}, {units}, {batch, units}});
  if (o.mask) c.inputs.push_back(random({time, batch}, 7, 0, 1, DType::boolean));
  auto some = [which](const auto &all) {
    std::decay_t<decltype(all)> list;
    for (size_t i : which) list.push_back(all[i]);
    return list;
  };
  c.build = [=](Emit &e, const std::vector<Id> &in) { return some(simple(e, in, o)); };
  c.reference = [=](const std::vector<Array> &in) { return some(naive(in, o)); };
  c.constants = {1, 2, 3};
  c.free_axes = {};
  return c;
}

TEST(Scan, EveryOption) {
  for (bool mask : {false, true})
    for (bool reversed : {false, true}) check(simple_case(4, 3, 5, 3, {mask, reversed}));
}

TEST(Scan, SomeOutputs) {
  for (bool mask : {false, true})
    for (size_t which : {size_t{0}, size_t{1}}) check(simple_case(3, 2, 2, 3, {mask, true}, {which}));
}

TEST(Scan, Sizes) {
  for (int64_t time : {0, 1, 2, 5}) check(simple_case(time, 2, 3, 2, {true, false}));
  check(simple_case(3, 0, 2, 2, {true, false}));
  check(simple_case(3, 1, 2, 17, {false, true}));
  Case c = simple_case(5, 9, 20, 33, {true, false});
  c.gradient = false;
  check(c);
}

// Threads take rows of a free batch: of states in cache lines of their own, and in shared ones.
TEST(Scan, RowsByThreads) {
  for (auto [batch, units] : {std::pair<int64_t, int64_t>{7, 16}, {8, 3}, {2, 64}, {1, 4}})
    for (const std::vector<size_t> &which : {std::vector<size_t>{0, 1}, {1}})
      for (bool mask : {false, true}) {
        const Options o{mask, mask};
        const Case c = simple_case(5, batch, 3, units, o, which);
        Program p;
        Emit e(p);
        std::vector<Id> in;
        for (size_t i = 0; i < c.inputs.size(); ++i) {
          const Shape s = c.inputs[i].shape;
          const bool stacked = i == 0 || i == 5;
          in.push_back(
              e.input(text("x", i), c.inputs[i].dtype, stacked || i == 4 ? s.with(stacked ? 1 : 0, free_dim) : s));
        }
        for (Id v : c.build(e, in)) e.output(v);
        const std::vector<Array> expected = c.reference(arrays(c.inputs));
        for (int threads : {1, 2, 3, 7})
          for (bool reversed : {false, true}) {
            const std::vector<Tensor> got =
                evaluate(p, c.inputs, {}, {.threads = threads, .reversed = reversed}).outputs;
            for (size_t i = 0; i < got.size(); ++i)
              expect_close(got[i], to_tensor(DType::f32, expected[i]), 1e-5, text(batch, 'x', units, ' ', threads));
          }
      }
}

// The time is free, or the batch.
TEST(Scan, FreeSizes) {
  for (int axis : {0, 1}) {
    Case c = simple_case(4, 3, 2, 3, {axis == 0, false});
    c.inputs[4] = random({3, 3}, 5, -1, 1);
    c.build = [axis](Emit &e, const std::vector<Id> &in) {
      std::vector<Id> x = in;
      // The states have a batch of their own, which stays known.
      return simple(e, x, {axis == 0, false});
    };
    c.free_axes = {};
    Program p;
    Emit e(p);
    std::vector<Id> in;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      Shape s = c.inputs[i].shape;
      if (i == 0 || i == 5) s = s.with(axis, free_dim);
      if (i == 4 && axis == 1) s = s.with(0, free_dim);
      in.push_back(e.input(text("x", i), c.inputs[i].dtype, s));
    }
    for (Id v : c.build(e, in)) e.output(v);
    ops::verify(p);
    auto got = evaluate(p, c.inputs).outputs;
    auto expected = c.reference(arrays(c.inputs));
    for (size_t i = 0; i < 2; ++i) expect_close(got[i], to_tensor(DType::f32, expected[i]), 1e-5, "free");
  }
}

// Two states that feed each other, an output that is none, one that is stacked the other way round, a sequence that is
// read twice, and a constant by which the gradient is no product.
TEST(Scan, ManyStrands) {
  auto build = [](Emit &e, const std::vector<Id> &in) {
    Scan s(e);
    Id x = s.each(in[0]), back = s.each(in[0], true), a = s.state(in[1]), b = s.state(in[2]), k = s.constant(in[3]);
    Id sum = add(s.body, mul(s.body, a, k), x);
    s.become(a, unary(s.body, Unary::sigmoid, add(s.body, sum, b)));
    s.become(b, mul(s.body, a, back));
    size_t one = s.output(mul(s.body, sum, sum)), two = s.output(add(s.body, a, x), true);
    auto v = s.emit();
    return std::vector<Id>{v.states[0], v.states[1], v.last[0], v.last[1], v.outputs[one], v.outputs[two]};
  };
  auto reference = [](const std::vector<Array> &in) {
    const int64_t time = in[0].shape[0], n = in[0].shape[1];
    Array a = in[1], b = in[2], as = zeros({time, n}), bs = as, one = as, two = as;
    for (int64_t t = 0; t < time; ++t)
      for (int64_t i = 0; i < n; ++i) {
        const double x = in[0][t * n + i], back = in[0][(time - 1 - t) * n + i], was = a[i];
        const double sum = was * in[3][i] + x;
        one[t * n + i] = sum * sum;
        two[(time - 1 - t) * n + i] = was + x;
        as[t * n + i] = a[i] = 1 / (1 + std::exp(-sum - b[i]));
        bs[t * n + i] = b[i] = was * back;
      }
    return std::vector<Array>{as, bs, a, b, one, two};
  };
  for (int64_t n : {3, 200}) {
    Case c{build, randoms({{4, n}, {n}, {n}, {n}})};
    c.reference = reference;
    c.free_axes = {};
    c.gradient = n < 10;
    check(c);
  }
}

// A scan within a scan: the inner one runs over what stands still.
TEST(Scan, Nested) {
  auto build = [](Emit &e, const std::vector<Id> &in) {
    Scan outer(e);
    Id x = outer.each(in[0]), h = outer.state(in[1]), list = outer.constant(in[2]);
    Scan inner(outer.body);
    Id item = inner.each(list), at = inner.state(h);
    inner.become(at, unary(inner.body, Unary::tanh, add(inner.body, mul(inner.body, at, item), inner.constant(x))));
    outer.become(h, inner.emit().last[0]);
    return std::vector<Id>{outer.emit().states[0]};
  };
  Case c{build, randoms({{3, 4}, {4}, {2, 4}})};
  c.free_axes = {};
  c.reference = [](const std::vector<Array> &in) {
    Array h = in[1], y = zeros({3, 4});
    for (int64_t t = 0; t < 3; ++t)
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t k = 0; k < 2; ++k) h[i] = std::tanh(h[i] * in[2][k * 4 + i] + in[0][t * 4 + i]);
        y[t * 4 + i] = h[i];
      }
    return std::vector<Array>{y};
  };
  check(c);
}

const Step &the_scan(const Program &p) {
  for (const Step &s : p.steps)
    if (as<ScanOp>(s)) return s;
  throw std::logic_error("no scan");
}

TEST(Scan, WhatNeedsNoStateMovesOut) {
  Program p = program_of(simple_case(4, 3, 5, 3, {}).build, simple_case(4, 3, 5, 3, {}).inputs);
  int products = 0;
  for (const Step &s : p.steps) products += s.op->name() == "matmul";
  EXPECT_EQ(products, 1) << to_string(p);
  const Program &body = *as<ScanOp>(the_scan(p))->body;
  EXPECT_EQ(body.steps.size(), 3u) << to_string(p);  // h r + b, the sum, tanh
  EXPECT_NE(to_string(p).find("      %"), std::string::npos) << "the body is listed: " << to_string(p);
}

TEST(Scan, EqualBodiesAreEqual) {
  auto scan_of = [](float by) {
    Program p;
    Emit e(p);
    Scan s(e);
    Id x = s.each(e.input("x", DType::f32, {3, 2})), h = s.state(e.input("h", DType::f32, {2}));
    s.become(h, add(s.body, scale(s.body, h, by), x));
    s.emit();
    return the_scan(p).op;
  };
  EXPECT_TRUE(equal(*scan_of(2), *scan_of(2)));
  EXPECT_EQ(hash(*scan_of(2)), hash(*scan_of(2)));
  EXPECT_FALSE(equal(*scan_of(2), *scan_of(3)));
}

// Under a plan: passes in the body, weights packed once, the listing.
TEST(Scan, Planned) {
  Case c = simple_case(4, 3, 5, 8, {});
  Program p;
  Emit e(p);
  std::vector<Id> in;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    bool weight = i >= 1 && i <= 3;
    in.push_back(weight ? e.state(text("w", i), DType::f32, c.inputs[i].shape)
                        : e.input(text("x", i), DType::f32, c.inputs[i].shape));
  }
  for (Id v : c.build(e, in)) e.output(v);
  plan::Packs packs;
  const Tensor *states[] = {&c.inputs[1], &c.inputs[2], &c.inputs[3]};
  plan::Options options;
  options.check = true;
  const std::vector<Shape> shapes{c.inputs[0].shape, c.inputs[4].shape};
  auto plan = plan::specialise(p, shapes, states, options, &packs);
  const std::string list = plan->to_string();
  EXPECT_NE(list.find("by scan"), std::string::npos) << list;
  EXPECT_NE(list.find("      %"), std::string::npos) << list;
  EXPECT_NE(list.find("matmul{bias"), std::string::npos) << list;
}

TEST(Scan, Refusals) {
  auto build = [](Emit &e, const auto &v) {
    Scan s(e);
    Id x = s.each(v[0]), y = s.each(v[1]), h = s.state(v[2]);
    s.become(h, add(s.body, add(s.body, h, x), y));
    return s.emit().last[0];
  };
  check_refused(build, std::vector<Shape>{{4, 3}, {5, 3}, {3}}, Code::shape_mismatch,
                "expected sequences of one length, got 4 and 5");
  check_refused(build, std::vector<Shape>{{4, 3}, {4, 3}, {1}}, Code::shape_mismatch,
                "state 0 is float32 (1,) at first and becomes float32 (3,)");
  check_refused(build, std::vector<Shape>{{}, {4, 3}, {3}}, Code::shape_mismatch,
                "expected a sequence (T, ...), got a");
  auto without = [](Emit &e, const auto &v) {
    Scan s(e);
    Id h = s.state(v[0]);
    s.become(h, h);
    return s.emit().last[0];
  };
  check_refused(without, std::vector<Shape>{{3}}, Code::invalid_argument, "scan: expected a sequence");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
