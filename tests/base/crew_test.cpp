// The crew under many callers, in forked children, and where threads are refused.
#include "base/crew.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/cpu.hpp"
#include "base/float_mode.hpp"
#include "harness/sanitized.hpp"

namespace dl4::DL4_FILE {
namespace {

// One run that adds i + 1 for each slice i, and notes how often each was run.
bool one_region(Crew &crew, int64_t slices) {
  std::vector<std::atomic<int>> times(static_cast<size_t>(slices));
  std::atomic<int64_t> sum{0};
  auto slice = [&](int64_t i) noexcept {
    times[static_cast<size_t>(i)].fetch_add(1, std::memory_order_relaxed);
    sum.fetch_add(i + 1, std::memory_order_relaxed);
  };
  crew.run(slices, slice);
  for (auto &t : times)
    if (t != 1) return false;
  return sum == slices * (slices + 1) / 2;
}

// Runs f in a child process; true when it returned true there within ten seconds.
template <class F>
bool in_child(F f) {
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(f() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Crew, RunsEachSliceOnce) {
  for (int threads : {1, 2, 3, 8}) {
    Crew crew(threads);
    EXPECT_EQ(crew.threads(), threads);
    for (int64_t slices : {0, 1, 2, 3, 7, 64, 1000}) EXPECT_TRUE(one_region(crew, slices)) << threads << " " << slices;
  }
}

// Each slice adds what all slices of the phase before have written.
TEST(Crew, APhaseSeesAllOfTheOneBefore) {
  for (int threads : {1, 2, 3})
    for (int64_t slices : {1, 2, 3, 7}) {
      Crew crew(threads);
      std::vector<int64_t> sums[2] = {std::vector<int64_t>(static_cast<size_t>(slices), 1)};
      sums[1] = sums[0];
      const int64_t phases = 20;
      auto slice = [&](int64_t i) noexcept {
        auto &before = sums[i / slices % 2];
        sums[(i / slices + 1) % 2][static_cast<size_t>(i % slices)] =
            std::accumulate(before.begin(), before.end(), int64_t{i % slices}) % 1000003;
      };
      for (int round = 0; round < 200; ++round) {
        std::fill(sums[0].begin(), sums[0].end(), 1);
        crew.run(slices, slice, phases);
        auto got = sums[phases % 2];
        std::fill(sums[0].begin(), sums[0].end(), 1);
        for (int64_t i = 0; i < slices * phases; ++i) slice(i);
        ASSERT_EQ(sums[phases % 2], got);
      }
    }
}

TEST(Crew, PhasesOfManyCallersAndNestedRuns) {
  Crew crew(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c)
    callers.emplace_back([&] {
      std::atomic<int64_t> done{0};
      auto slice = [&](int64_t i) noexcept {
        if (i % 4 == 0) wrong += !one_region(crew, 3);
        wrong += done.fetch_add(1) / 4 != i / 4;
      };
      for (int round = 0; round < 100; ++round, done = 0) crew.run(4, slice, 5);
    });
  for (auto &t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

#if defined(__linux__)
// Which processors the threads of this process may use.
std::set<std::string> allowed_processors() {
  std::set<std::string> lists;
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("Cpus_allowed_list:")) lists.insert(line);
  }
  return lists;
}

// They are woken elsewhere than their caller, which is undone when they are awake.
TEST(Crew, HelpersThatWereWokenMayRunAnywhere) {
  Crew crew(3);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(one_region(crew, 4));
    std::this_thread::sleep_for(std::chrono::microseconds(500));  // they sleep
  }
  for (int i = 0; i < 1000 && allowed_processors().size() > 1; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(allowed_processors().size(), 1u);
}
#endif

TEST(Crew, NegativeCountsAreEmpty) {
  Crew crew(0);
  EXPECT_EQ(crew.threads(), 1);
  EXPECT_TRUE(one_region(crew, 3));
  crew.run(
      -1, [](void *, int64_t) noexcept { FAIL(); }, nullptr);
}

TEST(Crew, PlainWritesOfSlicesAreVisibleToTheCaller) {
  Crew crew(4);
  std::vector<int64_t> values(37);
  for (int round = 0; round < 2000; round++) {
    auto slice = [&](int64_t i) noexcept { values[static_cast<size_t>(i)] = i * round; };
    crew.run(37, slice);
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), 37 * 36 / 2 * int64_t{round});
  }
}

TEST(Crew, ManyCallersAtOnce) {
  Crew crew(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 80; c++)  // more than there are slots
    callers.emplace_back([&, c] {
      for (int i = 0; i < 500; i++) wrong += !one_region(crew, 1 + (c + i) % 5);
    });
  for (auto &t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Crew, SlicesMayRunSlices) {
  Crew crew(3);
  std::atomic<int> sum{0};
  auto inner = [&](int64_t) noexcept { sum++; };
  auto outer = [&](int64_t) noexcept { crew.run(5, inner); };
  for (int i = 0; i < 200; i++) crew.run(7, outer);
  EXPECT_EQ(sum, 200 * 35);
}

TEST(Crew, HelpersWakeUp) {
  Crew crew(2);
  for (int i = 0; i < 5; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    std::atomic<int> waiting{0};
    // Each slice waits for the other one: only two threads can finish this.
    auto slice = [&](int64_t) noexcept {
      waiting++;
      while (waiting < 2) std::this_thread::yield();
    };
    crew.run(2, slice);
  }
}

TEST(Crew, TheCallerWaitsForAHelperThatIsSlow) {
  Crew crew(2);
  auto caller = std::this_thread::get_id();
  std::atomic<bool> helped{false};
  for (int i = 0; i < 20; i++) {
    std::atomic<int> done{0};
    auto slice = [&](int64_t) noexcept {
      bool helper = std::this_thread::get_id() != caller;
      if (helper) helped = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(helper ? 5 : 1));
      done++;
    };
    crew.run(2, slice);
    ASSERT_EQ(done, 2);
  }
  EXPECT_TRUE(helped);
}

TEST(Crew, HelpersFlushToZeroAndRunTheHook) {
  static std::atomic<int> hooked{0};
  hooked = 0;
  Crew crew(2, []() noexcept { hooked++; });
  std::atomic<int> waiting{0};
  std::atomic<int> flushed{0};
  volatile float tiny = 1e-38f;
  auto slice = [&](int64_t) noexcept {
    waiting++;
    while (waiting < 2) std::this_thread::yield();
    if (tiny * 0.01f == 0) flushed++;
  };
  crew.run(2, slice);
  EXPECT_EQ(hooked, 1);
  constexpr bool can = FloatMode::flushing != FloatMode::plain;
  EXPECT_EQ(flushed, can ? 1 : 0);  // the helper, not the caller
  {
    FlushToZero mode;
    EXPECT_EQ(tiny * 0.01f == 0, can);
  }
  EXPECT_NE(tiny * 0.01f, 0.0f);
}

TEST(Crew, ForkedChildrenWorkAlone) {
  Crew crew(2);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
#if defined(DL4_ADDRESS_SANITIZER)  // gcc 12's allocator is not put right in a child: now and then one finds it locked
    return;
#endif
    while (!stop) one_region(crew, 8);
  });
  int fine = 0;
  for (int i = 0; i < 20; i++) {
    fine += in_child([&] {
      bool right = one_region(crew, 8);
#if defined(DL4_THREAD_SANITIZER)  // refuses new threads after a fork
      return right;
#endif
      Crew own(2);
      return right && own.threads() == 2 && one_region(own, 100);
    });
  }
  stop = true;
  busy.join();
  EXPECT_EQ(fine, 20);
}

TEST(Crew, ACrewOfTheParentCanBeDestroyedInAChild) {
  auto crew = std::make_unique<Crew>(3);
  EXPECT_TRUE(in_child([&] {
    crew.reset();
    return true;
  }));
}

TEST(Crew, RefusedThreadsReduceTheCount) {
  bool fine = in_child([] {
    rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none)) return false;
    if (geteuid() == 0 && setuid(65534)) return false;  // root may always make threads
    Crew crew(4);
    return crew.threads() == 1 && one_region(crew, 10);
  });
  EXPECT_TRUE(fine);
}

TEST(Cpu, SaysSomething) {
  EXPECT_GE(cpu::cores_available(), 1);
  EXPECT_LE(cpu::cores_available(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_FALSE(cpu::isa().empty());
}

}  // namespace
}  // namespace dl4::DL4_FILE
