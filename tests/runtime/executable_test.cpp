// A Program with state, run: where the state lies, what writes to it, and what a run refuses.
#include "runtime/executable.hpp"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "backend/cpu/kernels/single_threaded.hpp"
#include "ops/ops.hpp"

namespace dl4::runtime::DL4_FILE {
namespace {

Options options() {
  Options o;
  o.plan.check = true;
  o.fill_nan = true;
  o.crew = std::make_shared<Crew>(1, kernels::stay_single_threaded);
  return o;
}

Tensor tensor(std::initializer_list<float> values) {
  Tensor t = make_tensor(DType::f32, {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, t.as<float>());
  return t;
}

View view(Tensor &t) { return {t.dtype, t.shape, t.data.get()}; }

std::vector<float> values(const Tensor &t) { return {t.as<float>(), t.as<float>() + t.elements()}; }

// sum += x; outputs: scale * sum as it was, and as it is then.
ops::Program running_sum() {
  ops::Program p;
  ops::Emit e(p);
  const ops::Id x = e.input("x", DType::f32, {2}), sum = e.state("sum", DType::f32, {2}),
                scale = e.state("scale", DType::f32, {2}), next = ops::add(e, sum, x);
  e.output(ops::mul(e, sum, scale));
  e.output(ops::mul(e, next, scale));
  e.write(sum, next);
  return p;
}

class RunningSum : public testing::Test {
 protected:
  void run(Executable &e) { e.run(std::vector{view(x_)}, std::vector{view(before_), view(after_)}); }

  Tensor x_ = tensor({1, 10}), before_ = tensor({0, 0}), after_ = tensor({0, 0});
  Tensor sum_ = tensor({3, 4}), scale_ = tensor({2, 2});
};

TEST_F(RunningSum, ARunReadsItsStateAsItWasAndWritesIt) {
  Executable e(running_sum(), {sum_, scale_}, nullptr, options());
  run(e);
  EXPECT_EQ(values(before_), (std::vector<float>{6, 8}));
  EXPECT_EQ(values(after_), (std::vector<float>{8, 28}));
  run(e);
  EXPECT_EQ(values(before_), (std::vector<float>{8, 28}));
  EXPECT_EQ(values(sum_), (std::vector<float>{5, 24}));
  EXPECT_EQ(values(scale_), (std::vector<float>{2, 2}));
}

TEST_F(RunningSum, IsCancelledBeforeItWritesOrNotAtAll) {
  const std::atomic<int32_t> cancel{1};
  const auto cancelled = [](const auto &run) {
    try {
      run();
      return false;
    } catch (const Error &error) {
      EXPECT_EQ(error.code, Code::cancelled) << error.message;
      return true;
    }
  };
  Options how = options();
  how.ends_writes = true;
  Executable e(running_sum(), {sum_, scale_}, nullptr, how);
  run(e);  // makes the plan
  EXPECT_TRUE(cancelled([&] { e.run(std::vector{view(x_)}, std::vector{view(before_), view(after_)}, &cancel); }));
  EXPECT_EQ(values(sum_), (std::vector<float>{4, 14}));

  ops::Program alone;  // its first step is the one that writes
  ops::Emit emit(alone);
  const ops::Id x = emit.input("x", DType::f32, {2}), sum = emit.state("sum", DType::f32, {2});
  emit.write(sum, ops::add(emit, sum, x));
  for (bool ends : {true, false}) {
    how.ends_writes = ends;
    Executable adds(alone, {sum_}, nullptr, how);
    adds.run(std::vector{view(x_)}, {});
    const float before = values(sum_)[0];
    EXPECT_EQ(cancelled([&] { adds.run(std::vector{view(x_)}, {}, &cancel); }), !ends);
    EXPECT_EQ(values(sum_)[0], before + 1);
  }
}

TEST_F(RunningSum, StateIsBoundByNameAndMayLieElsewhereBetweenRuns) {
  std::map<std::string, Tensor> state{{"sum", sum_}, {"scale", scale_}};
  const auto named = [&](const std::string &name) -> const Tensor & { return state.at(name); };
  Executable e(running_sum(), {}, nullptr, options());
  e.bind(named);
  run(e);
  state["sum"] = tensor({100, 200});
  e.bind(named);
  run(e);
  EXPECT_EQ(values(before_), (std::vector<float>{200, 400}));
  EXPECT_EQ(values(state["sum"]), (std::vector<float>{101, 210}));
  EXPECT_EQ(values(sum_), (std::vector<float>{4, 14}));
  e.set_state(0, sum_);
  run(e);
  EXPECT_EQ(values(sum_), (std::vector<float>{5, 24}));
}

TEST_F(RunningSum, WhatIsRefusedLeavesTheStateAsItWas) {
  Executable e(running_sum(), {sum_, scale_}, nullptr, options());
  const auto refused = [&](std::vector<View> in, std::vector<View> out) {
    try {
      e.run(in, out);
    } catch (const Error &error) {
      return error.message;
    }
    return std::string();
  };
  Tensor three = tensor({1, 2, 3});
  EXPECT_EQ(refused({}, {view(before_), view(after_)}), "expected 1 inputs, got 0");
  EXPECT_EQ(refused({view(x_)}, {view(before_)}), "expected 2 outputs, got 1");
  EXPECT_EQ(refused({view(x_)}, {view(before_), view(three)}), "output 1: expected float32 (2,), got float32 (3,)");
  EXPECT_EQ(refused({view(x_)}, {view(before_), view(x_)}), "output 1 overlaps input 0 (\"x\") in memory");
  EXPECT_EQ(values(sum_), (std::vector<float>{3, 4}));
}

TEST(Executables, ConstantStateIsReadByManyThreadsAtOnceAndTrimmedTogether) {
  ops::Program p;
  ops::Emit e(p);
  e.output(ops::add(e, e.input("x", DType::f32, {free_dim}), e.state("one", DType::f32, {})));
  Options o = options();
  o.constant_states = true;
  o.executables = std::make_shared<Executables>();
  Tensor one = make_tensor(DType::f32, {});
  *one.as<float>() = 1;
  const auto executable = Executable::make(p, {one}, std::make_shared<plan::Packs>(), o);
  std::vector<std::thread> threads;
  for (int64_t n = 1; n <= 4; ++n)
    threads.emplace_back([&executable, n] {
      Tensor x = make_zeros(DType::f32, {n}), y = make_zeros(DType::f32, {n});
      for (int i = 0; i < 200; ++i) executable->run(std::vector{view(x)}, std::vector{view(y)});
      EXPECT_EQ(values(y), std::vector<float>(static_cast<size_t>(n), 1));
    });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(executable->plans().size(), 4u);
  o.executables->trim();
  EXPECT_EQ(executable->plans().size(), 0u);
}

}  // namespace
}  // namespace dl4::runtime::DL4_FILE
