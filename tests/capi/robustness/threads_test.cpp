// Many threads at once: sessions give the same bits, other objects say BUSY, callbacks stay on the caller's thread.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

Own<dl4_trainer> classifier(dl4_model *m) {
  return trainer(m, R"({"optimizer": "Adam", "loss": "MeanSquaredError", "metrics": ["mae"]})");
}

TEST(Threads, OneSessionOnSixteenThreadsGivesTheSameBits) {
  auto model = small_net();
  Own<dl4_session> session;
  ok(dl4_session_create(model, nullptr, session.out()));
  constexpr int threads = 16, sizes = 5, rounds = 20;
  std::vector<std::vector<float>> expected;
  for (int64_t b = 1; b <= sizes; ++b) {
    auto x = tensor({b, 4}, numbers(static_cast<size_t>(b) * 4));
    dl4_tensor *in = x;
    Own<dl4_tensor> y;
    ok(dl4_session_run(session, &in, 1, y.out(), 1, nullptr));
    expected.push_back(floats(y));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      for (int round = 0; round < rounds; ++round) {
        int64_t b = 1 + (t + round) % sizes;
        auto x = tensor({b, 4}, numbers(static_cast<size_t>(b) * 4));
        dl4_tensor *in = x;
        Own<dl4_tensor> y;
        ok(dl4_session_run(session, &in, 1, y.out(), 1, nullptr));
        if (floats(y) != expected[static_cast<size_t>(b - 1)]) ++wrong;
      }
    });
  }
  for (auto &thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Memory that keeps whoever asks for it waiting.
struct Waiting {
  std::atomic<int> inside{0};
  std::atomic<bool> open{true};
  static void *take(void *user, int64_t bytes, int64_t align) {
    auto &w = *static_cast<Waiting *>(user);
    ++w.inside;
    while (!w.open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::aligned_alloc(static_cast<size_t>(align), static_cast<size_t>(bytes));
  }
  static void give(void *, void *memory, int64_t) { std::free(memory); }
};

// Graphs are apart, though of one context: each thread builds, runs and trains models of its own, to the same bits.
TEST(Threads, ModelsAreBuiltOnAllOfThemAtOnce) {
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"threads": 2, "seed": 4})", c.out()));
  auto made = [&](std::vector<float> &values) {
    Own<dl4_graph> g, inner;
    Own<dl4_model> m, block;
    ok(dl4_graph_create(c, inner.out()));
    dl4_node x = input(inner, "x", {-1, 5, 4});
    dl4_node y = add(inner, "LSTM", "lstm", R"({"units": 6, "return_sequences": true})", x);
    ok(dl4_graph_build(inner, &x, 1, &y, 1, block.out()));
    ok(dl4_graph_create(c, g.out()));
    x = input(g, "x", {-1, 5, 4});
    ok(dl4_graph_add(g, "Functional", "block", nullptr, nullptr, refs("model", block), &x, 1, &y, 1));
    y = add(g, "Dense", "answer", R"({"units": 2, "activation": "softmax"})", add(g, "Flatten", nullptr, "{}", y));
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    auto t = trainer(m);
    auto in = tensor({8, 5, 4}, numbers(160)), target = tensor({8, 2}, numbers(16));
    dl4_tensor *xs = in, *ys = target;
    for (int i = 0; i < 3; ++i) ok(dl4_trainer_step(t, &xs, 1, &ys, 1, nullptr, 0, nullptr, 0, nullptr));
    values = run(m, {in})[0];
    Own<dl4_blob> bytes;
    Own<dl4_model> again;
    ok(dl4_model_save_bytes(m, nullptr, bytes.out()));
    ok(load_copy(c, dl4_blob_data(bytes), dl4_blob_size(bytes), nullptr, again.out()));
    EXPECT_EQ(run(again, {in})[0], values);
  };
  std::vector<float> expected;
  made(expected);
  constexpr int threads = 8, rounds = 6;
  std::vector<std::vector<float>> found(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) made(found[static_cast<size_t>(t)]);
    });
  for (auto &t : all) t.join();
  for (const auto &values : found) EXPECT_EQ(values, expected);
}

TEST(Threads, MoreShapesThanPlansAreKeptRunAtOnce) {
  constexpr int64_t kept = 64, many = kept + 4;
  Waiting w;
  Own<dl4_context> c;
  Own<dl4_session> session;
  ok(dl4_context_create(nullptr, c.out()));
  ok(dl4_context_set_allocator(c, Waiting::take, Waiting::give, &w));
  auto model = small_net(c);
  ok(dl4_session_create(model, nullptr, session.out()));
  auto run = [&](int64_t rows) {
    auto x = tensor({rows, 4}, numbers(static_cast<size_t>(rows) * 4)), y = tensor({rows, 3});
    dl4_tensor *in = x, *out = y;
    ok(dl4_session_run(session, &in, 1, &out, 1, nullptr));
    return floats(y);
  };
  std::vector<std::vector<float>> expected, got(many);
  for (int64_t rows = 1; rows <= many; ++rows) expected.push_back(run(rows));
  ok(dl4_context_trim(c));
  w.inside = 0;
  w.open = false;
  std::vector<std::thread> all;
  for (int64_t i = 0; i < many; ++i) all.emplace_back([&, i] { got[static_cast<size_t>(i)] = run(i + 1); });
  for (int i = 0; i < 2000 && w.inside < many; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(w.inside, many) << "threads that have a plan";
  w.open = true;
  for (auto &thread : all) thread.join();
  EXPECT_EQ(got, expected);
}

TEST(Threads, ReferencesAreCountedFromAll) {
  auto x = tensor({2, 4});
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        dl4_retain(x);
        dl4_release(x);
      }
    });
  }
  for (auto &thread : all) thread.join();
  EXPECT_EQ(dl4_tensor_rank(x), 2);
}

struct Fit {
  Own<dl4_model> model = small_net();
  Own<dl4_trainer> trainer = classifier(model);
  Own<dl4_tensor> x = tensor({8, 4}, numbers(32)), y = tensor({8, 3}, numbers(24));
  Own<dl4_dataset> data = dataset(x, y, R"({"batch_size": 4})");
  Own<dl4_cancel> cancel;
  std::thread::id caller = std::this_thread::get_id();
  int events[5] = {}, elsewhere = 0;
  std::function<int32_t(int32_t event)> inside;
  std::vector<double> last;

  Fit() { ok(dl4_cancel_create(cancel.out())); }

  static int32_t progress(void *user, int32_t event, int64_t, int64_t, const double *metrics, int64_t n) {
    auto &f = *static_cast<Fit *>(user);
    ++f.events[event];
    f.elsewhere += std::this_thread::get_id() != f.caller;
    if (event == DL4_EPOCH_END) f.last.assign(metrics, metrics + n);
    return f.inside ? f.inside(event) : 0;
  }
  Refusal run(const std::string &options = R"({"epochs": 3})", dl4_dataset *valid = nullptr) {
    return refusal(dl4_trainer_fit(trainer, data, valid, options.c_str(), progress, this, cancel, nullptr));
  }
};

TEST(Threads, ProgressStaysOnTheCallersThread) {
  Fit f;
  EXPECT_EQ(f.run().message, "");
  EXPECT_EQ(f.elsewhere, 0);
  const int expected[5] = {1, 3, 6, 3, 1};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(f.events[i], expected[i]) << i;
  EXPECT_EQ(f.last.size(), 2u);
}

TEST(Threads, ValidationFollowsTheMetrics) {
  Fit f;
  EXPECT_EQ(f.run(R"({"epochs": 1, "validation_split": 0.5})").message, "");
  EXPECT_EQ(f.last.size(), 4u);
}

TEST(Threads, InsideAProgressCallbackReadingIsAllowedAndWorkIsBusy) {
  Fit f;
  f.inside = [&](int32_t event) {
    if (event != DL4_BATCH_END) return 0;
    double rate = 0;
    dl4_tensor *x = f.x, *y = f.y;
    Own<dl4_session> session;
    Own<dl4_blob> text;
    Own<dl4_tensor> weight;
    ok(dl4_trainer_get_number(f.trainer, "learning_rate", &rate));
    ok(dl4_trainer_set_number(f.trainer, "learning_rate", rate / 2));
    ok(dl4_describe(f.trainer, DL4_FORMAT_JSON, text.out()));
    ok(dl4_model_get_weight(f.model, "hidden/kernel", weight.out()));
    ok(dl4_session_create(f.model, nullptr, session.out()));
    EXPECT_EQ(refusal(dl4_trainer_step(f.trainer, &x, 1, &y, 1, nullptr, 0, nullptr, 0, nullptr)).code, DL4_BUSY);
    EXPECT_EQ(refusal(dl4_trainer_fit(f.trainer, f.data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr)).code,
              DL4_BUSY);
    EXPECT_EQ(refusal(dl4_trainer_apply(f.trainer)).code, DL4_BUSY);
    EXPECT_EQ(refusal(dl4_trainer_load(f.trainer, "x")).code, DL4_BUSY);
    ok(dl4_model_set_weight(f.model, "hidden/kernel", weight));
    EXPECT_EQ(refusal(dl4_model_set_trainable(f.model, "hidden/kernel", 0)).code, DL4_BUSY);
    return 0;
  };
  EXPECT_EQ(f.run().message, "");
}

TEST(Threads, AThreadThatTheCallbackWaitsForMayDoAsIt) {
  Fit f;
  f.inside = [&](int32_t) {
    std::thread([&] {
      double rate = 0;
      dl4_tensor *x = f.x, *y = f.y;
      Own<dl4_tensor> weight;
      Own<dl4_blob> saved;
      ok(dl4_trainer_set_number(f.trainer, "learning_rate", 0.25));
      ok(dl4_trainer_get_number(f.trainer, "learning_rate", &rate));
      EXPECT_EQ(rate, 0.25);
      ok(dl4_model_get_weight(f.model, "hidden/kernel", weight.out()));
      ok(dl4_trainer_save_bytes(f.trainer, saved.out()));
      EXPECT_EQ(refusal(dl4_trainer_step(f.trainer, &x, 1, &y, 1, nullptr, 0, nullptr, 0, nullptr)).code, DL4_BUSY);
      EXPECT_EQ(refusal(dl4_trainer_apply(f.trainer)).code, DL4_BUSY);
      ok(dl4_model_set_weight(f.model, "hidden/kernel", weight));
      EXPECT_EQ(refusal(dl4_model_set_trainable(f.model, "hidden/kernel", 0)).code, DL4_BUSY);
    }).join();
    return 0;
  };
  EXPECT_EQ(f.run(R"({"epochs": 1})").message, "");
}

TEST(Threads, ACallbackThatReturnsWaitsForThoseWhoCameIn) {
  Fit f;
  std::vector<std::thread> guests;
  std::atomic<int> served = 0;
  f.inside = [&](int32_t event) {
    if (event != DL4_BATCH_END) return 0;
    for (int i = 0; i < 2; ++i)
      guests.emplace_back([&] {
        Own<dl4_blob> saved;
        dl4_error *late = dl4_trainer_save_bytes(f.trainer, saved.out());
        served += late == nullptr;
        dl4_release(late);
        dl4_release(dl4_trainer_set_number(f.trainer, "learning_rate", 0.01));
      });
    while (!served) std::this_thread::yield();
    return 0;
  };
  EXPECT_EQ(f.run().message, "");
  for (auto &thread : guests) thread.join();
  EXPECT_GT(served, 0);
}

TEST(Threads, AnotherThreadIsBusyMeanwhile) {
  Fit f;
  auto busy = [&] {
    double rate = 0;
    Own<dl4_tensor> weight;
    EXPECT_EQ(refusal(dl4_trainer_get_number(f.trainer, "learning_rate", &rate)).code, DL4_BUSY);
    EXPECT_EQ(refusal(dl4_trainer_set_number(f.trainer, "learning_rate", 1)).code, DL4_BUSY);
    EXPECT_EQ(refusal(dl4_trainer_apply(f.trainer)).code, DL4_BUSY);
    EXPECT_EQ(refusal(dl4_model_get_weight(f.model, "hidden/kernel", weight.out())).code, DL4_BUSY);
  };
  auto batch = [](void *user, int64_t, dl4_tensor **, int64_t, dl4_tensor **, int64_t, dl4_tensor **, int64_t) {
    std::thread(*static_cast<decltype(busy) *>(user)).join();
    return 1;
  };
  ok(dl4_dataset_from_callback(nullptr, batch, &busy, nullptr, nullptr, f.data.out()));
  EXPECT_EQ(f.run(R"({"epochs": 1})").code, DL4_INVALID_ARGUMENT);  // no batch
}

TEST(Cancel, ByTheFlag) {
  Fit f;
  f.inside = [&](int32_t event) {
    if (event == DL4_BATCH_END) dl4_cancel_trigger(f.cancel);
    return 0;
  };
  EXPECT_EQ(f.run().code, DL4_CANCELLED);
  EXPECT_EQ(dl4_cancel_triggered(f.cancel), 1);
  Own<dl4_session> session;
  ok(dl4_session_create(f.model, nullptr, session.out()));
  dl4_tensor *x = f.x, *y = nullptr;
  EXPECT_EQ(refusal(dl4_session_run(session, &x, 1, &y, 1, f.cancel)).code, DL4_CANCELLED);
  EXPECT_EQ(y, nullptr);
}

struct Feed {
  int batches = 3, asked = 0, elsewhere = 0, released = 0, answer = 0;
  bool leave_out = false;
  std::thread::id caller = std::this_thread::get_id();

  static int32_t batch(void *user, int64_t index, dl4_tensor **x, int64_t nx, dl4_tensor **y, int64_t ny,
                       dl4_tensor **w, int64_t nw) {
    auto &f = *static_cast<Feed *>(user);
    ++f.asked;
    f.elsewhere += std::this_thread::get_id() != f.caller;
    EXPECT_EQ(nx, 1);
    EXPECT_EQ(ny, 1);
    EXPECT_EQ(nw, 1);
    EXPECT_TRUE(!x[0] && !y[0] && !w[0]);
    if (f.answer) return f.answer;
    if (index >= f.batches) return 1;
    const int64_t x_dims[2] = {2, 4}, y_dims[2] = {2, 3};
    ok(dl4_tensor_create(nullptr, DL4_FLOAT32, 2, x_dims, &x[0]));
    if (!f.leave_out) ok(dl4_tensor_create(nullptr, DL4_FLOAT32, 2, y_dims, &y[0]));
    return 0;
  }
  static void release(void *user) { ++static_cast<Feed *>(user)->released; }
  Own<dl4_dataset> data(const std::string &options = "{}") {
    Own<dl4_dataset> d;
    ok(dl4_dataset_from_callback(nullptr, batch, this, release, options.c_str(), d.out()));
    return d;
  }
};

TEST(BatchCallback, IsAskedUntilTheEndAndReleasedOnce) {
  Feed feed;
  Fit f;
  f.data = feed.data();
  EXPECT_EQ(f.run(R"({"epochs": 2})").message, "");
  EXPECT_EQ(feed.asked, 8);
  EXPECT_EQ(feed.elsewhere, 0);
  EXPECT_EQ(f.events[DL4_BATCH_END], 6);
  EXPECT_EQ(feed.released, 0);
  f.data = Own<dl4_dataset>();
  EXPECT_EQ(feed.released, 1);
}

TEST(BatchCallback, FailsByItsAnswerAndByAMissingTensor) {
  Feed failing, lazy;
  failing.answer = 7;
  lazy.leave_out = true;
  Fit f;
  f.data = failing.data();
  Refusal r = f.run();
  EXPECT_EQ(r.code, DL4_CALLBACK_FAILED);
  EXPECT_NE(r.message.find('7'), std::string::npos) << r.message;
  Fit g;
  g.data = lazy.data();
  r = g.run();
  EXPECT_EQ(r.code, DL4_CALLBACK_FAILED);
  EXPECT_NE(r.message.find('y'), std::string::npos) << r.message;
}

TEST(BatchCallback, FeedsPrediction) {
  Feed feed;
  auto model = small_net();
  Own<dl4_session> session;
  ok(dl4_session_create(model, nullptr, session.out()));
  auto data = feed.data(R"({"steps": 2})");
  Own<dl4_tensor> y;
  ok(dl4_session_predict(session, data, nullptr, y.out(), 1));
  EXPECT_EQ(dl4_tensor_dims(y)[0], 4);
  EXPECT_EQ(feed.asked, 2);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
