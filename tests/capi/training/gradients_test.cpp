// Gradients of a session: against the trainer's, on many threads, and what is refused.
#include <thread>

#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

Own<dl4_session> session(const dl4_model *m, const std::string &options) {
  Own<dl4_session> s;
  ok(dl4_session_create(m, options.c_str(), s.out()));
  return s;
}

// All outputs of a run.
std::vector<std::vector<float>> run(dl4_session *s, const std::vector<dl4_tensor *> &in) {
  std::vector<dl4_tensor *> out(static_cast<size_t>(dl4_port_count(s, DL4_OUTPUTS)));
  ok(dl4_session_run(s, in.data(), static_cast<int64_t>(in.size()), out.data(), static_cast<int64_t>(out.size()),
                     nullptr));
  std::vector<std::vector<float>> values;
  for (dl4_tensor *t : out) values.push_back(floats(Own<dl4_tensor>(t)));
  return values;
}

// x [B, T, 4] -> LSTM "lstm" -> Dense "answer" [B, 3]; and a second output, its softmax.
Own<dl4_model> two_heads(dl4_context *c = nullptr) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(c, g.out()));
  dl4_node x = input(g, "x", {-1, -1, 4}), out[2];
  out[0] =
      add(g, "Dense", "answer", R"({"units": 3, "activation": "tanh"})", add(g, "LSTM", "lstm", R"({"units": 5})", x));
  out[1] = add(g, "Softmax", "share", "{}", out[0]);
  ok(dl4_graph_build(g, &x, 1, out, 2, m.out()));
  return m;
}

// Mean squared error as a graph: its gradient is the trainer's, dropout and all.
TEST(Gradients, OfALossAreThoseOfATrainer) {
  for (const char *training : {"true", "false"}) {
    Own<dl4_graph> g;
    Own<dl4_model> m, measured;
    ok(dl4_graph_create(nullptr, g.out()));
    dl4_node in[3] = {input(g, "x", {-1, 4}), input(g, "y", {-1, 3}), -1}, loss = -1;
    dl4_node h = add(g, "Dense", "hidden", R"({"units": 8, "activation": "tanh"})", in[0]);
    if (training[0] == 't') h = add(g, "Dropout", "dropout", R"({"rate": 0.5, "seed": 7})", h);
    dl4_node answer = add(g, "Dense", "answer", R"({"units": 3})", h), pair[2] = {in[1], answer};
    ok(dl4_graph_add(g, "Loss", nullptr, R"({"loss": "mse"})", nullptr, nullptr, pair, 2, &loss, 1));
    ok(dl4_graph_build(g, in, 1, &answer, 1, m.out()));
    ok(dl4_graph_build(g, in, 2, &loss, 1, measured.out()));
    auto x = tensor({5, 4}, numbers(20)), y = tensor({5, 3}, numbers(15));
    auto s = session(
        measured, std::string(R"({"gradients": ["hidden/kernel", "answer/bias", "y"], "training": )") + training + "}");
    const auto got = run(s, {x, y});
    auto t = trainer(m);
    dl4_tensor *const from = x, *const target = y;
    double value = 0;
    ok(dl4_trainer_accumulate(t, &from, 1, &target, 1, nullptr, 0, &value, 1, nullptr));
    EXPECT_FLOAT_EQ(got[0][0], static_cast<float>(value));
    const char *const names[] = {"hidden/kernel", "answer/bias"};
    for (size_t i = 0; i < 2; ++i) {
      Own<dl4_tensor> expected;
      ok(dl4_trainer_get_gradient(t, names[i], expected.out()));
      const auto want = floats(expected);
      ASSERT_EQ(got[i + 1].size(), want.size());
      for (size_t k = 0; k < want.size(); ++k) EXPECT_NEAR(got[i + 1][k], want[k], 1e-6) << names[i] << ' ' << k;
    }
  }
}

TEST(Gradients, AreTheSameOnManyThreads) {
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"threads": 2, "reproducible": "strict"})", c.out()));
  auto m = two_heads(c);
  auto s = session(m, R"({"gradients": ["x", "lstm/kernel"]})");
  auto x = tensor({3, 4, 4}, numbers(48));
  const auto expected = run(s, {x});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) EXPECT_EQ(run(s, {x}), expected);
    });
  for (auto &t : threads) t.join();
}

TEST(Gradients, Refusals) {
  auto m = two_heads();
  auto refused = [&](const std::string &options) {
    Own<dl4_session> s;
    return refusal(dl4_session_create(m, options.c_str(), s.out()));
  };
  struct {
    const char *options;
    int32_t code;
    const char *words;
  } const cases[] = {
      {R"({"gradients": ["lstm/kernle"]})", DL4_NOT_FOUND,
       "no input or weight \"lstm/kernle\"; did you mean \"lstm/kernel\""},
      {R"({"gradients": [3]})", DL4_INVALID_ARGUMENT, "\"gradients\": expected a string, got 3"},
      {R"({"cotangents": true})", DL4_INVALID_ARGUMENT, "\"cotangents\": true needs \"gradients\", got none"},
      {R"({"training": 2})", DL4_INVALID_ARGUMENT, "\"training\": expected true or false, got 2"},
  };
  for (const auto &one : cases) {
    const Refusal r = refused(one.options);
    EXPECT_EQ(r.code, one.code) << r.message;
    EXPECT_NE(r.message.find(one.words), std::string::npos) << r.message;
  }
  auto s = session(m, R"({"gradients": "x", "cotangents": true})");
  auto x = tensor({2, 3, 4}), c = tensor({2, 3}), small = tensor({1, 3}), narrow = tensor({2, 1});
  auto ids = tensor({2, 3}, {}, DL4_INT32);
  auto run_refused = [&](std::vector<dl4_tensor *> in, int64_t n_out = 3) {
    std::vector<dl4_tensor *> out(static_cast<size_t>(n_out));
    Refusal r = refusal(dl4_session_run(s, in.data(), static_cast<int64_t>(in.size()), out.data(), n_out, nullptr));
    for (dl4_tensor *t : out) dl4_release(t);
    return r;
  };
  EXPECT_NE(run_refused({x}).message.find("expected 3 inputs, got 1"), std::string::npos);
  EXPECT_NE(run_refused({x, c, c}, 2).message.find("expected 3 outputs, got 2"), std::string::npos);
  Refusal r = run_refused({x, c, small});
  EXPECT_EQ(r.code, DL4_SHAPE_MISMATCH);
  EXPECT_NE(r.message.find("input \"cotangent of share\": expected shape (2, 3) as output 1 has, got (1, 3)"),
            std::string::npos)
      << r.message;
  EXPECT_EQ(run_refused({x, narrow, c}).code, DL4_SHAPE_MISMATCH);
  EXPECT_EQ(run_refused({x, ids, c}).code, DL4_SHAPE_MISMATCH);
  EXPECT_EQ(run_refused({x, c, c}).code, DL4_OK);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
