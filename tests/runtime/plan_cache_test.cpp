// The cache by itself: an entry's states, who is let go, frames, and many threads at once.
#include "runtime/plan_cache.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "ops/ops.hpp"

namespace dl4::runtime::DL4_FILE {
namespace {

using State = CachedPlan::State;
constexpr int64_t most_plans = 64;

class PlanCaches : public testing::Test {
 protected:
  PlanCaches() {
    ops::Emit e(program_);
    ops::Id x = e.input("x", DType::f32, {free_dim});
    // Two steps, so that there is something in the arena.
    e.output(ops::unary(e, ops::Unary::tanh, ops::unary(e, ops::Unary::exp, x)));
  }

  PlanCache::Use add(int64_t n, PlanCache &cache) {
    const std::vector<Shape> shapes{{n}};
    plan::Options options;
    options.passes_off = {"in_place"};
    plan::Packs packs;
    return cache.add(shapes, plan::specialise(program_, shapes, {}, options, &packs));
  }
  PlanCache::Use add(int64_t n) { return add(n, cache_); }
  std::optional<PlanCache::Use> find(int64_t n) {
    const View v{DType::f32, {n}, nullptr, nullptr};
    return cache_.find({&v, 1});
  }
  int64_t kept() {
    int64_t n = 0;
    cache_.each([&](const CachedPlan &) { ++n; });
    return n;
  }

  ops::Program program_;
  PlanCache cache_{std::make_shared<Memory>(), int64_t{1} << 20};
};

TEST_F(PlanCaches, AnEntryGoesThroughItsStates) {
  CachedPlan *entry = nullptr;
  {
    PlanCache::Use use = add(3);
    entry = &*use;
    EXPECT_EQ(entry->state(), State::in_use);
    EXPECT_FALSE(entry->seize()) << "a run holds it";
    EXPECT_EQ(entry->state(), State::in_use);
  }
  EXPECT_EQ(entry->state(), State::idle);
  ASSERT_TRUE(entry->seize());
  EXPECT_EQ(entry->state(), State::changing);
  EXPECT_FALSE(entry->seize()) << "another has seized it";
  EXPECT_FALSE(find(3)) << "a run passes by";
  EXPECT_EQ(entry->state(), State::changing) << "and leaves no trace";
  entry->release();
  EXPECT_EQ(entry->state(), State::idle);
  EXPECT_TRUE(find(3));
  cache_.trim();
  EXPECT_EQ(entry->state(), State::empty);
  EXPECT_FALSE(find(3));
}

TEST_F(PlanCaches, FindsByShape) {
  for (int64_t n = 1; n <= 5; ++n) add(n);
  for (int64_t n = 1; n <= 5; ++n) {
    auto use = find(n);
    ASSERT_TRUE(use);
    EXPECT_EQ((*use)->key, std::vector<Shape>{{n}});
  }
  EXPECT_FALSE(find(6));
}

TEST_F(PlanCaches, TheLeastRecentlyUsedOfTheIdleOnesIsLetGo) {
  for (int64_t n = 1; n <= most_plans; ++n) add(n);
  EXPECT_TRUE(find(1));
  auto held = find(2);
  add(1000);  // 1 was used just now, 2 is in use: 3 goes
  EXPECT_EQ(kept(), most_plans);
  EXPECT_TRUE(find(1));
  EXPECT_TRUE(find(2));
  EXPECT_FALSE(find(3));
  EXPECT_TRUE(find(4));
  EXPECT_TRUE(find(1000));
}

TEST_F(PlanCaches, WhereAllAreInUseAPlanIsItsRunsOwn) {
  std::vector<PlanCache::Use> all;
  for (int64_t n = 1; n <= most_plans; ++n) all.push_back(add(n));
  {
    PlanCache::Use own = add(1000);
    EXPECT_NE(cache_.take_frame(own), nullptr);
    EXPECT_FALSE(find(1000));
  }
  EXPECT_EQ(kept(), most_plans);
  all.pop_back();
  add(1001);
  EXPECT_FALSE(find(most_plans)) << "the one that became idle made room";
  EXPECT_TRUE(find(1001));
}

TEST_F(PlanCaches, AFrameWaitsForTheNextRun) {
  PlanCache::Use use = add(100);
  auto frame = cache_.take_frame(use);
  const Frame *address = frame.get();
  const int64_t bytes = cache_.frame_bytes();
  EXPECT_GT(bytes, 0);
  cache_.give_back(use, std::move(frame));
  frame = cache_.take_frame(use);
  EXPECT_EQ(frame.get(), address);
  auto second = cache_.take_frame(use);
  EXPECT_NE(second.get(), address);
  EXPECT_EQ(cache_.frame_bytes(), 2 * bytes);
  cache_.give_back(use, std::move(frame));
  cache_.give_back(use, std::move(second));
  cache_.trim();  // of a plan in use, the idle frames go
  EXPECT_EQ(cache_.frame_bytes(), 0);
  EXPECT_TRUE(find(100));
}

TEST_F(PlanCaches, PastItsBytesPlansAreLetGo) {
  PlanCache small(std::make_shared<Memory>(), 1);
  for (int64_t n = 1000; n < 1010; ++n) {
    PlanCache::Use use = add(n, small);
    auto frame = small.take_frame(use);
    small.give_back(use, std::move(frame));
  }
  int64_t kept = 0;
  small.each([&](const CachedPlan &) { ++kept; });
  EXPECT_EQ(kept, 1);
}

// Runs look for plans and hold them while one thread adds, replaces and trims: nobody is handed the plan of another
// shape, and none that is held changes.
TEST_F(PlanCaches, ManyThreadsSeeWholePlans) {
  std::atomic<bool> stop{false};
  std::atomic<int64_t> wrong{0}, hits{0};
  std::vector<std::thread> runs;
  for (int64_t t = 0; t < 4; ++t)
    runs.emplace_back([&, t] {
      for (int64_t n = t; !stop; n = (n + 7) % 100) {
        auto use = find(n + 1);
        if (!use) continue;
        const plan::Plan *plan = (*use)->plan.get();
        wrong += (*use)->key != std::vector<Shape>{{n + 1}} || plan->inputs[0].shape != Shape{n + 1};
        cache_.give_back(*use, cache_.take_frame(*use));
        wrong += (*use)->plan.get() != plan;
        ++hits;
      }
    });
  for (int64_t round = 0; round < 1500 || hits == 0; ++round) {
    if (!find(round % 100 + 1)) add(round % 100 + 1);
    if (round % 50 == 0) cache_.trim();
  }
  stop = true;
  for (std::thread &run : runs) run.join();
  EXPECT_EQ(wrong, 0);
  cache_.trim();
  EXPECT_EQ(kept(), 0);
  EXPECT_EQ(cache_.frame_bytes(), 0);
}

}  // namespace
}  // namespace dl4::runtime::DL4_FILE
