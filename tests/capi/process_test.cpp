// Hazards 4 to 6: threads refused, memory refused, no thread but the crew's, many callers, fork, load and unload.
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "net.hpp"

namespace {

using namespace dl4_test;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

int64_t threads_now() {
  int64_t n = -2;  // . and ..
  DIR *d = opendir("/proc/self/task");
  while (readdir(d)) ++n;
  closedir(d);
  return n;
}

// A thread that was joined may be listed for a moment longer.
int64_t threads_soon(int64_t expected) {
  for (int i = 0; i < 200 && threads_now() != expected; ++i) usleep(5000);
  return threads_now();
}

// The exit status of a child within a time; -1 when it had to be killed or died of a signal.
int wait_for(pid_t child, int seconds) {
  for (int i = 0; i < seconds * 100; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    usleep(10000);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

int in_child(const std::function<int()> &body, int seconds = 60) {
  pid_t child = fork();
  if (child == 0) _exit(body());
  return wait_for(child, seconds);
}

int load(const char *what) {
  pid_t child = fork();
  if (child == 0) {
    execl(DL4_LOADER, DL4_LOADER, DL4_LIBRARY, what, nullptr);
    _exit(3);
  }
  return wait_for(child, 120);
}

// A net with products, a convolution, a loop over time; all of it runs in steps of many slices.
struct Net {
  Own<dl4_context> c;
  Own<dl4_model> m;
  Own<dl4_session> s;
  Own<dl4_tensor> x, y;
  std::vector<float> expected;

  explicit Net(int threads) {
    ok(dl4_context_create(attrs("{\"threads\": " + std::to_string(threads) + "}"), c.out()));
    Own<dl4_graph> g;
    ok(dl4_graph_create(c, g.out()));
    dl4_node in = input(g, "x", {-1, 16, 16, 4});
    dl4_node n = add(g, "Conv2D", nullptr, R"({"filters": 16, "kernel_size": 3, "activation": "relu"})", in);
    n = add(g, "Reshape", nullptr, R"({"target_shape": [14, 224]})", n);
    n = add(g, "LSTM", nullptr, R"({"units": 32})", n);
    n = add(g, "Dense", nullptr, R"({"units": 256, "activation": "tanh"})", n);
    n = add(g, "Dense", nullptr, R"({"units": 10})", n);
    ok(dl4_graph_build(g, &in, 1, &n, 1, m.out()));
    x = tensor({32, 16, 16, 4}, numbers(32 * 16 * 16 * 4));
    y = tensor({32, 10}, numbers(320));
    ok(dl4_session_create(m, nullptr, s.out()));
    expected = run();
  }
  std::vector<float> run() {
    dl4_tensor *in = x;
    Own<dl4_tensor> out;
    dl4_error *e = dl4_session_run(s, &in, 1, out.out(), 1, nullptr);
    if (e) {
      dl4_release(e);
      return {};
    }
    return floats(out);
  }
  int train(int steps) {
    Own<dl4_trainer> t;
    dl4_tensor *in = x, *target = y;
    dl4_error *e = dl4_trainer_create(m, attrs(R"({"optimizer": "Adam", "loss": "MeanSquaredError"})"), t.out());
    for (int i = 0; i < steps && !e; ++i) e = dl4_trainer_step(t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr);
    int code = dl4_error_code(e);
    dl4_release(e);
    return code;
  }
};

// ---- Hazard 4 -----------------------------------------------------------------------------------------------------

TEST(Hazard4, RefusedThreadsAreDoneWithout) {
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

TEST(Hazard4, TheWarningAboutRefusedThreadsReachesTheLogger) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user whose threads are counted from zero";
  int status = in_child([&] {
    rlimit none{1, 1};
    if (setgid(65534) || setuid(65534) || setrlimit(RLIMIT_NPROC, &none)) return 10;
    Own<dl4_context> c;
    std::string heard;
    ok(dl4_context_create(attrs(R"({"threads": 3})"), c.out()));
    ok(dl4_context_set_logger(c, DL4_LOG_WARNING, [](void *user, int32_t, const char *m) { *static_cast<std::string *>(user) += m; }, &heard));
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
  int64_t before = threads_now();
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

TEST(Hazard6, ChildrenForkedInTheMiddleOfWorkRunOnTheirOwn) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's allocator may be locked by another thread at the fork";
  Net net(2);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> busy;
  for (int t = 0; t < 3; ++t) {
    busy.emplace_back([&] {
      while (!stop)
        if (net.run() != net.expected) ++wrong;
    });
  }
  const int children = 60;
  int fine = 0;
  for (int i = 0; i < children; ++i) fine += in_child([&] { return net.run() == net.expected ? 0 : 1; }, 60) == 0;
  stop = true;
  for (auto &t : busy) t.join();
  EXPECT_EQ(fine, children);
  EXPECT_EQ(wrong, 0);
}

TEST(Hazard6, AChildMayMakeItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer refuses threads after a fork";
#endif
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
