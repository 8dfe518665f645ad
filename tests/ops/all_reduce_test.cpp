// all_reduce: the sum over workers, of values and of gradients; never folded, merged or dropped.
#include "harness/gradient_check.hpp"
#include "plan/passes.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

// Workers with the same numbers, `size` of them.
struct Same final : Collective {
  explicit Same(int size) : size(size) {}
  int32_t sum(const float *from, float *to, int64_t n) noexcept override {
    ++calls;
    for (int64_t i = 0; to && i < n; ++i) to[i] = static_cast<float>(size) * from[i];
    return answer;
  }
  int size, calls = 0;
  int32_t answer = 0;
};

TEST(AllReduce, SumsValuesAndGradients) {
  const auto workers = std::make_shared<Same>(3);
  const Build1 build = [&](Emit &e, const auto &x) { return unary(e, Unary::square, all_reduce(e, workers, x[0])); };
  const Tensor x = random({3, 4}, 1), diff = random({3, 4}, 2);
  check(build, {x}, naive({3, 4}, [&](const auto &i) { return 9 * at(x, i) * at(x, i); }));
  check(gradients(one(build), 1, {0}), {x, diff},
        {naive({3, 4}, [&](const auto &i) { return 3 * at(diff, i) * 2 * 3 * at(x, i); })});
}

TEST(AllReduce, AFailureIsAFaultOfTheRun) {
  const auto workers = std::make_shared<Same>(2);
  workers->answer = 7;
  const Tensor x = random({2}, 1);
  const Result r =
      evaluate(program_of(one([&](Emit &e, const auto &v) { return all_reduce(e, workers, v[0]); }), {x}), {x});
  EXPECT_EQ(r.fault, kernels::Fault::callback);
  EXPECT_EQ(r.value, 7);
}

TEST(AllReduce, EveryWorkerMakesEachOfThem) {
  const auto workers = std::make_shared<Same>(2);
  Program p;
  Emit e(p);
  const Id x = e.input("x", DType::f32, {2}), constant = e.constant(random({3}, 1));
  e.output(all_reduce(e, workers, x));
  e.output(all_reduce(e, workers, x));
  e.output(all_reduce(e, workers, constant));
  const Id unread = all_reduce(e, workers, x);
  e.output(fill(e, DType::f32, 1, unread, 1, {}));
  Program left = p;
  plan::run_passes(p, {}, true);
  std::vector<int64_t> n;
  for (const Step &step : p.steps) n.push_back(all_reduced(p, step));
  EXPECT_EQ(n, (std::vector<int64_t>{2, 2, 3, 2}));
  EXPECT_EQ(workers->calls, 0);
  // But for one of which only the shape is needed, where that is asked for.
  plan::leave_unread_sums(left);
  n.clear();
  for (const Step &step : left.steps) n.push_back(all_reduced(left, step));
  EXPECT_EQ(n, (std::vector<int64_t>{2, 2, 3, -1, -1}));
  EXPECT_EQ(values(evaluate(left, {random({2}, 2)}).outputs[3]), (std::vector<double>{1, 1}));
}

TEST(AllReduce, Refuses) {
  check_refused([](Emit &e, const auto &x) { return all_reduce(e, std::make_shared<Same>(2), x[0]); },
                std::vector<Operand>{{DType::i32, {2}}}, Code::invalid_argument, "all_reduce");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
