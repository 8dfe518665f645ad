// Hazards 4 to 6: threads refused, memory refused, no thread but the crew's, many callers, fork, load and unload.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "capi/processes.hpp"

namespace dl4_test::DL4_FILE {
namespace {

int load(const char *what) {
  pid_t child = fork();
  if (child == 0) {
    execl(DL4_LOADER, DL4_LOADER, DL4_LIBRARY, what, nullptr);
    _exit(3);
  }
  return wait_for(child, 120);
}

TEST(Keys, OfTheHostAreLeftAloneWhereThereIsNoneLeft) { EXPECT_EQ(load("keys"), 0); }

// ---- Hazard 4 -----------------------------------------------------------------------------------------------------

TEST(Hazard4, RefusedThreadsAreDoneWithout) {
  if (no_threads_after_fork) GTEST_SKIP() << "ThreadSanitizer refuses threads after a fork";
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user whose threads are counted from zero";
  Net here(2);
  int status = in_child([&] {
    rlimit none{1, 1};
    if (setgid(65534) || setuid(65534) || setrlimit(RLIMIT_NPROC, &none)) return 10;
    if (std::system("true") != 0) {  // no process can be made: the limit holds
      Net net(4);
      if (threads_now() != 1) return 11;
      if (net.run() != net.expected || net.expected.empty()) return 12;
      if (net.train(3) != 0) return 13;
      return 0;
    }
    return 77;
  });
  if (status == 77) GTEST_SKIP() << "this system does not count threads of a user";
  EXPECT_EQ(status, 0);
}

TEST(Hazard4, SomeRefusedThreadsAreDoneWithout) {
  if (no_threads_after_fork) GTEST_SKIP() << "ThreadSanitizer refuses threads after a fork";
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user whose threads are counted from zero";
  Net here(2);
  int status = in_child([&] {
    rlimit three{3, 3};
    if (setgid(65534) || setuid(65534) || setrlimit(RLIMIT_NPROC, &three)) return 10;
    Net net(8);
    if (threads_now() >= 8) return 77;
    if (net.run() != net.expected || net.expected.empty()) return 12;
    if (here.run() != here.expected) return 13;
    return net.train(3) == 0 ? 0 : 14;
  });
  if (status == 77) GTEST_SKIP() << "this system does not count threads of a user";
  EXPECT_EQ(status, 0);
}

TEST(Hazard4, TheWarningAboutRefusedThreadsReachesTheLogger) {
  if (no_threads_after_fork) GTEST_SKIP() << "ThreadSanitizer refuses threads after a fork";
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user whose threads are counted from zero";
  int status = in_child([&] {
    rlimit none{1, 1};
    if (setgid(65534) || setuid(65534) || setrlimit(RLIMIT_NPROC, &none)) return 10;
    Own<dl4_context> c;
    std::string heard;
    ok(dl4_context_create(R"({"threads": 3})", c.out()));
    ok(dl4_context_set_logger(
        c, DL4_LOG_WARNING, [](void *user, int32_t, const char *m) { *static_cast<std::string *>(user) += m; },
        &heard));
    auto m = small_net(c);
    Own<dl4_session> s;
    ok(dl4_session_create(m, nullptr, s.out()));
    if (threads_now() != 1) return 77;
    return heard.find("1 of 3 threads") == std::string::npos ? 1 : 0;
  });
  if (status == 77) GTEST_SKIP() << "this system does not count threads of a user";
  EXPECT_EQ(status, 0);
}

TEST(Hazard4, AHalfGibibyteOfAddressSpaceIsEnough) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's shadow takes more";
  EXPECT_EQ(load("limit"), 0);
}

// ---- Hazard 5 -----------------------------------------------------------------------------------------------------

TEST(Hazard5, OnlyTheCrewsHelperIsEverStarted) {
  std::thread([] {}).join();  // ThreadSanitizer starts one of its own with the first
  int64_t before = threads_soon(1);
  {
    Net net(2);
    EXPECT_EQ(threads_now(), before + 1);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(net.run(), net.expected);
    EXPECT_EQ(threads_now(), before + 1) << "after runs";
    EXPECT_EQ(net.train(5), 0);
    EXPECT_EQ(threads_now(), before + 1) << "after training";
    std::thread([&] {
      EXPECT_EQ(net.run(), net.expected);
      EXPECT_EQ(threads_now(), before + 2) << "a caller of its own brings no team";
    }).join();
  }
  EXPECT_EQ(threads_soon(before), before) << "after the last release";
}

TEST(Hazard5, SixtyFourCallersAtOnceFinish) {
  Net net(2);
  constexpr int callers = 64, each = 4;
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < callers * each; ++i) net.run();
  auto alone = std::chrono::steady_clock::now() - start;
  std::atomic<int> wrong{0};
  std::atomic<int64_t> most{0};
  int64_t before = threads_now();
  start = std::chrono::steady_clock::now();
  std::vector<std::thread> crowd;
  for (int t = 0; t < callers; ++t) {
    crowd.emplace_back([&] {
      for (int i = 0; i < each; ++i)
        if (net.run() != net.expected) ++wrong;
      most = std::max<int64_t>(most, threads_now());
    });
  }
  for (auto &t : crowd) t.join();
  auto together = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(most, before + callers);
  // A collapse is a hundred times slower; a busy machine is not.
  EXPECT_LT(together, 10 * alone + std::chrono::seconds(5));
}

// ---- Hazard 6 -----------------------------------------------------------------------------------------------------

// Forks children that work while three threads of the parent do, each call with another number.
void fork_while_busy(int children, const std::function<bool(int64_t)> &work, const std::function<int(int)> &child) {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> busy;
  for (int t = 0; t < 3; ++t)
    busy.emplace_back([&, t] {
      for (int64_t i = 0; !stop; ++i) wrong += !work(t * 331 + i * 7);
    });
  int fine = 0;
  for (int i = 0; i < children; ++i) fine += in_child([&] { return child(i); }, 60) == 0;
  stop = true;
  for (auto &t : busy) t.join();
  EXPECT_EQ(fine, children);
  EXPECT_EQ(wrong, 0);
}

TEST(Hazard6, ChildrenForkedInTheMiddleOfWorkRunOnTheirOwn) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's allocator may be locked by another thread at the fork";
  Net net(2);
  auto right = [&] { return net.run() == net.expected; };
  fork_while_busy(
      60, [&](int64_t) { return right(); }, [&](int) { return right() ? 0 : 1; });
}

TEST(Hazard6, ChildrenForkedWhileOthersPlanMakePlansOfTheirOwn) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's allocator may be locked by another thread at the fork";
  Net net(2);
  auto plan = [&](int64_t i) { return !net.rows(1 + i % 1000).empty(); };  // far more sizes than plans are kept
  fork_while_busy(15, plan, [&](int i) {
    if (net.rows(1100 + i).empty()) return 1;
    Own<dl4_session> fresh;
    dl4_tensor *in = net.x;
    Own<dl4_tensor> out;
    ok(dl4_session_create(net.m, nullptr, fresh.out()));
    ok(dl4_session_run(fresh, &in, 1, out.out(), 1, nullptr));
    return floats(out) == net.expected ? 0 : 2;
  });
}

TEST(Hazard6, AChildMayMakeItsOwn) {
  if (no_threads_after_fork) GTEST_SKIP() << "ThreadSanitizer refuses threads after a fork";
  Net net(2);
  EXPECT_EQ(in_child([&] {
              Net own(2);
              return own.run() == own.expected && own.train(2) == 0 && net.train(2) == 0 ? 0 : 1;
            }),
            0);
}

TEST(Hazard6, LoadingAndUnloadingManyTimes) { EXPECT_EQ(load("cycle"), 0); }

TEST(Hazard6, ASessionMovesBetweenThreads) {
  std::unique_ptr<Net> net;
  std::thread([&] { net = std::make_unique<Net>(2); }).join();
  for (int i = 0; i < 4; ++i) std::thread([&] { EXPECT_EQ(net->run(), net->expected); }).join();
  std::thread([&] { EXPECT_EQ(net->train(2), 0); }).join();
  EXPECT_EQ(net->train(2), 0);
  std::thread([&] { net.reset(); }).join();
}

TEST(Hazard6, ASmallStackIsEnough) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's frames are larger";
  Net net(2);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t{128} << 10), 0);
  auto body = [](void *p) -> void * {
    auto &n = *static_cast<Net *>(p);
    if (n.run() != n.expected) return p;
    auto first = tensor({3, 16, 16, 4});  // new shapes are planned on the small stack, too
    dl4_tensor *in = first, *out = nullptr;
    ok(dl4_session_run(n.s, &in, 1, &out, 1, nullptr));
    dl4_release(out);
    return n.train(2) == 0 ? nullptr : p;
  };
  pthread_t id;
  ASSERT_EQ(pthread_create(&id, &attributes, body, &net), 0);
  void *failed = nullptr;
  pthread_join(id, &failed);
  EXPECT_EQ(failed, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(Hazard6, ShortLivedCallersLeaveNothingBehind) {
  Net net(2);
  int64_t before = threads_now();
  for (int i = 0; i < 200; ++i) std::thread([&] { net.run(); }).join();
  EXPECT_EQ(threads_soon(before), before);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
