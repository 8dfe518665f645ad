// The logger under callers, forks and changes of the logger.
#include "base/log.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace dl4 {
namespace {

struct Ear {
  Log log;
  std::atomic<int> heard{0}, inside{0};
  std::atomic<bool> open{true};
  static void hear(void *user, int32_t, const char *) {
    auto &e = *static_cast<Ear *>(user);
    ++e.inside;
    while (!e.open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --e.inside;
    ++e.heard;
  }
  void say() {
    log.write(Log::info, "message");
    log.deliver();
  }
};

TEST(Log, AChildForkedWhileAnotherThreadIsInTheLoggerMayUseIt) {
  Ear e;
  e.log.set(Log::trace, Ear::hear, &e);
  e.open = false;
  std::thread busy([&] { e.say(); });
  while (!e.inside) std::this_thread::yield();
  pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends a child that hangs
    e.open = true;
    e.say();
    e.log.set(Log::trace, Ear::hear, &e);
    e.say();
    _exit(e.heard == 2 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  e.open = true;
  busy.join();
  EXPECT_EQ(e.heard, 1);
}

TEST(Log, TheOldLoggerIsNotRunningOnceAnotherIsSet) {
  Ear e, other;
  e.log.set(Log::trace, Ear::hear, &e);
  e.open = false;
  std::thread busy([&] { e.say(); });
  while (!e.inside) std::this_thread::yield();
  std::thread opens([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    e.open = true;
  });
  e.log.set(Log::trace, Ear::hear, &other);
  EXPECT_EQ(e.inside, 0);
  busy.join();
  opens.join();
  e.say();
  EXPECT_EQ(e.heard, 1);
  EXPECT_EQ(other.heard, 1);
}

TEST(Log, ALoggerMaySetAnother) {
  Ear e;
  e.log.set(
      Log::trace,
      [](void *user, int32_t, const char *) {
        auto &self = *static_cast<Ear *>(user);
        self.log.set(Log::trace, Ear::hear, &self);
      },
      &e);
  e.say();
  e.say();
  EXPECT_EQ(e.heard, 1);
}

TEST(Log, EveryMessageOfManyThreadsIsHeard) {
  Ear e;
  e.log.set(Log::trace, Ear::hear, &e);
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < 100; ++i) e.say();
    });
  for (auto &t : all) t.join();
  EXPECT_EQ(e.heard, 800);
}

}  // namespace
}  // namespace dl4
