// dl4_context_trim() and the memory of the process.
#include <unistd.h>

#include <fstream>

#include "capi/net.hpp"
#include "capi/processes.hpp"
#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

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
  for (int64_t length = 2; length < 400; ++length) {
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

// A stream keeps what it runs in from call to call; trim takes it, and the stream goes on.
TEST(Context, TrimTakesWhatAStreamKeeps) {
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"threads": 1})", c.out()));
  Own<dl4_graph> g;
  ok(dl4_graph_create(c, g.out()));
  dl4_node x = input(g, "x", {-1, -1, 4});
  dl4_node y = add(g, "GRU", nullptr, R"({"units": 4, "return_sequences": true})", x);
  y = add(g, "Dense", nullptr, R"({"units": 4, "activation": "tanh"})", y);
  Own<dl4_model> m;
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  Own<dl4_session> s;
  ok(dl4_session_create(m, R"({"states": true})", s.out()));
  const auto cached = [&] {
    return nlohmann::json::parse(described(s, DL4_FORMAT_JSON)).at("stream").at("cached_bytes").get<int64_t>();
  };
  const std::vector<float> values(40, 0.5f);
  Own<dl4_stream> whole, cut;
  ok(dl4_stream_create(s, nullptr, whole.out()));
  ok(dl4_stream_create(s, nullptr, cut.out()));
  const auto run = [&](dl4_stream *t, int64_t from, int64_t steps) {
    auto part =
        tensor({1, steps, 4}, std::vector<float>(values.begin() + from * 4, values.begin() + (from + steps) * 4));
    dl4_tensor *in = part;
    Own<dl4_tensor> out;
    ok(dl4_stream_run(t, &in, 1, out.out(), 1, nullptr));
    return floats(out);
  };
  const auto expected = run(whole, 0, 10);
  std::vector<float> got;
  for (int64_t at = 0; at < 10; at += 2) {
    const auto two = run(cut, at, 2);
    got.insert(got.end(), two.begin(), two.end());
    EXPECT_GT(cached(), 0);
    ok(dl4_context_trim(c));
    EXPECT_EQ(cached(), 0);
  }
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
