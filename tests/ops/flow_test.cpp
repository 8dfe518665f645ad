// branch, while and ensure_size.
#include "ops/flow.hpp"

#include "harness/gradient_check.hpp"
#include "plan/plan.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

// flag ? 2 * x * w : x - 1
Id choice(Emit &e, const std::vector<Id> &in) {
  BodyWriter then(e), otherwise(e);
  const Id twice = mul(then.body, then.constant(in[1]), then.body.scalar(2));
  const Id a = matmul(then.body, twice, then.constant(in[2]));
  const Id b = sub(otherwise.body, otherwise.constant(in[1]), otherwise.body.scalar(1));
  return branch(e, in[0], then, {a}, otherwise, {b})[0];
}

TEST(Branch, RunsTheBodyThatTheFlagSays) {
  const Tensor x = random({5, 3}, 1), w = random({3, 3}, 2);
  for (bool flag : {true, false}) {
    const auto expected = naive({5, 3}, [&](const std::vector<int64_t> &i) {
      if (!flag) return at(x, i) - 1;
      double sum = 0;
      for (int64_t k = 0; k < 3; ++k) sum += 2 * at(x, {i[0], k}) * at(w, {k, i[1]});
      return sum;
    });
    check(choice, {tensor<bool>({}, {flag}), x, w}, expected, 1e-5, 1e-6);
  }
}

// Slices of one body are more than those of the other.
TEST(Branch, BodiesMayBeLarge) {
  const Tensor x = random({64, 300}, 1), w = random({300, 300}, 2);
  for (bool flag : {true, false}) run_all_ways(one(choice), {tensor<bool>({}, {flag}), x, w}, 1e-4);
}

// The second reshapes to (2, 2), which fits an x of four elements.
TEST(Branch, ABodyThatDoesNotFitIsRefusedWhereItRuns) {
  Program p;
  Emit e(p);
  const Id flag = e.input("flag", DType::boolean, {}), x = e.input("x", DType::f32, {free_dim});
  BodyWriter then(e), otherwise(e);
  const Id here = then.constant(x), a = mul(then.body, here, here);
  const Id square_of_four = reshape(otherwise.body, otherwise.constant(x), 0, {2, 2});
  const Id b = reshape(otherwise.body, square_of_four, 0, {4});
  e.output(branch(e, flag, then, {a}, otherwise, {b})[0]);
  verify(p);
  const Tensor three = tensor<float>({3}, {1, 2, 3}), four = tensor<float>({4}, {1, 2, 3, 4});
  const auto run = [&](bool yes, const Tensor &t) { return evaluate(p, {tensor<bool>({}, {yes}), t}); };
  EXPECT_EQ(values(run(true, three).outputs[0]), (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(values(run(false, four).outputs[0]), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(run(false, three).fault, kernels::Fault::refused);
}

TEST(Branch, RefusesBodiesThatGiveOtherShapes) {
  check_refused(
      [](Emit &e, const std::vector<Id> &in) {
        BodyWriter then(e), otherwise(e);
        const Id a = then.constant(in[1]), b = expand_dims(otherwise.body, otherwise.constant(in[1]), 0);
        return branch(e, in[0], then, {a}, otherwise, {b})[0];
      },
      {{DType::boolean, {}}, {DType::f32, {3}}}, Code::shape_mismatch, "the same of both branches");
  check_refused(choice, {{DType::f32, {}}, {DType::f32, {2, 2}}, {DType::f32, {2, 2}}}, Code::shape_mismatch,
                "its flag");
}

// x = x * 2 + step, `steps` times, while every x is below `end`.
std::vector<Id> doubling(Emit &e, const std::vector<Id> &in, bool counted, bool ends) {
  While r(e);
  Emit &b = r.body();
  const Id x = r.state(in[1]);
  const Id next = add(b, mul(b, x, b.scalar(2)), cast(b, r.step(), DType::f32));
  const Id below = binary(b, Binary::less, reduce(b, Reduce::max, next, {0}), r.constant(in[2]));
  return r.emit({next}, counted ? in[0] : none, none, ends ? below : none);
}

TEST(While, RunsAsOftenAsANumberOrAFlagSays) {
  const auto expected = [](int64_t steps, double end) {
    std::vector<double> x{1, 3};
    for (int64_t t = 0; t < steps; ++t) {
      for (double &v : x) v = v * 2 + static_cast<double>(t);
      if (x[1] >= end) break;
    }
    return tensor<float>({2}, {static_cast<float>(x[0]), static_cast<float>(x[1])});
  };
  for (int64_t steps : {0, 1, 2, 7})
    for (float end : {0.f, 10.f, 50.f, 1e9f}) {
      const std::vector<Tensor> in{tensor<int64_t>({}, {steps}), tensor<float>({2}, {1, 3}), tensor<float>({}, {end})};
      check([](Emit &e, const auto &i) { return doubling(e, i, true, true); }, in, {expected(steps, end)});
      check([](Emit &e, const auto &i) { return doubling(e, i, true, false); }, in, {expected(steps, 1e30)});
      check([](Emit &e, const auto &i) { return doubling(e, i, false, true); }, in, {expected(1000, end)});
    }
}

TEST(While, EndsAfterAsManyStepsAsARunMayTake) {
  const auto endless = [](Emit &e, const std::vector<Id> &in) {
    While r(e);
    const Id x = r.state(in[0]);
    return r.emit({x}, none, none, r.body().scalar(1, DType::boolean));
  };
  const std::vector<Tensor> in{tensor<float>({1}, {1})};
  const auto result = evaluate(program_of(endless, in), in, {}, {.most_steps = 1000});
  EXPECT_EQ(result.fault, kernels::Fault::too_many_steps);
  EXPECT_EQ(result.value, 1000);
}

TEST(While, EndsWhenItsRunIsCancelled) {
  const auto endless = [](Emit &e, const std::vector<Id> &in) {
    While r(e);
    const Id x = r.state(in[0]);
    return r.emit({x}, none, none, r.body().scalar(1, DType::boolean));
  };
  const std::vector<Tensor> in{tensor<float>({1}, {1})};
  const std::atomic<int32_t> cancel{1};
  EXPECT_EQ(evaluate(program_of(endless, in), in, {}, {.cancel = &cancel}).fault, kernels::Fault::none);
}

TEST(While, RefusesAStateThatGrows) {
  check_refused(
      [](Emit &e, const std::vector<Id> &in) {
        While r(e);
        const Id x = r.state(in[0]);
        return r.emit({concat(r.body(), {x, x}, 0)}, e.scalar(3, DType::i64), none, none)[0];
      },
      {Shape{2}}, Code::shape_mismatch, "state 0 is float32 (2,) at first and becomes float32 (4,)");
}

TEST(EnsureSize, RefusesAnotherOne) {
  Program p;
  Emit e(p);
  const Id x = e.input("x", DType::f32, {2}), of = e.input("of", DType::f32, {free_dim, 3});
  e.output(ensure_size(e, x, of, 0, 1));
  verify(p);
  EXPECT_EQ(plan::resolve(p, std::vector<Shape>{{2}, {1, 3}})[p.outputs[0]].shape, Shape({2}));
  EXPECT_THROW(plan::resolve(p, std::vector<Shape>{{2}, {2, 3}}), Error);
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
