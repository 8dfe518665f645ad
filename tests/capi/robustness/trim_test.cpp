// dl4_context_trim() and the memory of the process.
#include <unistd.h>

#include <fstream>

#include "capi/net.hpp"
#include "capi/processes.hpp"

namespace {

using namespace dl4_test;

int64_t resident() {
  int64_t pages = 0, in_memory = 0;
  std::ifstream("/proc/self/statm") >> pages >> in_memory;
  return in_memory * sysconf(_SC_PAGESIZE);
}

// Plans of many lengths, most of whose memory lies between what stays.
TEST(Context, TrimGivesMemoryBackToTheSystem) {
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps what is freed";
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"threads": 1})", c.out()));
  Own<dl4_graph> g;
  ok(dl4_graph_create(c, g.out()));
  dl4_node x = input(g, "x", {-1, -1, 64});
  dl4_node y = add(g, "Conv1D", nullptr, R"({"filters": 64, "kernel_size": 3, "padding": "same"})", x);
  Own<dl4_model> m;
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  const int64_t before = resident();
  for (int64_t length = 2; length < 200; ++length) {
    auto sequence = tensor({1, length, 64});
    Own<dl4_tensor> out;
    dl4_tensor *in = sequence;
    ok(dl4_session_run(s, &in, 1, out.out(), 1, nullptr));
  }
  const int64_t planned = resident();
  ok(dl4_context_trim(c));
  const int64_t after = resident();
  EXPECT_GT(planned - before, 12 << 20);
  EXPECT_LT(after - before, 10 << 20);
}

}  // namespace
