// Forks share the memory of their states until one of them writes.
#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "capi/net.hpp"
#include "capi/streams.hpp"

namespace dl4_test::DL4_FILE {
namespace {

Own<dl4_tensor> random_tensor(const std::vector<int64_t> &dims, uint32_t seed) {
  std::mt19937 draw(seed);
  auto t = tensor(dims);
  auto *values = static_cast<float *>(dl4_tensor_data(t));
  for (int64_t i = 0; i < dl4_tensor_bytes(t) / 4; ++i) values[i] = static_cast<float>(draw() % 2000) / 1000 - 1;
  return t;
}

int64_t resident() {  // bytes; 0 where the system does not tell
  int64_t all = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> all >> pages;
  return pages * 4096;
}

constexpr int64_t cache = 1024, features = 32;

// Causal attention: a cache of 1,024 steps.
Own<dl4_session> attention() {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, -1, features});
  const dl4_node in[] = {x, x};
  dl4_node y = -1;
  ok(dl4_graph_add(g, "MultiHeadAttention", nullptr, R"({"num_heads": 4, "key_dim": 32})",
                   R"({"use_causal_mask": true})", nullptr, in, 2, &y, 1));
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return session(m, R"({"streamable": true, "cache": )" + std::to_string(cache) + "}");
}

Own<dl4_stream> fork_of(dl4_stream *s) {
  Own<dl4_stream> f;
  ok(dl4_stream_fork(s, nullptr, f.out()));
  return f;
}

std::string bytes_of(dl4_stream *s) {
  Own<dl4_blob> b;
  ok(dl4_stream_save_bytes(s, b.out()));
  return {dl4_blob_data(b), static_cast<size_t>(dl4_blob_size(b))};
}

TEST(StreamFork, SharesItsStatesUntilEitherWrites) {
  auto s = attention();
  auto first = stream(s);
  auto head = random_tensor({1, 600, features}, 1), left = random_tensor({1, 40, features}, 2),
       right = random_tensor({1, 40, features}, 3);
  take(first, head);
  const std::string at_fork = bytes_of(first);
  ASSERT_GT(at_fork.size(), size_t{1} << 20);
  const auto goes_on = [&](dl4_tensor *x) {
    auto alone = stream(s);
    ok(dl4_stream_load_bytes(alone, at_fork.data(), static_cast<int64_t>(at_fork.size())));
    return floats(take(alone, x));
  };
  const auto by_left = goes_on(left), by_right = goes_on(right);

  const int64_t before = resident();
  std::vector<Own<dl4_stream>> forks;
  for (int i = 0; i < 1000; ++i) forks.push_back(fork_of(first));
  if (before > 0) {
    EXPECT_LT(resident() - before, 32 << 20);  // copies would take 1 GB
  }

  // Each side's run leaves the other's states as they were, whichever comes first.
  EXPECT_EQ(floats(take(forks[0], left)), by_left);
  EXPECT_EQ(bytes_of(first), at_fork);
  EXPECT_EQ(floats(take(first, right)), by_right);
  EXPECT_EQ(bytes_of(forks[1]), at_fork);
  auto later = fork_of(forks[2]), again = fork_of(forks[0]);
  forks[2] = nullptr;
  EXPECT_EQ(floats(take(later, right)), by_right);
  EXPECT_EQ(floats(take(forks[3], left)), by_left);
  EXPECT_EQ(bytes_of(again), bytes_of(forks[0]));

  // So do resets, loading, and runs of many.
  ok(dl4_stream_reset(forks[4]));
  ok(dl4_stream_load_bytes(forks[5], bytes_of(first).data(), static_cast<int64_t>(bytes_of(first).size())));
  dl4_stream *many[] = {forks[6], forks[7]};
  auto x = random_tensor({2, 3, features}, 4);
  dl4_tensor *in = x, *out = nullptr;
  ok(dl4_stream_run_many(many, 2, nullptr, &in, 1, &out, 1, nullptr));
  Own<dl4_tensor> made(out);
  EXPECT_EQ(bytes_of(forks[8]), at_fork);
  // The last one writes where they lay.
  first = nullptr, later = nullptr, again = nullptr;
  auto last = std::move(forks[9]);
  forks.clear();
  EXPECT_EQ(floats(take(last, left)), by_left);
}

TEST(StreamFork, RowsThatBeginAgainAreItsOwn) {
  auto s = session(model({{"LSTM", R"({"units": 5, "return_sequences": true})"}}));
  auto first = stream(s, 3);
  take(first, random_tensor({3, 10, 3}, 1));
  const std::string at_fork = bytes_of(first);
  auto other = fork_of(first);
  ok(dl4_stream_reset_row(other, 1));
  EXPECT_EQ(bytes_of(first), at_fork);
  EXPECT_NE(bytes_of(other), at_fork);
}

// Forks on many threads write at once, while others read what they share.
TEST(StreamFork, ManyThreadsGoOnAtOnce) {
  auto s = attention();
  auto first = stream(s);
  take(first, random_tensor({1, 600, features}, 1));
  auto x = random_tensor({1, 40, features}, 2);
  for (int round = 0; round < 20; ++round) {
    std::vector<Own<dl4_stream>> forks;
    for (int i = 0; i < 4; ++i) forks.push_back(fork_of(first));
    auto next = fork_of(first);
    std::vector<std::vector<float>> got(forks.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < forks.size(); ++i) threads.emplace_back([&, i] { got[i] = floats(take(forks[i], x)); });
    for (auto &t : threads) t.join();
    for (const auto &one : got) EXPECT_EQ(one, got[0]);
    first = std::move(next);
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
