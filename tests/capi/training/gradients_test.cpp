// Gradients of a session: against differences, against the trainer's, and what is refused.
#include <algorithm>
#include <cmath>
#include <thread>

#include "capi/use.hpp"

namespace {

using namespace dl4_test;

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

double dot(const std::vector<float> &a, const std::vector<float> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
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

TEST(Gradients, AreTheDifferencesOfTheOutputsTimesTheirCotangents) {
  auto m = two_heads();
  auto s = session(m, R"({"gradients": ["x", "lstm/recurrent_kernel", "answer/bias"], "cotangents": true})");
  ASSERT_EQ(dl4_port_count(s, DL4_INPUTS), 3);
  ASSERT_EQ(dl4_port_count(s, DL4_OUTPUTS), 5);
  EXPECT_STREQ(dl4_port_name(s, DL4_INPUTS, 1), "cotangent of answer");
  EXPECT_STREQ(dl4_port_name(s, DL4_OUTPUTS, 2), "gradient of x");
  EXPECT_STREQ(dl4_port_name(s, DL4_OUTPUTS, 1), "share");
  auto values = numbers(2 * 3 * 4);
  const std::vector<float> c0 = numbers(6), c1{1, -2, 0.5f, 3, 0, -1};
  auto cotangent0 = tensor({2, 3}, c0), cotangent1 = tensor({2, 3}, c1), x = tensor({2, 3, 4}, values);
  const auto got = run(s, {x, cotangent0, cotangent1});
  auto value = [&](dl4_session *plain, dl4_tensor *in) {
    const auto y = run(plain, {in});
    return dot(y[0], c0) + dot(y[1], c1);
  };
  constexpr float step = 1e-2f;
  auto plain = session(m, "{}");
  for (size_t i = 0; i < values.size(); ++i) {
    auto up = values, down = values;
    up[i] += step;
    down[i] -= step;
    auto above = tensor({2, 3, 4}, up), below = tensor({2, 3, 4}, down);
    EXPECT_NEAR(got[2][i], (value(plain, above) - value(plain, below)) / (2 * step), 2e-3) << i;
  }
  for (const auto &[name, at] : {std::pair{"lstm/recurrent_kernel", size_t{3}}, {"answer/bias", size_t{4}}}) {
    Own<dl4_tensor> w;
    ok(dl4_model_get_weight(m, name, w.out()));
    const auto first = floats(w);
    ASSERT_EQ(got[at].size(), first.size());
    for (size_t i = 0; i < first.size(); i += 7) {
      double side[2];
      for (int k : {0, 1}) {
        auto moved = first;
        moved[i] += k ? step : -step;
        ok(dl4_tensor_copy_in(w, moved.data(), dl4_tensor_bytes(w)));
        ok(dl4_model_set_weight(m, name, w));
        side[k] = value(session(m, "{}"), x);
      }
      EXPECT_NEAR(got[at][i], (side[1] - side[0]) / (2 * step), 2e-3) << name << ' ' << i;
      ok(dl4_tensor_copy_in(w, first.data(), dl4_tensor_bytes(w)));
      ok(dl4_model_set_weight(m, name, w));
    }
  }
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

TEST(Gradients, OfASumGoToEachPartAndOfNothingAreZeros) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node in[3] = {input(g, "a", {-1, 2}), input(g, "b", {-1, 2}), input(g, "beside", {-1, 3})}, out = -1;
  ok(dl4_graph_add(g, "Add", nullptr, nullptr, nullptr, nullptr, in, 2, &out, 1));
  ok(dl4_graph_build(g, in, 3, &out, 1, m.out()));
  auto a = tensor({2, 2}, {1, 2, 3, 4}), b = tensor({2, 2}, {5, 6, 7, 8}), beside = tensor({2, 3});
  auto c = tensor({2, 2}, {1, 2, 3, 4});
  auto ones = run(session(m, R"({"gradients": ["a", "b", "beside"]})"), {a, b, beside});
  EXPECT_EQ(ones[0], (std::vector<float>{6, 8, 10, 12}));
  EXPECT_EQ(ones[1], (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(ones[2], ones[1]);
  EXPECT_EQ(ones[3], std::vector<float>(6, 0));
  auto given = run(session(m, R"({"gradients": ["b", "a"], "cotangents": true})"), {a, b, beside, c});
  EXPECT_EQ(given[1], (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(given[2], given[1]);
}

TEST(Gradients, OfAnInputThatIsAnOutput) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1});
  ok(dl4_graph_build(g, &x, 1, &x, 1, m.out()));
  auto in = tensor({2}, {3, 4}), c = tensor({2}, {5, 6});
  EXPECT_EQ(run(session(m, R"({"gradients": "x", "cotangents": true})"), {in, c})[1], (std::vector<float>{5, 6}));
}

TEST(Gradients, OfAnEmbeddingAreASaliencyOfItsWords) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node ids = input(g, "ids", {-1, -1}, DL4_INT32);
  dl4_node y = add(g, "Embedding", "words", R"({"input_dim": 5, "output_dim": 2})", ids);
  y = add(g, "Dense", "score", R"({"units": 1, "kernel_initializer": "ones"})",
          add(g, "GlobalAveragePooling1D", nullptr, "{}", y));
  ok(dl4_graph_build(g, &ids, 1, &y, 1, m.out()));
  const int64_t dims[2] = {1, 4};
  const int32_t words[4] = {3, 1, 3, 0};
  Own<dl4_tensor> in;
  ok(dl4_tensor_create(nullptr, DL4_INT32, 2, dims, in.out()));
  ok(dl4_tensor_copy_in(in, words, sizeof words));
  EXPECT_EQ(run(session(m, R"({"gradients": ["words/embeddings"]})"), {in})[1],
            (std::vector<float>{0.25f, 0.25f, 0.25f, 0.25f, 0, 0, 0.5f, 0.5f, 0, 0}));
  Own<dl4_session> s;
  Refusal r = refusal(dl4_session_create(m, R"({"gradients": ["ids"]})", s.out()));
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("\"gradients\": input \"ids\": expected float32, got int32"), std::string::npos)
      << r.message;
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
      {R"({"gradients": ["x", "x"]})", DL4_INVALID_ARGUMENT, "\"gradients\": \"x\" is listed twice"},
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

  // Nothing to differentiate.
  Own<dl4_graph> g;
  Own<dl4_model> integers;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node in[2] = {input(g, "x", {-1}), input(g, "n", {-1}, DL4_INT32)};
  ok(dl4_graph_build(g, in, 2, in + 1, 1, integers.out()));
  Own<dl4_session> none;
  r = refusal(dl4_session_create(integers, R"({"gradients": ["x"]})", none.out()));
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("no float32 output"), std::string::npos) << r.message;
}

TEST(SessionTraining, DropsByTheNumberOfTheRun) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 100}), y = add(g, "Dropout", nullptr, R"({"rate": 0.5})", x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  auto in = tensor({2, 100}, std::vector<float>(200, 1));
  auto once = session(m, R"({"training": true})"), again = session(m, R"({"training": true})");
  const auto first = run(once, {in}), second = run(once, {in});
  const auto dropped = std::count(first[0].begin(), first[0].end(), 0.f);
  EXPECT_GT(dropped, 50);
  EXPECT_LT(dropped, 150);
  EXPECT_NE(first, second);
  EXPECT_EQ(run(again, {in}), first);
  EXPECT_EQ(run(again, {in}), second);
  EXPECT_EQ(run(session(m, "{}"), {in})[0], std::vector<float>(200, 1));
}

TEST(SessionTraining, IsWhatACallWithTrainingSaysToo) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 100}), y = -1;
  ok(dl4_graph_add(g, "Dropout", nullptr, R"({"rate": 0.5})", R"({"training": true})", nullptr, &x, 1, &y, 1));
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  auto in = tensor({1, 100}, std::vector<float>(100, 1));
  EXPECT_EQ(run(session(m, "{}"), {in}), run(session(m, R"({"training": true})"), {in}));
}

}  // namespace
