// Many streams in one call, forks, and rows that begin again.
#include <thread>

#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

constexpr int64_t features = 3;

Own<dl4_session> sequences(const char *units = "4") {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_session> s;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, -1, features});
  const std::string lstm = R"({"return_sequences": true, "units": )" + std::string(units) + "}";
  const dl4_node y =
      add(g, "GRU", nullptr, R"({"units": 5, "return_sequences": true})", add(g, "LSTM", nullptr, lstm, x));
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_session_create(m, R"({"states": true})", s.out()));
  return s;
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

Own<dl4_tensor> many(const std::vector<dl4_stream *> &list, dl4_tensor *x) {
  dl4_tensor *out = nullptr;
  ok(dl4_stream_run_many(list.data(), static_cast<int64_t>(list.size()), nullptr, &x, 1, &out, 1, nullptr));
  return out;
}

std::vector<float> one(dl4_stream *s, dl4_tensor *x) {
  dl4_tensor *out = nullptr;
  ok(dl4_stream_run(s, &x, 1, &out, 1, nullptr));
  return floats(Own<dl4_tensor>(out));
}

TEST(StreamMany, OutputsOfTheCallersAreWritten) {
  auto s = sequences();
  const auto a = streams(s, 3), b = streams(s, 3);
  auto x = rows(3, 2), y = tensor({3, 2, 5});
  dl4_tensor *in[] = {x}, *out[] = {y};
  ok(dl4_stream_run_many(handles(a).data(), 3, nullptr, in, 1, out, 1, nullptr));
  EXPECT_EQ(floats(y), floats(many(handles(b), x)));
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
  auto s = sequences("64");
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
}  // namespace dl4_test::DL4_FILE
