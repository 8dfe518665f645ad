// Many streams in one call, forks, and rows that begin again.
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "capi/use.hpp"

namespace {

using namespace dl4_test;

constexpr int64_t features = 3;

Own<dl4_session> session_of(const std::vector<std::pair<const char *, const char *>> &layers, bool ids = false) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_session> s;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = ids ? input(g, "x", {-1, -1}, DL4_INT32) : input(g, "x", {-1, -1, features});
  dl4_node y = x;
  for (const auto &[kind, config] : layers) y = add(g, kind, nullptr, config, y);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_session_create(m, R"({"states": true})", s.out()));
  return s;
}

Own<dl4_session> sequences() {
  return session_of(
      {{"LSTM", R"({"units": 4, "return_sequences": true})"}, {"GRU", R"({"units": 5, "return_sequences": true})"}});
}

std::vector<Own<dl4_stream>> streams(dl4_session *s, size_t n, const char *options = nullptr) {
  std::vector<Own<dl4_stream>> all(n);
  for (auto &one : all) ok(dl4_stream_create(s, options, one.out()));
  return all;
}

std::vector<dl4_stream *> handles(const std::vector<Own<dl4_stream>> &all) {
  std::vector<dl4_stream *> list;
  for (const auto &one : all) list.push_back(one.get());
  return list;
}

// Rows of one width side by side, [n, T, features].
Own<dl4_tensor> rows(int64_t n, int64_t t, size_t from = 0) {
  const auto all = numbers(from + static_cast<size_t>(n * t * features));
  return tensor({n, t, features}, {all.begin() + static_cast<ptrdiff_t>(from), all.end()});
}

Own<dl4_tensor> row(dl4_tensor *x, int64_t i, int64_t t) {
  const int64_t *dims = dl4_tensor_dims(x);
  const auto all = floats(x);
  const auto begin = all.begin() + i * dims[1] * features;
  return tensor({1, t, features}, {begin, begin + t * features});
}

Own<dl4_tensor> many(const std::vector<dl4_stream *> &list, dl4_tensor *x, const int64_t *steps = nullptr) {
  dl4_tensor *out = nullptr;
  ok(dl4_stream_run_many(list.data(), static_cast<int64_t>(list.size()), steps, &x, 1, &out, 1, nullptr));
  return out;
}

std::vector<float> one(dl4_stream *s, dl4_tensor *x) {
  dl4_tensor *out = nullptr;
  ok(dl4_stream_run(s, &x, 1, &out, 1, nullptr));
  return floats(Own<dl4_tensor>(out));
}

void expect_near(const std::vector<float> &a, const std::vector<float> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << i;
}

TEST(StreamMany, GivesWhatEachGivesAlone) {
  auto s = sequences();
  for (const size_t n : {1, 2, 33, 70}) {
    SCOPED_TRACE(n);
    const auto together = streams(s, n), alone = streams(s, n);
    for (const int64_t t : {2, 1, 3}) {
      auto x = rows(static_cast<int64_t>(n), t);
      const auto y = floats(many(handles(together), x));
      std::vector<float> expected;
      for (size_t i = 0; i < n; ++i)
        for (const float v : one(alone[i], row(x, static_cast<int64_t>(i), t))) expected.push_back(v);
      expect_near(y, expected);
    }
  }
}

TEST(StreamMany, EachTakesItsOwnNumberOfSteps) {
  constexpr int64_t n = 40, t = 5;
  for (const bool sequence : {true, false}) {
    auto s = sequence ? sequences() : session_of({{"LSTM", R"({"units": 5})"}});
    const auto together = streams(s, n), alone = streams(s, n);
    std::vector<int64_t> steps;
    for (int64_t i = 0; i < n; ++i) steps.push_back(i * 7 % (t + 1));
    for (int round = 0; round < 2; ++round) {
      auto x = rows(n, t, static_cast<size_t>(round));
      float *data = static_cast<float *>(dl4_tensor_data(x));
      for (int64_t i = 0; i < n; ++i)  // what follows is not read
        std::fill(data + (i * t + steps[static_cast<size_t>(i)]) * features, data + (i + 1) * t * features,
                  std::numeric_limits<float>::quiet_NaN());
      const auto y = floats(many(handles(together), x, steps.data()));
      std::vector<float> expected;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t own = steps[static_cast<size_t>(i)];
        auto part = own ? one(alone[static_cast<size_t>(i)], row(x, i, own)) : std::vector<float>();
        part.resize(sequence ? t * 5 : 5);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      expect_near(y, expected);
    }
  }
}

// Few steps write their own places of a ring alone, many turn it; both in the same streams, among single runs.
TEST(StreamMany, RingsGoOnFromWhereTheyAre) {
  constexpr int64_t n = 37;
  auto s = session_of({{"Conv1D", R"({"filters": 4, "kernel_size": 3, "padding": "causal"})"},
                       {"Conv1D", R"({"filters": 5, "kernel_size": 2, "padding": "causal", "dilation_rate": 5})"},
                       {"GRU", R"({"units": 5, "return_sequences": true})"}});
  const auto together = streams(s, n), alone = streams(s, n);
  size_t from = 0;
  for (const int64_t t : {1, 1, 2, 9, 1, 70, 3, 1}) {
    SCOPED_TRACE(t);
    from += 11;
    auto x = rows(n, t, from);
    std::vector<int64_t> steps;
    for (int64_t i = 0; i < n; ++i) steps.push_back(t == 9 || t == 3 ? i % (t + 1) : t);
    const auto y = floats(many(handles(together), x, t == 9 || t == 3 ? steps.data() : nullptr));
    std::vector<float> expected;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t own = steps[static_cast<size_t>(i)];
      auto part = own ? one(alone[static_cast<size_t>(i)], row(x, i, own)) : std::vector<float>();
      part.resize(static_cast<size_t>(t * 5));
      expected.insert(expected.end(), part.begin(), part.end());
    }
    ASSERT_NO_FATAL_FAILURE(expect_near(y, expected));
    for (size_t i = 0; i < 3; ++i) {
      auto next = rows(1, 2, from + i);
      expect_near(one(together[i], next), one(alone[i], next));
    }
  }
}

// Attention behind layers: of the sequence to itself, causal.
Own<dl4_session> attends(const char *kind, const char *config,
                         const std::vector<std::pair<const char *, const char *>> &layers,
                         const char *options = R"({"streamable": true, "cache": 200})") {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_session> s;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, -1, features});
  dl4_node y = x;
  for (const auto &[name, how] : layers) y = add(g, name, nullptr, how, y);
  const dl4_node in[] = {y, y};
  ok(dl4_graph_add(g, kind, nullptr, config, R"({"use_causal_mask": true})", nullptr, in, 2, &y, 1));
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_session_create(m, options, s.out()));
  return s;
}

// Streams at different steps: what one gives is behind what others give, and 0 follows.
void expect_counting(dl4_session *s) {
  SCOPED_TRACE(described(s, DL4_FORMAT_JSON));
  constexpr int64_t n = 37;
  const auto together = streams(s, n), again = streams(s, n), alone = streams(s, n);
  size_t from = 0;
  for (const int64_t t : {1, 3, 2, 9, 1, 40, 4, 1}) {
    SCOPED_TRACE(t);
    auto x = rows(n, t, from += 7);
    std::vector<int64_t> steps;
    for (int64_t i = 0; i < n; ++i) steps.push_back(t % 3 == 0 ? i % (t + 1) : t);
    const auto y = floats(many(handles(together), x, t % 3 == 0 ? steps.data() : nullptr));
    const size_t width = y.size() / n;
    for (size_t i = 0; i < n; ++i) {
      SCOPED_TRACE(i);
      auto own = row(x, static_cast<int64_t>(i), t);
      auto part = steps[i] ? one(alone[i], row(x, static_cast<int64_t>(i), steps[i])) : std::vector<float>();
      const auto by_itself = floats(many({again[i]}, own, &steps[i]));
      ASSERT_LE(part.size(), width);
      for (size_t k = 0; k < width; ++k) {
        const float got = y[i * width + k], wanted = k < part.size() ? part[k] : 0;
        ASSERT_EQ(std::isnan(got), std::isnan(wanted)) << k;
        if (!std::isnan(got)) {
          ASSERT_NEAR(got, wanted, 1e-5) << k;
        }
        const float same = k < by_itself.size() ? by_itself[k] : 0;
        ASSERT_EQ(std::memcmp(&got, &same, sizeof got), 0) << k;  // the bits of a run without the others
      }
    }
  }
}

TEST(StreamMany, LateOutputsPositionsAndSeveralStepsAtATime) {
  const std::string lstm = R"({"units": 4, "return_sequences": true})";
  const auto late = R"({"filters": 4, "kernel_size": 5})", halves = R"({"filters": 4, "kernel_size": 3, "strides": 2})";
  const auto causal = R"({"filters": 5, "kernel_size": 3, "padding": "causal", "dilation_rate": 3})";
  expect_counting(session_of({{"Conv1D", late}, {"LSTM", lstm.c_str()}, {"Conv1D", causal}}));
  expect_counting(session_of({{"Conv1D", late}, {"GlobalMaxPooling1D", "{}"}}));
  expect_counting(session_of({{"Conv1D", late}, {"GlobalAveragePooling1D", "{}"}}));
  expect_counting(session_of({{"Conv1D", halves}, {"Conv1D", causal}, {"Conv1D", halves}}));
  expect_counting(session_of({{"Conv1D", halves}, {"LSTM", R"({"units": 4})"}}));
  expect_counting(session_of({{"Conv1D", halves}, {"UpSampling1D", R"({"size": 3})"}, {"GRU", lstm.c_str()}}));
  expect_counting(attends("MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3})", {{"Conv1D", late}}));
  expect_counting(attends("Attention", "{}", {{"Conv1D", halves}}));
  expect_counting(attends("LocalAttention", R"({"window": 4, "gaussian": true})", {}));
  expect_counting(attends("AdditiveAttention", "{}", {{"LSTM", lstm.c_str()}}));
}

// One of many would have more steps than are kept: all stay where they are. A window that slides refuses none.
TEST(StreamMany, ACacheIsFullOfOneStreamAlone) {
  constexpr int64_t n = 37;
  const char *const heads = R"({"num_heads": 2, "key_dim": 3})";
  auto s = attends("MultiHeadAttention", heads, {}, R"({"streamable": true, "cache": 5})");
  const auto together = streams(s, n), twins = streams(s, n);
  auto head = rows(1, 3);
  one(together[20], head);
  one(twins[20], head);
  auto x = rows(n, 2), more = rows(n, 1, 7);
  EXPECT_EQ(floats(many(handles(together), x)), floats(many(handles(twins), x)));
  dl4_tensor *in[] = {more}, *out[] = {nullptr};
  const Refusal r = refusal(dl4_stream_run_many(handles(together).data(), n, nullptr, in, 1, out, 1, nullptr));
  EXPECT_EQ(r.code, DL4_UNSUPPORTED);
  EXPECT_EQ(
      r.message,
      "dl4_stream_run_many: the sequence would have 6 steps, more than its attention keeps; a larger \"cache\" or "
      "\"cache_full\": \"slide\" of the session allows it");
  EXPECT_EQ(out[0], nullptr);
  std::vector<int64_t> steps(n, 1);
  steps[20] = 0;
  EXPECT_EQ(floats(many(handles(together), more, steps.data())), floats(many(handles(twins), more, steps.data())));

  auto sliding = attends("MultiHeadAttention", heads, {}, R"({"streamable": true, "cache": 5, "cache_full": "slide"})");
  const auto all = streams(sliding, n), alone = streams(sliding, n);
  one(all[20], head);
  one(alone[20], head);
  for (const int64_t t : {1, 4, 9, 1}) {
    auto next = rows(n, t, 5);
    std::vector<float> expected;
    for (int64_t i = 0; i < n; ++i)
      for (const float v : one(alone[static_cast<size_t>(i)], row(next, i, t))) expected.push_back(v);
    expect_near(floats(many(handles(all), next)), expected);
  }
}

TEST(StreamMany, TheBitsDoNotDependOnWhoElseRuns) {
  auto s = sequences();
  const auto a = streams(s, 50), b = streams(s, 50);
  auto x = rows(50, 4);
  const auto all = floats(many(handles(a), x));
  for (const int64_t first : {0, 17, 49}) {
    auto own = row(x, first, 4);
    const auto y = floats(many({b[static_cast<size_t>(first)]}, own));
    EXPECT_TRUE(std::equal(y.begin(), y.end(), all.begin() + first * 4 * 5));
  }
  // Any cut, too: and a NaN stays in its stream.
  const auto c = streams(s, 50);
  auto bad = rows(50, 1);
  static_cast<float *>(dl4_tensor_data(bad))[7 * features] = std::numeric_limits<float>::quiet_NaN();
  const auto y = floats(many(handles(c), bad));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 5 == 7) << i;
}

TEST(StreamMany, OutputsOfTheCallersAreWritten) {
  auto s = sequences();
  const auto a = streams(s, 3), b = streams(s, 3);
  auto x = rows(3, 2), y = tensor({3, 2, 5});
  dl4_tensor *in[] = {x}, *out[] = {y};
  ok(dl4_stream_run_many(handles(a).data(), 3, nullptr, in, 1, out, 1, nullptr));
  EXPECT_EQ(floats(y), floats(many(handles(b), x)));
}

TEST(StreamMany, AFailureLeavesAllWhereTheyWere) {
  auto s = session_of({{"Embedding", R"({"input_dim": 5, "output_dim": 3})"}, {"LSTM", R"({"units": 4})"}}, true);
  const auto a = streams(s, 40), b = streams(s, 40);
  auto x = tensor({40, 2}, {}, DL4_INT32);
  auto *ids = static_cast<int32_t *>(dl4_tensor_data(x));
  for (int i = 0; i < 80; ++i) ids[i] = i % 5;
  ids[79] = 5;
  dl4_tensor *in[] = {x}, *out[] = {nullptr};
  EXPECT_EQ(refusal(dl4_stream_run_many(handles(a).data(), 40, nullptr, in, 1, out, 1, nullptr)).code,
            DL4_INVALID_ARGUMENT);
  EXPECT_EQ(out[0], nullptr);
  ids[79] = 4;
  EXPECT_EQ(floats(many(handles(a), x)), floats(many(handles(b), x)));
}

TEST(StreamMany, AFailureLeavesRingsWhereTheyWere) {
  auto s = session_of({{"Embedding", R"({"input_dim": 5, "output_dim": 3})"},
                       {"Conv1D", R"({"filters": 4, "kernel_size": 6, "padding": "causal"})"}},
                      true);
  const auto a = streams(s, 40), b = streams(s, 40);
  for (const int64_t t : {1, 2, 20}) {
    auto x = tensor({40, t}, {}, DL4_INT32);
    auto *ids = static_cast<int32_t *>(dl4_tensor_data(x));
    for (int64_t i = 0; i < 40 * t; ++i) ids[i] = static_cast<int32_t>(i * 3 % 5);
    EXPECT_EQ(floats(many(handles(a), x)), floats(many(handles(b), x)));
    ids[40 * t - 1] = 5;
    dl4_tensor *in[] = {x}, *out[] = {nullptr};
    EXPECT_EQ(refusal(dl4_stream_run_many(handles(a).data(), 40, nullptr, in, 1, out, 1, nullptr)).code,
              DL4_INVALID_ARGUMENT);
    ids[40 * t - 1] = 1;
    EXPECT_EQ(floats(many(handles(a), x)), floats(many(handles(b), x)));
  }
}

TEST(StreamMany, Refusals) {
  auto s = sequences(), other = sequences();
  const auto a = streams(s, 2), foreign = streams(other, 1), wide = streams(s, 1, R"({"batch": 2})");
  auto x = rows(2, 3);
  const auto why = [&](std::vector<dl4_stream *> list, dl4_tensor *in, std::vector<int64_t> steps = {},
                       dl4_tensor *out = nullptr) {
    return refusal(dl4_stream_run_many(list.data(), static_cast<int64_t>(list.size()),
                                       steps.empty() ? nullptr : steps.data(), &in, 1, &out, 1, nullptr));
  };
  EXPECT_EQ(why({a[0], foreign[0]}, x).message,
            "dl4_stream_run_many: \"streams\": streams[1] is of another session than streams[0]");
  EXPECT_EQ(why({a[0], a[0]}, x).message, "dl4_stream_run_many: \"streams\": streams[1] is streams[0] again");
  EXPECT_EQ(why({a[0], wide[0]}, x).code, DL4_UNSUPPORTED);
  EXPECT_EQ(why({a[0]}, x).code, DL4_SHAPE_MISMATCH);
  EXPECT_EQ(why({a[0], a[1]}, x, {1, 4}).message,
            "dl4_stream_run_many: steps[1]: expected 0 to 3 as the inputs have, got 4");
  EXPECT_EQ(why({a[0], a[1]}, x, {-1, 4}).code, DL4_SHAPE_MISMATCH);
  EXPECT_EQ(why({a[0], a[1]}, x, {}, tensor({2, 2, 5})).code, DL4_SHAPE_MISMATCH);
  EXPECT_EQ(why({}, x).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(floats(many(handles(a), x)).size(), 2u * 3 * 5);  // none is still taken
}

TEST(StreamFork, GoesOnFromThereOnItsOwn) {
  auto s = sequences();
  const auto a = streams(s, 2);
  auto head = rows(1, 3), left = rows(1, 2, 5), right = rows(1, 2, 9);
  one(a[0], head);
  one(a[1], head);
  Own<dl4_stream> fork;
  ok(dl4_stream_fork(a[0], nullptr, fork.out()));
  const auto in_fork = one(fork, left), in_first = one(a[0], right);
  EXPECT_EQ(one(a[1], left), in_fork);
  EXPECT_NE(in_fork, in_first);
  const auto more = one(fork, right);
  ok(dl4_stream_reset(a[1]));
  for (dl4_tensor *part : {head.get(), left.get()}) one(a[1], part);
  EXPECT_EQ(one(a[1], right), more);
  dl4_stream *none = nullptr;
  EXPECT_EQ(refusal(dl4_stream_fork(a[0], R"({"sed": 1})", &none)).code, DL4_INVALID_ARGUMENT);
}

TEST(StreamReset, OneRowBeginsAgain) {
  auto s = sequences();
  const auto a = streams(s, 2, R"({"batch": 3})");
  auto head = rows(3, 4), tail = rows(3, 2, 3);
  one(a[0], head);
  one(a[1], head);
  ok(dl4_stream_reset_row(a[0], 1));
  const auto y = one(a[0], tail), other = one(a[1], tail);
  const auto fresh = streams(s, 1, R"({"batch": 3})");
  const auto begun = one(fresh[0], tail);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i / 10 == 1 ? begun[i] : other[i]) << i;
  EXPECT_EQ(refusal(dl4_stream_reset_row(a[0], 3)).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(refusal(dl4_stream_reset_row(a[0], -1)).code, DL4_INVALID_ARGUMENT);
}

// One of them is at work in another thread, or in this call's callback (stream_next_test.cpp).
TEST(StreamFork, OneInUseIsBusy) {
  auto s = session_of({{"LSTM", R"({"units": 64, "return_sequences": true})"}});
  const auto a = streams(s, 2);
  auto x = rows(1, 20000);
  std::atomic<bool> done{false};
  std::thread runs([&] {
    // A fork under way is a use too.
    dl4_tensor *in = x, *out = nullptr;
    while (dl4_error *e = dl4_stream_run(a[0], &in, 1, &out, 1, nullptr)) EXPECT_EQ(refusal(e).code, DL4_BUSY);
    Own<dl4_tensor> made(out);
    done = true;
  });
  int32_t seen = DL4_OK;
  while (!done && seen == DL4_OK) {
    Own<dl4_stream> fork;
    dl4_error *e = dl4_stream_fork(a[0], nullptr, fork.out());
    seen = e ? refusal(e).code : DL4_OK;
  }
  runs.join();
  EXPECT_EQ(seen, DL4_BUSY);
}

}  // namespace
