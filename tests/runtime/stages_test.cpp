// Programs in which numbers become sizes: in parts, whose values are those of any run.
#include "runtime/stages.hpp"

#include <gtest/gtest.h>

#include "base/float_mode.hpp"
#include "harness/evaluate.hpp"
#include "ops/flow.hpp"
#include "ops/ops.hpp"

namespace dl4::runtime::DL4_FILE {
namespace {

using namespace ops;
using test::tensor;

class StagesTest : public testing::Test {
 protected:
  Id input(const char *name, const Shape &shape, DType dtype = DType::f32) { return e_.input(name, dtype, shape); }
  Id state(const char *name, const Tensor &value) {
    states_.push_back(value);
    return e_.state(name, value.dtype, value.shape);
  }
  Id number(Id x) { return cast(e_, reduce(e_, Reduce::sum, x, {}), DType::i64); }

  std::vector<Tensor> run(const std::vector<Tensor> &in, int64_t limit = INT64_MAX) {
    Options o;
    o.plan.check = true;
    o.plan.memory_limit = limit;
    o.fill_nan = true;
    o.constant_states = true;
    o.crew = std::make_shared<Crew>(1, kernels::stay_single_threaded);
    const Stages stages(p_, states_, o);
    parts_ = 0;
    stages.each([&](Executable &) { ++parts_; });
    std::vector<View> views;
    for (const Tensor &t : in) views.push_back({t.dtype, t.shape, t.data.get()});
    FlushToZero flush;
    MadeStrings made;
    return stages.run(views, Memory(), nullptr, made);
  }
  std::string refused(Code code, const std::vector<Tensor> &in, int64_t limit = INT64_MAX) {
    try {
      run(in, limit);
    } catch (const Error &error) {
      EXPECT_EQ(error.code, code) << error.message;
      return error.message;
    }
    return "";
  }

  Program p_;
  Emit e_{p_};
  std::vector<Tensor> states_;
  int parts_ = 0;
};

std::vector<double> list(const Tensor &t) { return test::values(t); }
using List = std::vector<double>;

// The first rows of x, as many as the sum of its elements, plus a weight; then as many of those as their mean says,
// from x again. Every later part reads inputs, weights, values of earlier parts and what is between.
TEST_F(StagesTest, EachPartReadsWhatTheOnesBeforeItMade) {
  const Id x = input("x", {free_dim}), unused = state("unused", tensor<float>({1}, {7}));
  const Id w = state("w", tensor<float>({}, {10})), half = state("half", tensor<float>({}, {0.5f}));
  const Id n = number(x), places = range(e_, n), rows = add(e_, gather(e_, x, places), w);
  const Id few = cast(e_, mul(e_, reduce(e_, Reduce::mean, rows, {}), scale(e_, half, 0.4f)), DType::i64);
  const Id last = range(e_, few);
  const Id both = add(e_, mul(e_, gather(e_, rows, last), half), gather(e_, x, gather(e_, places, last)));
  for (Id v : {rows, n, both, w, last, unused, x}) e_.output(v);
  const auto out = run({tensor<float>({4}, {1, 2, 1, -1})});
  EXPECT_EQ(parts_, 3);
  EXPECT_EQ(list(out[0]), (List{11, 12, 11}));
  EXPECT_EQ(list(out[1]), (List{3}));
  EXPECT_EQ(list(out[2]), (List{5.5 + 1, 6 + 2}));
  EXPECT_EQ(list(out[3]), (List{10}));
  EXPECT_EQ(list(out[4]), (List{0, 1}));
  EXPECT_EQ(list(out[5]), (List{7}));
  EXPECT_EQ(list(out[6]), (List{1, 2, 1, -1}));
  EXPECT_EQ(run({tensor<float>({2}, {1, -1})})[0].shape, Shape{0});
}

TEST_F(StagesTest, OutputsShareNoMemory) {
  const Id places = range(e_, input("n", {}, DType::i64));
  for (Id v : {places, places}) e_.output(v);
  const auto out = run({tensor<int64_t>({}, {2})});
  EXPECT_EQ(list(out[0]), (List{0, 1}));
  EXPECT_EQ(list(out[1]), (List{0, 1}));
  EXPECT_NE(out[0].data, out[1].data);
}

// flag ? x twice, plus two weights : its first row times a constant. Another branch follows, on what the first one
// gave.
TEST_F(StagesTest, ABranchRunsTheBodyThatTheFlagSays) {
  const Id flag = input("flag", {}, DType::boolean), x = input("x", {free_dim});
  const Id a = state("a", tensor<float>({}, {10})), b = state("b", tensor<float>({}, {100}));
  const Id three = e_.constant(tensor<float>({}, {3}));
  const auto branches = [&](Id of) {
    BodyWriter then(e_), otherwise(e_);
    const Id in = then.constant(of), sum = add(then.body, then.constant(a), then.constant(b));
    const Id twice = add(then.body, concat(then.body, {in, in}, 0), sum);
    const Id row = slice(otherwise.body, otherwise.constant(of), 0, 0, 1);
    const Id scaled = mul(otherwise.body, row, otherwise.constant(three));
    return branch(e_, flag, then, {twice}, otherwise, {scaled}, true)[0];
  };
  const Id first = branches(add(e_, x, x));
  e_.output(branches(add(e_, first, x)));
  e_.output(first);
  const auto yes = run({tensor<bool>({}, {true}), tensor<float>({1}, {1})});
  EXPECT_EQ(list(yes[1]), (List{112, 112}));
  EXPECT_EQ(list(yes[0]), (List{223, 223, 223, 223}));
  const auto no = run({tensor<bool>({}, {false}), tensor<float>({2}, {1, 2})});
  EXPECT_EQ(list(no[1]), (List{6}));
  EXPECT_EQ(list(no[0]), (List{21}));
  EXPECT_EQ(parts_, 3 + 4) << "of the Program and of both branches";
}

TEST_F(StagesTest, NumbersThatAreNoSizesAreRefusedAndMemoryIsCounted) {
  e_.scope = "below";
  const Id n = input("n", {}, DType::i64), places = range(e_, n);
  e_.output(cast(e_, places, DType::f32));
  input("unread", {3});
  const Tensor three = tensor<float>({3}, {1, 2, 3});
  for (int64_t many : {int64_t{-1}, INT64_MAX})
    EXPECT_EQ(refused(Code::invalid_argument, {tensor<int64_t>({}, {many}), three}),
              text("layer \"below\": expected a number of places from 0 to 2147483647, got ", many));
  EXPECT_EQ(run({tensor<int64_t>({}, {1000}), three}, 12000)[0].shape, Shape{1000});
  EXPECT_NE(refused(Code::out_of_memory, {tensor<int64_t>({}, {1000}), three}, 11999), "") << "of both together";
  EXPECT_NE(refused(Code::out_of_memory, {tensor<int64_t>({}, {int64_t{1} << 30}), three}, 1 << 20), "");
  EXPECT_EQ(refused(Code::shape_mismatch, {tensor<int64_t>({}, {1}), tensor<float>({1}, {1})}),
            "input \"unread\": expected shape (3,), got (1,)");
  EXPECT_EQ(refused(Code::invalid_argument, {three}), "expected 2 inputs, got 1");
}

}  // namespace
}  // namespace dl4::runtime::DL4_FILE
