// What the passes and the placement do to Programs that are small enough to read.
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "harness/evaluate.hpp"
#include "ops/ops.hpp"
#include "ops/scan.hpp"
#include "plan/passes.hpp"

namespace dl4::plan::DL4_FILE {
namespace {

using namespace ops;
using Region = Place::Region;

std::unique_ptr<const Plan> plan_of(const Program &p, std::vector<Shape> inputs, std::vector<std::string> off = {}) {
  Options options;
  options.passes_off = std::move(off);
  options.check = true;
  Packs packs;
  return specialise(p, inputs, {}, options, &packs);
}

TEST(Passes, DeadStepsGo) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {4});
  unary(e, Unary::exp, x);
  e.output(unary(e, Unary::tanh, x));
  drop_dead(p);
  EXPECT_EQ(p.steps.size(), 1u);
}

TEST(Passes, EqualStepsBecomeOne) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {4});
  Id a = unary(e, Unary::tanh, x), b = unary(e, Unary::tanh, x);
  e.output(add(e, a, b));
  merge_equal(p);
  ASSERT_EQ(p.steps.size(), 2u);
  EXPECT_EQ(p.steps[1].src[0], p.steps[1].src[1]);
}

TEST(Passes, ABroadcastToTheSameShapeGoes) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {free_dim, 4}), y = e.input("y", DType::f32, {free_dim, 4});
  e.output(unary(e, Unary::tanh, sum_like(e, x, y)));
  EXPECT_EQ(plan_of(p, {Shape{3, 4}, Shape{3, 4}})->steps.size(), 1u);
  EXPECT_EQ(plan_of(p, {Shape{3, 4}, Shape{1, 4}})->steps.size(), 2u);
}

TEST(Passes, ATransposeThatMovesNothingIsAReshape) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {free_dim, free_dim, 4});
  e.output(unary(e, Unary::tanh, transpose(e, x, {1, 0, 2})));
  for (auto [b, t, steps] : {std::array<int64_t, 3>{1, 3, 1}, {3, 1, 1}, {1, 1, 1}, {2, 3, 2}})
    EXPECT_EQ(plan_of(p, {Shape{b, t, 4}})->steps.size(), static_cast<size_t>(steps)) << b << ' ' << t;
  EXPECT_EQ(plan_of(p, {Shape{1, 3, 4}}, {"drop_identities"})->steps.size(), 2u);
}

// A running sum of x, and the last one; `flip`: from the end.
TEST(Passes, AScanOfOneStepIsItsBody) {
  for (bool flip : {false, true}) {
    Program p;
    Emit e(p);
    Id x = e.input("x", DType::f32, {free_dim, 2, 3}), first = e.input("first", DType::f32, {2, 3});
    Scan scan(e);
    const Id state = scan.state(first), next = add(scan.body, state, scan.each(x, flip));
    scan.become(state, next);
    scan.output(unary(scan.body, Unary::tanh, state), flip);
    const Scan::Values made = scan.emit();
    for (Id v : {made.states[0], made.last[0], made.outputs[0]}) e.output(v);
    const auto has_scan = [&](int64_t steps, std::vector<std::string> off) {
      const auto plan = plan_of(p, {Shape{steps, 2, 3}, Shape{2, 3}}, std::move(off));
      return std::any_of(plan->program.steps.begin(), plan->program.steps.end(),
                         [](const Step &s) { return as<ScanOp>(s) != nullptr; });
    };
    EXPECT_FALSE(has_scan(1, {}));
    EXPECT_TRUE(has_scan(1, {"unroll_scans"}));
    EXPECT_TRUE(has_scan(2, {}));
    EXPECT_TRUE(has_scan(0, {}));
  }
}

// A recurrence of 64 rows on two threads, whatever it costs; `step`: the next state, of the state, an element and
// weights.
std::string kernel_of_scan(const std::function<Id(Emit &, Id, Id, Id)> &step, int threads = 2, bool strict = false) {
  Program p;
  Emit e(p);
  const Id x = e.input("x", DType::f32, {9, free_dim, 64}), first = e.input("first", DType::f32, {free_dim, 64}),
           w = e.state("w", DType::f32, {64, 64});
  Scan scan(e);
  const Id state = scan.state(first);
  scan.become(state, step(scan.body, state, scan.each(x), scan.constant(w)));
  e.output(scan.emit().last[0]);
  Options options;
  options.cutting.threads = threads, options.cutting.strict = strict, options.cutting.least = 1e-3;
  Packs packs;
  const auto plan = specialise(p, std::vector{Shape{9, 64, 64}, Shape{64, 64}}, {}, options, &packs);
  return plan->steps.back().kernel->name;
}

TEST(Scans, ThreadsTakeRowsOfABodyThatMixesNone) {
  const auto cell = [](Emit &e, Id h, Id x, Id w) { return unary(e, Unary::tanh, add(e, x, matmul(e, h, w))); };
  EXPECT_EQ(kernel_of_scan(cell), "scan, by rows");
  EXPECT_EQ(kernel_of_scan(cell, 1), "scan");
  EXPECT_EQ(kernel_of_scan(cell, 2, true), "scan");  // has the same slices on any number of threads
  const std::vector<std::function<Id(Emit &, Id, Id, Id)>> mixing{
      [](Emit &e, Id h, Id x, Id w) { return add(e, matmul(e, w, h), x); },
      [](Emit &e, Id h, Id x, Id) { return add(e, matmul(e, h, x), x); },
      [](Emit &e, Id h, Id x, Id) {
        return add(e, matmul(e, h, h, MatMul{true, false}), x);
      },
      [](Emit &e, Id h, Id x, Id) {
        return add(e, transpose(e, h, {1, 0}), x);
      },
      [](Emit &e, Id h, Id x, Id w) { return add(e, mul(e, h, w), x); },  // w has a row for each
      [](Emit &e, Id h, Id x, Id) { return sub(e, x, softmax(e, h, 0)); }};
  for (const auto &step : mixing) EXPECT_EQ(kernel_of_scan(step), "scan");
}

TEST(Passes, ConstantsAreFolded) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {4});
  Id two = add(e, e.scalar(1), e.scalar(1));
  e.output(mul(e, x, two));
  fold_constants(p);
  ASSERT_EQ(p.steps.size(), 1u);
  ASSERT_EQ(p[two].role, Role::constant);
  EXPECT_EQ(*p[two].data.as<float>(), 2.0f);
}

TEST(Passes, BiasAndActivationGoIntoTheProduct) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {free_dim, 8}), w = e.state("w", DType::f32, {8, 5}),
     b = e.state("b", DType::f32, {5});
  e.output(unary(e, Unary::tanh, add(e, matmul(e, x, w), b)));
  Shape in{3, 8};
  EXPECT_EQ(plan_of(p, {in})->program.steps.size(), 1u);
  EXPECT_EQ(plan_of(p, {in}, {"fuse_epilogues"})->program.steps.size(), 3u);
}

// Of sizes over one piece in cache, of broadcast and of scalar sources, in slices.
TEST(Passes, AnActivationGoesIntoTheElementwiseOpBeforeIt) {
  struct Sources {
    Shape a, b;
  };
  for (const Sources &s :
       {Sources{{3, 5000}, {3, 5000}}, {{7, 900}, {900}}, {{4, 3, 700}, {4, 1, 700}}, {{9000}, {1}}, {{}, {}}}) {
    const Program plain =
        test::program_of(test::one([](Emit &e, const auto &x) { return unary(e, Unary::gelu, sub(e, x[0], x[1])); }),
                         test::randoms({s.a, s.b}));
    Program fused = plain;
    fuse_epilogues(fused);
    ASSERT_EQ(fused.steps.size(), 1u);
    const std::vector<Tensor> in = test::randoms({s.a, s.b});
    for (const test::How &how : {test::How{}, {.threads = 3}, {.in_place = true}})
      test::expect_same_bits(test::evaluate(fused, in, {}, how).outputs, test::evaluate(plain, in).outputs,
                             text(s.a, s.b, to_string(how)));
  }
}

// Of windows with steps and holes, of a sequence and a volume; not what else is read, nor what is cut off, windows of
// one place, more than the image has, or the batch's axis.
TEST(Passes, ZerosAroundAnImageArePaddingOfTheConvolution) {
  struct Case {
    Shape x, weights;
    Conv how;
    std::vector<std::array<int64_t, 3>> pads;  // axis, before, after
    size_t steps;
  };
  const Conv steps{{2, 2}, {1, 1}}, holes{{1, 2}, {2, 1}};
  const std::vector<std::array<int64_t, 3>> around{{1, 1, 1}, {2, 1, 1}};
  for (const auto &[x, weights, how, pads, left] : std::vector<Case>{
           {{2, 8, 10, 3}, {3, 3, 3, 4}, steps, around, 1},
           {{2, 9, 7, 3}, {3, 2, 3, 4}, holes, {{2, 0, 3}, {1, 2, 1}, {2, 1, 0}}, 1},
           {{1, 14, 14, 8}, {3, 3, 1, 8}, {{2, 2}, {1, 1}, Padding::valid, 8}, around, 1},
           {{2, 12, 3}, {4, 3, 5}, {{3}, {1}}, {{1, 2, 0}}, 1},
           {{1, 5, 6, 7, 2}, {3, 3, 3, 2, 4}, {{1, 1, 2}, {1, 1, 1}}, {{1, 1, 0}, {2, 1, 1}, {3, 0, 2}}, 1},
           {{2, 8, 10, 3}, {3, 3, 3, 4}, {}, {{1, -1, 1}, {2, 1, 1}}, 2},
           {{2, 8, 10, 3}, {1, 3, 3, 4}, steps, around, 2},
           {{1, 2, 10, 3}, {3, 3, 3, 4}, {}, {{2, 1, 1}, {1, 3, 3}}, 3},
           {{2, 8, 10, 3}, {3, 3, 3, 4}, {}, {{0, 1, 1}}, 2},
           {{2, 8, 10, 3}, {3, 3, 3, 4}, {{1, 1}, {1, 1}, Padding::same}, around, 3}}) {
    Program plain;
    Emit e(plain);
    Id y = e.input("x", DType::f32, x);
    for (const auto &[axis, before, after] : pads) y = pad(e, y, static_cast<int>(axis), before, after);
    e.output(unary(e, Unary::relu, conv(e, y, e.input("w", DType::f32, weights), none, how)));
    Program folded = plain;
    fold_padding(folded);
    drop_dead(folded);
    EXPECT_EQ(folded.steps.size(), left + 1) << text(x, weights);
    verify(folded);
    const std::vector<Tensor> in = test::randoms({x, weights});
    for (const test::How &to : {test::How{}, {.threads = 3}})
      test::expect_same_bits(test::evaluate(folded, in, {}, to).outputs, test::evaluate(plain, in, {}, to).outputs,
                             text(x, weights, to_string(to)));
  }
}

TEST(Passes, PaddingThatIsReadElsewhereStays) {
  Program p;
  Emit e(p);
  Id padded = pad(e, e.input("x", DType::f32, {1, 6, 6, 2}), 1, 1, 1), w = e.state("w", DType::f32, {3, 3, 2, 4});
  e.output(conv(e, padded, w, none, {}));
  e.output(padded);
  EXPECT_EQ(plan_of(p, {Shape{1, 6, 6, 2}})->program.steps.size(), 2u);
}

TEST(Passes, AProductReadTwiceKeepsItsOwnResult) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {3, 8}), w = e.state("w", DType::f32, {8, 5});
  Id y = matmul(e, x, w);
  e.output(unary(e, Unary::tanh, y));
  e.output(y);
  EXPECT_EQ(plan_of(p, {Shape{3, 8}})->program.steps.size(), 2u);
}

// A chain of many steps; then many states that are read and written, and many outputs that need copies.
TEST(Specialise, IsLinearInTheSteps) {
  Program chain, wide;
  Emit c(chain), w(wide);
  Id x = c.input("x", DType::f32, {free_dim, 4}), y = x;
  for (int i = 0; i < 100000; ++i) y = unary(c, i % 2 ? Unary::relu : Unary::tanh, y);
  c.output(y);
  Id in = w.input("x", DType::f32, {4});
  for (int i = 0; i < 20000; ++i) {
    Id state = w.state("s", DType::f32, {4});
    w.write(state, mul(w, add(w, in, state), in));
    w.output(in);
  }
  const Options options;
  for (const auto &[program, shape] : {std::pair(&chain, Shape{3, 4}), std::pair(&wide, Shape{4})}) {
    std::vector<const Tensor *> states(program->states.size(), nullptr);
    Packs packs;
    const std::clock_t start = std::clock();  // of this process alone, whatever else runs
    auto plan = specialise(*program, std::span(&shape, 1), states, options, &packs);
    EXPECT_LT(std::clock() - start, 10 * CLOCKS_PER_SEC);
    EXPECT_GE(plan->steps.size(), 60000u);
  }
}

TEST(Specialise, LooksAtCancel) {
  Program p;
  Emit e(p);
  e.output(unary(e, Unary::tanh, e.input("x", DType::f32, {4})));
  const std::atomic<int32_t> cancel{1};
  Options options;
  options.cancel = &cancel;
  const Shape in{4};
  Packs packs;
  try {
    specialise(p, std::span(&in, 1), {}, options, &packs);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::cancelled);
  }
}

TEST(Passes, NamesAreListedOnce) {
  auto names = pass_names();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(Placement, ElementwiseStepsRunInPlace) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {1000});
  Id v = x;
  for (int i = 0; i < 5; ++i) v = unary(e, Unary::sigmoid, v);
  e.output(unary(e, Unary::tanh, v));
  EXPECT_EQ(plan_of(p, {Shape{1000}})->arena_bytes, 4032);                // one buffer
  EXPECT_GT(plan_of(p, {Shape{1000}}, {"in_place"})->arena_bytes, 4032);  // two take turns
}

TEST(Placement, AnOutputIsMadeInTheCallersMemory) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {4});
  e.output(unary(e, Unary::tanh, x));
  auto plan = plan_of(p, {Shape{4}});
  EXPECT_EQ(plan->arena_bytes, 0);
  EXPECT_EQ(plan->steps[0].args[1].region, Region::output);
}

TEST(Placement, AnInputThatIsAlsoAnOutputIsCopied) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {4});
  e.output(x);
  e.output(x);
  EXPECT_EQ(plan_of(p, {Shape{4}})->steps.size(), 2u);
}

TEST(Placement, AnUpdateIsMadeInTheState) {
  Program p;
  Emit e(p);
  Id w = e.state("w", DType::f32, {100}), g = e.input("g", DType::f32, {100});
  e.write(w, sub(e, w, g));
  auto plan = plan_of(p, {Shape{100}});
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(plan->steps[0].args[2].region, Region::state);
}

TEST(Placement, AStateThatIsReadLaterIsWrittenLast) {
  Program p;
  Emit e(p);
  Id w = e.state("w", DType::f32, {100}), g = e.input("g", DType::f32, {100});
  Id next = sub(e, w, g);
  e.output(unary(e, Unary::tanh, w));
  e.write(w, next);
  auto plan = plan_of(p, {Shape{100}});
  ASSERT_EQ(plan->steps.size(), 3u);  // the last one copies
  EXPECT_EQ(plan->steps[2].args[1].region, Region::state);
}

TEST(Placement, SwappedStatesGoThroughCopies) {
  Program p;
  Emit e(p);
  Id a = e.state("a", DType::f32, {4}), b = e.state("b", DType::f32, {4});
  e.write(a, b);
  e.write(b, a);
  auto plan = plan_of(p, {});
  EXPECT_GE(plan->steps.size(), 3u);
}

TEST(Placement, PartsAreMadeInsideTheirPack) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {16});
  Id a = unary(e, Unary::exp, x), b = unary(e, Unary::tanh, x);
  Id block = pack(e, {a, b}, {0, 16}, 32);
  e.output(unary(e, Unary::square, block));
  auto plan = plan_of(p, {Shape{16}});
  EXPECT_EQ(plan->steps[0].args[1].offset, plan->steps[2].args[0].offset);
  EXPECT_EQ(plan->steps[1].args[1].offset, plan->steps[2].args[2].offset + 64);
}

TEST(Resolve, WrongInputsAreRefused) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {free_dim, 8});
  e.output(unary(e, Unary::tanh, x));
  Shape wrong{3, 7};
  try {
    resolve(p, std::span(&wrong, 1));
    FAIL() << "no refusal";
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::shape_mismatch);
    EXPECT_EQ(error.message, "input \"x\": expected shape (?, 8), got (3, 7)");
  }
}

TEST(Memory, PastTheLimitNothingIsAllocated) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {free_dim});
  e.output(add(e, unary(e, Unary::exp, x), unary(e, Unary::tanh, x)));
  Options options;
  options.memory_limit = 1000;
  Shape in{1000};
  EXPECT_THROW(specialise(p, std::span(&in, 1), {}, options, nullptr), Error);
}

}  // namespace
}  // namespace dl4::plan::DL4_FILE
