// Programs that take a few steps at a time: what they keep, when their outputs begin, and the numbers, tick by tick,
// without a runtime.
#include "plan/ticks/tick.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.hpp"
#include "harness/evaluate.hpp"

namespace dl4::plan::DL4_FILE {
namespace {

using namespace ops;
using test::random;

// Of x (B, T, 3), which has features of its own.
using Build = std::function<std::vector<Id>(Emit &, Id)>;
Program program(const Build &build, const Shape &shape = {free_dim, free_dim, 3}) {
  Program p;
  Emit e(p);
  for (Id y : build(e, e.input("x", DType::f32, shape))) e.output(y);
  return p;
}
Build one(std::function<Id(Emit &, Id)> f) {
  return [f](Emit &e, Id x) { return std::vector{f(e, x)}; };
}
Id window(Emit &e, Id x, int64_t size, int64_t stride = 1) {
  return pool(e, x, {.average = true, .size = {size}, .strides = {stride}});
}

Tick tick_of(const Build &build, const Shape &shape = {free_dim, free_dim, 3}) {
  return plan::tick_of(program(build, shape), 0, {}, [](const std::string &scope) { return "layer " + scope; });
}

std::string refused(const Build &build, const Shape &shape = {free_dim, free_dim, 3}) {
  try {
    tick_of(build, shape);
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::unsupported);
    return error.message;
  }
  return "";
}

// The steps [from, to) of x.
Tensor part(const Tensor &x, int64_t from, int64_t to) {
  Program p;
  Emit e(p);
  e.output(slice(e, e.input("x", x.dtype, x.shape), 1, from, to - from));
  return test::evaluate(p, {x}).outputs[0];
}

// Each tick's outputs, for so many ticks of noise, compared with those of the whole Program.
void expect_ticks(const Build &build, int64_t ticks) {
  const Program whole = program(build);
  const Tick tick = tick_of(build);
  const Program &p = tick.program;
  const Tensor x = random({1, ticks * tick.steps, 3}, 1);
  const auto all = test::evaluate(whole, {x}).outputs;
  std::vector<Tensor> states;
  const auto first = [&](size_t i) {
    const Value &v = p[p.inputs[p.inputs.size() - tick.states.size() + i]];
    Tensor t = make_zeros(v.dtype, v.shape.rank() && v.shape[0] == free_dim ? v.shape.with(0, 1) : v.shape);
    for (int64_t j = 0; tick.states[i].initial.data && j < t.elements(); ++j)
      std::memcpy(t.data.get() + j * size_of(t.dtype), tick.states[i].initial.data.get(), size_of(t.dtype));
    return t;
  };
  for (size_t i = 0; i < tick.states.size(); ++i) states.push_back(first(i));
  for (int64_t k = 0; k < ticks; ++k) {
    for (size_t i = 0; i < states.size(); ++i)
      if (k <= tick.states[i].begin) states[i] = first(i);
    std::vector<Tensor> in{part(x, k * tick.steps, (k + 1) * tick.steps), test::tensor<int64_t>({}, {k})};
    in.insert(in.end(), states.begin(), states.end());
    const test::Result made = test::evaluate(p, in);
    EXPECT_EQ(made.fault, kernels::Fault::none);
    const std::vector<Tensor> &out = made.outputs;
    for (size_t j = 0; j < all.size(); ++j) {
      const Tick::Output &o = tick.outputs[j];
      const int64_t from = k * o.steps - o.late;
      if (o.is_sequence ? from < 0 : k < o.late) continue;
      const Tensor expected = o.is_sequence ? part(all[j], from, from + o.steps)
                                            : test::evaluate(whole, {part(x, 0, (k + 1) * tick.steps)}).outputs[j];
      test::expect_close(out[j], expected, 1e-5, text("output ", j, " of tick ", k));
    }
    states.assign(out.end() - std::ssize(states), out.end());
  }
}

std::string states(const Tick &t) {
  std::string s;
  for (size_t i = 0; i < t.states.size(); ++i) {
    const Value &v = t.program[t.program.inputs[t.program.inputs.size() - t.states.size() + i]];
    s += text(s.empty() ? "" : ", ", v.name, ' ', v.shape, t.states[i].is_ring ? text(" ring ", t.states[i].axis) : "");
  }
  return s;
}

TEST(Ticks, StepsThatNeedNoOthersKeepNothing) {
  const Build tanh = one([](Emit &e, Id x) { return unary(e, Unary::tanh, x); });
  const Tick t = tick_of(tanh);
  EXPECT_EQ(t.sequences, std::vector{true});
  EXPECT_TRUE(t.states.empty());
  EXPECT_FALSE(t.counts);
  EXPECT_FALSE(t.together.empty());
  EXPECT_EQ(states(tick_of(one([](Emit &e, Id x) { return window(e, x, 2, 4); }))), "") << "within a tick";
  expect_ticks(tanh, 3);
}

TEST(Ticks, WindowsKeepTheStepsThatTheyReadAgain) {
  const Build two = one([](Emit &e, Id x) {
    e.scope = "a";
    const Id y = window(e, x, 3);
    e.scope = "a";
    return window(e, y, 2);
  });
  const Tick t = tick_of(two);
  EXPECT_EQ(states(t), "a/ring (?, 4, 3) ring 1, a/ring_1 (?, 2, 3) ring 1");
  EXPECT_EQ(t.outputs[0].late, 3);
  EXPECT_TRUE(t.counts) << "its first steps are no output";
  EXPECT_FALSE(t.counts_on);
  expect_ticks(two, 6);
  // Taps that are far apart, of few channels: channels first, so that a tap's steps are one piece of memory.
  const Tick far = tick_of(one([](Emit &e, Id x) {
    return conv(e, x, e.state("w", DType::f32, {3, 3, 2}), none, {{1}, {5}, Padding::causal});
  }));
  EXPECT_EQ(far.states[0].axis, 2);
  EXPECT_EQ(far.states[0].begin, 0) << "of zeros from its start";
}

TEST(Ticks, StridesTakeSeveralStepsAtATime) {
  const Build strided = one([](Emit &e, Id x) { return window(e, x, 3, 2); });
  const Tick t = tick_of(strided);
  EXPECT_EQ(t.steps, 2);
  expect_ticks(strided, 4);
  EXPECT_TRUE(tick_of(one([](Emit &e, Id x) { return window(e, x, 2, 2); })).counts) << "steps that wait";
  EXPECT_EQ(refused(one([](Emit &e, Id x) { return window(e, x, 3, int64_t{1} << 21); })),
            "layer : a stream would take 2097152 steps at a time, at most 1048576");
}

// Zeros at the start are steps: those that begin within a tick delay what follows to its end.
TEST(Ticks, SourcesMeetAtTheLatest) {
  const Build meet = [](Emit &e, Id x) {
    const Id y = window(e, x, 2), later = window(e, pad(e, y, 1, 1, 0), 2);
    const Id aligned = cumulate(e, later, 1, {});
    return std::vector{add(e, y, aligned), window(e, x, 2, 2)};
  };
  const Tick t = tick_of(meet);
  EXPECT_EQ(t.steps, 2);
  EXPECT_EQ(t.outputs[0].late, 2) << "of which one is missing, and one waits for the other source";
  expect_ticks(meet, 5);
  const Build crop = one([](Emit &e, Id x) { return add(e, pad(e, x, 1, -2, -1), window(e, x, 4)); });
  expect_ticks(crop, 6);
  expect_ticks(one([](Emit &e, Id x) { return unary(e, Unary::exp, pad(e, x, 1, 2, 0)); }), 5);
  expect_ticks(one([](Emit &e, Id x) { return pad(e, x, 1, 2, 0); }), 5);
}

TEST(Ticks, ReductionsRunAndWhatReadsThemToo) {
  for (const Reduce f : {Reduce::sum, Reduce::mean, Reduce::max, Reduce::prod}) {
    const Build running = one([&](Emit &e, Id x) { return unary(e, Unary::tanh, reduce(e, f, window(e, x, 3), {1})); });
    const Tick t = tick_of(running);
    EXPECT_FALSE(t.outputs[0].is_sequence);
    EXPECT_EQ(t.outputs[0].late, 2);
    EXPECT_EQ(t.counts_on, f == Reduce::mean);
    expect_ticks(running, 6);
  }
  EXPECT_TRUE(tick_of(one([](Emit &e, Id x) {
                return reduce(e, Reduce::max, x, {0, 1, 2});
              })).counts_on)
      << "one number of all sequences of a batch";
}

TEST(Ticks, PositionsAreThoseOfTheSequence) {
  const Build positions = one([](Emit &e, Id x) {
    const Id y = window(e, x, 3), table = e.constant(random({9, 3}, 2));
    return add(e, y, expand_dims(e, gather(e, table, indices(e, y, 1)), 0));
  });
  expect_ticks(positions, 9);
}

TEST(Ticks, RecurrencesAndSumsGoOn) {
  const auto lstm = [](Emit &e, Id x) {
    const Id kernel = e.constant(random({3, 8}, 2)), recurrent = e.constant(random({2, 8}, 3));
    return ops::lstm(e, x, kernel, recurrent, none, none, none, none, false);
  };
  expect_ticks([&](Emit &e, Id x) { return std::vector{lstm(e, x).y, lstm(e, x).c}; }, 4);
  // It begins with a tick: its first steps wait for the end of one.
  expect_ticks([&](Emit &e, Id x) { return std::vector{lstm(e, window(e, x, 2)).y, window(e, x, 2, 2)}; }, 4);
  for (const bool exclusive : {false, true})
    expect_ticks(one([&](Emit &e, Id x) { return cumulate(e, window(e, x, 2), 1, {.exclusive = exclusive}); }), 4);
}

TEST(Ticks, StepsBecomeOthersAndTheLatestAreKept) {
  expect_ticks(one([](Emit &e, Id x) { return slice(e, window(e, x, 2), 1, -2, -1); }), 5);
  expect_ticks(one([](Emit &e, Id x) { return reshape(e, window(e, x, 3), 1, {free_dim, 6}); }), 4);
  expect_ticks(one([](Emit &e, Id x) { return reshape(e, window(e, x, 2), 1, {free_dim, 1}); }), 4);
}

TEST(Ticks, WhatMixesStepsIsRefused) {
  const auto of = [](std::function<Id(Emit &, Id)> f) { return refused(one(std::move(f))); };
  EXPECT_EQ(of([](Emit &e, Id x) { return sort(e, x, false).y; }), "layer : its op sort does not stream");
  EXPECT_EQ(of([](Emit &e, Id x) {
              return transpose(e, x, {1, 0, 2});
            }),
            "output 0 does not have its steps in its second axis");
  EXPECT_EQ(of([](Emit &e, Id x) { return add(e, x, reduce(e, Reduce::max, x, {1}, true)); }),
            "layer : it needs the end of the sequence at each step");
  EXPECT_EQ(of([](Emit &e, Id x) { return argmax(e, x, 0); }), "output 0 does not have its steps in its second axis");
  EXPECT_EQ(of([](Emit &e, Id x) {
              return concat(e, {x, x}, 1);
            }),
            "layer : it appends values after the end of a sequence");
  EXPECT_EQ(of([](Emit &e, Id x) { return cumulate(e, x, 1, {.reverse = true}); }),
            "layer : it reads a sequence from its end");
  EXPECT_EQ(of([](Emit &e, Id x) {
              const Id largest = reduce(e, Reduce::max, x, {1, 2}, true), w = e.state("w", DType::f32, {1, 3, 2});
              return conv(e, x, add(e, w, slice(e, largest, 0, 0, 1)), none, {{1}, {1}});
            }),
            "layer : its weights are not the same at all steps");
  for (const auto &mixes : {one([](Emit &e, Id x) { return matmul(e, x, x, {.transpose_a = true}); }),
                            one([](Emit &e, Id x) { return normalize(e, x, 2, 1e-3, true); })})
    EXPECT_EQ(refused(mixes, {free_dim, free_dim, 3}), "layer : its output at one step depends on other steps");
  EXPECT_EQ(of([](Emit &e, Id x) { return add(e, window(e, x, 2, 2), x); }),
            "layer : its inputs have different numbers of steps");
  EXPECT_EQ(of([](Emit &e, Id x) {
              return add(e, x, e.state("w", DType::f32, {5, 3}));
            }),
            "layer : an input of shape (5, 3) cannot be passed to each step");
  EXPECT_EQ(
      of([](Emit &e, Id x) { return reshape(e, range(e, cast(e, reduce(e, Reduce::max, x, {}), DType::i64)), 1, {}); }),
      "layer : its size is computed by the run");
  EXPECT_EQ(
      of([](Emit &e, Id x) {
        const Id late = reshape(e, window(e, x, 2), 0, {-1, 3}), later = window(e, pad(e, window(e, x, 2), 1, 1, 0), 2);
        const Id sums = reshape(e, cumulate(e, later, 1, {}), 0, {-1, 3});
        return add(e, add(e, late, sums), reshape(e, window(e, x, 2, 2), 0, {-1, 3}));
      }),
      "layer : it keeps steps that share an axis with the batch");
  EXPECT_EQ(refused(one([](Emit &e, Id x) { return window(e, x, 2); }), {free_dim, 7, 3}),
            "no input is a sequence, with a free second axis");
  EXPECT_EQ(refused(one([](Emit &e, Id x) {
                      return pool(e, x, {.average = true, .size = {2, 1}, .strides = {1, 1}});
                    }),
                    {free_dim, free_dim, free_dim, 3}),
            "layer : it keeps values of shape (?, 2, ?, 3) from tick to tick, of which only the batch may be free");
}

}  // namespace
}  // namespace dl4::plan::DL4_FILE
