// All at once: 64 callers, a busy neighbour, forks in the middle; and shapes that never end.
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "capi/processes.hpp"

namespace dl4_test::DL4_FILE {
namespace {

TEST(Stress, SixtyFourCallersABusyNeighbourAndForksInTheMiddle) {
  Net net(2);
  pid_t neighbour = fork();
  if (neighbour == 0)
    for (volatile uint64_t n = 0;;) n = n + 1;
  std::atomic<int> wrong{0};
  std::atomic<int64_t> done{0};
  constexpr int callers = 64;
  const int each = times(6, 200);
  std::vector<std::thread> crowd;
  for (int t = 0; t < callers; ++t) {
    crowd.emplace_back([&] {
      for (int i = 0; i < each; ++i, ++done) wrong += net.run() != net.expected;
    });
  }
  int children = 0, fine = 0;
  for (int64_t next = callers; !sanitized && next < callers * each; next += callers) {
    while (done < next) usleep(200);
    ++children;
    fine +=
        in_child([&] { return net.run() == net.expected && net.rows(33).size() == 330 && net.train(1) == 0 ? 0 : 1; },
                 120) == 0;
  }
  for (auto &t : crowd) t.join();
  kill(neighbour, SIGKILL);
  waitpid(neighbour, nullptr, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fine, children);
  EXPECT_EQ(net.run(), net.expected);
}

int64_t resident_kilobytes() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (word == "VmRSS:" && in >> word) return std::stoll(word);
  return 0;
}

// Sixteen hundred of them, again and again. Plans and frames are bounded by the session, primitives by oneDNN's cache
// of 1024.
TEST(Soak, ShapesThatNeverEndTakeBoundedMemory) {
  Own<dl4_context> c;
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_session> s;
  ok(dl4_context_create(R"({"threads": 1})", c.out()));
  ok(dl4_graph_create(c, g.out()));
  dl4_node x = input(g, "x", {-1, -1, 8});
  dl4_node y = add(g, "Dense", nullptr, R"({"units": 24, "activation": "tanh"})", x);
  y = add(g, "LSTM", nullptr, R"({"units": 16})",
          add(g, "Conv1D", nullptr, R"({"filters": 16, "kernel_size": 3, "padding": "same"})", y));
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_session_create(m, nullptr, s.out()));
  int64_t n = 0;
  auto more = [&](int shapes) {
    for (int i = 0; i < shapes; ++i, ++n) {
      auto in = tensor({1 + n % 40, 1 + n / 40 % 40, 8});
      dl4_tensor *first = in;
      Own<dl4_tensor> out;
      ok(dl4_session_run(s, &first, 1, out.out(), 1, nullptr));
    }
  };
  more(times(400, 1600));
  int64_t before = resident_kilobytes();
  more(times(200, 5000));
  int64_t after = resident_kilobytes();
  std::printf("%lld MiB, then %lld MiB\n", static_cast<long long>(before >> 10), static_cast<long long>(after >> 10));
  if (!sanitized) {
    EXPECT_LT(after - before, 100 << 10) << "KiB";
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
