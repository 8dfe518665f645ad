// The next id of a stream: with which generator it is drawn, and what a logits function may do.
#include <cmath>
#include <limits>

#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

constexpr int32_t vocabulary = 7;
constexpr float excluded = -std::numeric_limits<float>::infinity();

Own<dl4_model> language(const char *activation = "linear", bool all_steps = true) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "ids", {-1, -1}, DL4_INT32);
  dl4_node y = add(g, "Embedding", nullptr, R"({"input_dim": 7, "output_dim": 4})", x);
  y = add(g, "GRU", nullptr, all_steps ? R"({"units": 8, "return_sequences": true})" : R"({"units": 8})", y);
  y = add(g, "Dense", nullptr, std::string(R"({"units": 7, "activation": ")") + activation + "\"}", y);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

struct Talker {
  Own<dl4_session> session;
  Own<dl4_stream> stream;
  int64_t batch;
  explicit Talker(const dl4_model *m, int64_t batch = 1, int64_t seed = 0) : batch(batch) {
    ok(dl4_session_create(m, R"({"states": true})", session.out()));
    const std::string options = "{\"batch\": " + std::to_string(batch) + ", \"seed\": " + std::to_string(seed) + "}";
    ok(dl4_stream_create(session, options.c_str(), stream.out()));
  }
  dl4_error *next(const std::vector<int64_t> &given, const char *options, std::vector<int64_t> &ids,
                  dl4_logits_fn logits = nullptr, void *user = nullptr) {
    auto x = tensor({batch, static_cast<int64_t>(given.size()) / batch}, {}, DL4_INT32);
    std::copy(given.begin(), given.end(), static_cast<int32_t *>(dl4_tensor_data(x)));
    ids.assign(static_cast<size_t>(batch), -1);
    dl4_tensor *in[] = {x};
    return dl4_stream_next(stream, in, 1, options, logits, user, ids.data(), batch, nullptr);
  }
  // What it says after a prompt.
  std::vector<int64_t> say(std::vector<int64_t> given, int n, const char *options, dl4_logits_fn logits = nullptr,
                           void *user = nullptr) {
    std::vector<int64_t> all;
    for (int i = 0; i < n; ++i) {
      std::vector<int64_t> ids;
      ok(next(given, options, ids, logits, user));
      all.insert(all.end(), ids.begin(), ids.end());
      given = ids;
    }
    return all;
  }
};

// Gives these logits, whatever the model says.
struct Fixed {
  std::vector<float> logits;
  static int32_t give(void *user, dl4_tensor *t) {
    const auto &own = static_cast<Fixed *>(user)->logits;
    auto *data = static_cast<float *>(dl4_tensor_data(t));
    for (int64_t b = 0; b < dl4_tensor_dims(t)[0]; ++b) std::copy(own.begin(), own.end(), data + b * vocabulary);
    return 0;
  }
};

TEST(StreamNext, TemperatureZeroTakesTheLikeliestOfTheLastStep) {
  for (const bool all_steps : {true, false}) {
    auto m = language("linear", all_steps);
    Talker t(m), by_hand(m);
    auto x = tensor({1, 3}, {}, DL4_INT32);
    std::vector<int64_t> given{1, 5, 2};
    for (int i = 0; i < 5; ++i) {
      const auto n = static_cast<int64_t>(given.size());
      auto part = tensor({1, n}, {}, DL4_INT32);
      std::copy(given.begin(), given.end(), static_cast<int32_t *>(dl4_tensor_data(part)));
      dl4_tensor *in[] = {part}, *out[] = {nullptr};
      ok(dl4_stream_run(by_hand.stream, in, 1, out, 1, nullptr));
      const auto logits = floats(Own<dl4_tensor>(out[0]));
      const auto last = logits.end() - vocabulary;
      std::vector<int64_t> ids;
      ok(t.next(given, R"({"temperature": 0})", ids));
      EXPECT_EQ(ids[0], std::max_element(last, logits.end()) - last);
      given = ids;
    }
  }
}

TEST(StreamNext, TheGeneratorIsTheStreams) {
  auto m = language();
  const char *options = R"({"temperature": 1.5})";
  Talker a(m, 2, 7), b(m, 2, 7), other(m, 2, 8);
  const auto first = a.say({1, 2}, 20, options);
  EXPECT_EQ(b.say({1, 2}, 20, options), first);
  EXPECT_NE(other.say({1, 2}, 20, options), first);
  // Saved, loaded, forked, reset.
  Own<dl4_blob> bytes;
  ok(dl4_stream_save_bytes(a.stream, bytes.out()));
  Talker forked(m, 2), seeded(m, 2);
  ok(dl4_stream_fork(a.stream, nullptr, forked.stream.out()));
  ok(dl4_stream_fork(a.stream, R"({"seed": 9})", seeded.stream.out()));
  const auto more = a.say({1, 2}, 20, options);
  EXPECT_EQ(forked.say({1, 2}, 20, options), more);
  EXPECT_NE(seeded.say({1, 2}, 20, options), more);
  ok(dl4_stream_load_bytes(other.stream, dl4_blob_data(bytes), dl4_blob_size(bytes)));
  EXPECT_EQ(other.say({1, 2}, 20, options), more);
  ok(dl4_stream_reset(a.stream));
  EXPECT_EQ(a.say({1, 2}, 20, options), first);
}

TEST(StreamNext, AStopIdEndsItsSequenceAlone) {
  auto m = language();
  Talker t(m, 2, 1);
  const auto ids = t.say({1, 2}, 60, R"({"stop": [3, 6], "temperature": 2})");
  for (size_t row = 0; row < 2; ++row) {
    size_t end = 0;
    while (end < 60 && ids[2 * end + row] != 3 && ids[2 * end + row] != 6) ++end;
    ASSERT_LT(end, 60u);
    for (size_t i = end; i < 60; ++i) EXPECT_EQ(ids[2 * i + row], ids[2 * end + row]);
  }
  ok(dl4_stream_reset_row(t.stream, 0));
  const auto again = t.say({1, 2}, 60, R"({"stop": [3, 6], "temperature": 2})");
  EXPECT_EQ(again[1], ids.back());
  EXPECT_EQ(again[0], ids[0]);  // from its first state, with its first number
}

TEST(StreamNext, AGrammarsMaskExcludes) {
  const auto odd = [](void *, dl4_tensor *t) -> int32_t {
    for (int i = 0; i < vocabulary; i += 2) static_cast<float *>(dl4_tensor_data(t))[i] = excluded;
    return 0;
  };
  auto m = language();
  for (const int64_t id : Talker(m).say({1}, 50, nullptr, odd)) EXPECT_EQ(id % 2, 1);
}

TEST(StreamNext, AFailureLeavesTheStreamWhereItWas) {
  auto m = language();
  Talker a(m, 1, 5), b(m, 1, 5);
  a.say({1}, 3, nullptr);
  b.say({1}, 3, nullptr);
  std::vector<int64_t> ids;
  const auto fails = [](void *, dl4_tensor *) -> int32_t { return 17; };
  Refusal r = refusal(a.next({2}, nullptr, ids, fails));
  EXPECT_EQ(r.code, DL4_CALLBACK_FAILED);
  EXPECT_EQ(r.message, "dl4_stream_next: the logits function gave 17");
  Fixed bad{{0, 0, std::nanf(""), 0, 0, 0, 0}};
  r = refusal(a.next({2, 3}, nullptr, ids, Fixed::give, &bad));
  EXPECT_EQ(r.message, "dl4_stream_next: logit 2 of sequence 0 is nan");
  bad.logits[2] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refusal(a.next({2}, nullptr, ids, Fixed::give, &bad)).code, DL4_NUMERIC);
  bad.logits[2] = -0.5f;
  EXPECT_EQ(refusal(a.next({2}, R"({"from_logits": false})", ids, Fixed::give, &bad)).code, DL4_NUMERIC);
  Fixed none{std::vector<float>(vocabulary, excluded)};
  EXPECT_EQ(refusal(a.next({2}, nullptr, ids, Fixed::give, &none)).message,
            "dl4_stream_next: sequence 0: no id may be drawn, all are excluded");
  EXPECT_EQ(refusal(a.next({vocabulary}, nullptr, ids)).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(a.say({2, 4}, 20, nullptr), b.say({2, 4}, 20, nullptr));
}

TEST(StreamNext, InTheFunctionTheStreamIsInUse) {
  auto m = language();
  Talker t(m);
  struct Calls {
    dl4_stream *stream;
    std::vector<int32_t> codes{};
  } calls{t.stream};
  const auto tries = [](void *user, dl4_tensor *) -> int32_t {
    auto &c = *static_cast<Calls *>(user);
    dl4_stream *fork = nullptr;
    c.codes.push_back(refusal(dl4_stream_fork(c.stream, nullptr, &fork)).code);
    c.codes.push_back(refusal(dl4_stream_reset(c.stream)).code);
    c.codes.push_back(refusal(dl4_stream_reset_row(c.stream, 0)).code);
    return 0;
  };
  std::vector<int64_t> ids;
  ok(t.next({1}, nullptr, ids, tries, &calls));
  EXPECT_EQ(calls.codes, (std::vector<int32_t>{DL4_BUSY, DL4_BUSY, DL4_BUSY}));
}

TEST(StreamNext, Refusals) {
  auto m = language();
  Talker t(m);
  std::vector<int64_t> ids;
  for (const char *options : {R"({"temperature": -1})", R"({"top_p": 1.5})", R"({"top_k": -1})", R"({"stop": "x"})"})
    EXPECT_EQ(refusal(t.next({1}, options, ids)).code, DL4_INVALID_ARGUMENT) << options;
  EXPECT_EQ(refusal(t.next({1}, R"({"topk": 1})", ids)).code, DL4_INVALID_ARGUMENT);
  auto x = tensor({1, 1}, {}, DL4_INT32);
  dl4_tensor *in[] = {x};
  int64_t two[2];
  EXPECT_EQ(refusal(dl4_stream_next(t.stream, in, 1, nullptr, nullptr, nullptr, two, 2, nullptr)).message,
            "dl4_stream_next: \"n\": expected 1, the stream's batch, got 2");
  Own<dl4_graph> g;
  Own<dl4_model> images;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node a = input(g, "x", {-1, -1, 2, 3}), b = add(g, "Dense", nullptr, R"({"units": 2})", a);
  ok(dl4_graph_build(g, &a, 1, &b, 1, images.out()));
  Talker of_images(images);
  auto image = tensor({1, 1, 2, 3});
  dl4_tensor *image_in[] = {image};
  EXPECT_EQ(refusal(dl4_stream_next(of_images.stream, image_in, 1, nullptr, nullptr, nullptr, two, 1, nullptr)).message,
            "dl4_stream_next: expected a model with one output, logits float32 [B, V] or [B, T, V], got float32 "
            "(1, 1, 2, 2)");
}

// The second row has no id that may be drawn: the first one's is not given either.
TEST(Next, AFailureOfOneRowGivesNoId) {
  Talker t(language(), 2);
  const dl4_logits_fn excludes = [](void *, dl4_tensor *logits) {
    auto *data = static_cast<float *>(dl4_tensor_data(logits));
    std::fill_n(data + vocabulary, vocabulary, excluded);
    return 0;
  };
  std::vector<int64_t> ids;
  EXPECT_EQ(refusal(t.next({1, 2}, nullptr, ids, excludes)).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(ids, (std::vector<int64_t>{-1, -1}));
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
