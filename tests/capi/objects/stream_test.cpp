// Streams: states kept, saved and refused; layers that are stateful.
#include <cmath>
#include <cstring>
#include <thread>

#include "capi/signed.hpp"
#include "capi/streams.hpp"

namespace dl4_test::DL4_FILE {
namespace {

constexpr int64_t features = 3, steps = 9;
Own<dl4_tensor> floats_of(int64_t batch) {
  return tensor({batch, steps, features}, numbers(static_cast<size_t>(batch * steps * features)));
}

Own<dl4_tensor> ids_of(int64_t batch) {
  auto t = tensor({batch, steps}, {}, DL4_INT32);
  for (int32_t i = 0; i < batch * steps; ++i) static_cast<int32_t *>(dl4_tensor_data(t))[i] = i * i * 7 % 5;
  return t;
}

TEST(Stream, HasThePortsOfItsModel) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, -1, 3}), y = add(g, "LSTM", "lstm", R"({"units": 2})", x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  auto s = session(m);
  Own<dl4_stream> stream;
  ok(dl4_stream_create(s, nullptr, stream.out()));
  EXPECT_EQ(dl4_port_count(s, DL4_INPUTS), 3);
  s = {};
  EXPECT_EQ(dl4_port_count(stream, DL4_INPUTS), 1);
  EXPECT_EQ(dl4_port_count(stream, DL4_OUTPUTS), 1);
  EXPECT_STREQ(dl4_port_name(stream, DL4_INPUTS, 0), "x");
  EXPECT_STREQ(dl4_port_name(stream, DL4_OUTPUTS, 0), "lstm");
  EXPECT_EQ(dl4_port_name(stream, DL4_INPUTS, 1), nullptr);
  EXPECT_EQ(dl4_port_dtype(stream, DL4_INPUTS, 0), DL4_FLOAT32);
  int64_t dims[3];
  int32_t rank = 0;
  ok(dl4_port_shape(stream, DL4_INPUTS, 0, dims, 3, &rank));
  EXPECT_EQ(std::vector<int64_t>(dims, dims + rank), (std::vector<int64_t>{-1, -1, 3}));
}

// As dl4_session_create() says of "states".
TEST(Stream, StatesOfASessionHaveTheOutputThatAMaskedStepRepeats) {
  for (const char *kind : {"LSTM", "GRU", "SimpleRNN"}) {
    SCOPED_TRACE(kind);
    auto m = model({{"Embedding", R"({"input_dim": 5, "output_dim": 3, "mask_zero": true})"},
                    {kind, R"({"units": 2, "return_sequences": true})"}},
                   {-1, -1}, DL4_INT32);
    auto s = session(m);
    const int64_t inputs = dl4_port_count(s, DL4_INPUTS);
    ASSERT_GE(inputs, 3);
    EXPECT_NE(std::string(dl4_port_name(s, DL4_INPUTS, inputs - 1)).find("/rnn_output"), std::string::npos);
    const auto run = [&](std::vector<int32_t> ids, const std::vector<Own<dl4_tensor>> &states) {
      auto x = tensor({1, 2}, {}, DL4_INT32);
      std::copy(ids.begin(), ids.end(), static_cast<int32_t *>(dl4_tensor_data(x)));
      std::vector<dl4_tensor *> in{x}, out(static_cast<size_t>(inputs));
      for (const auto &state : states) in.push_back(state);
      ok(dl4_session_run(s, in.data(), inputs, out.data(), inputs, nullptr));
      return std::vector<Own<dl4_tensor>>(out.begin(), out.end());
    };
    const auto row = [](dl4_tensor *y, int64_t step) {
      const auto *data = static_cast<const float *>(dl4_tensor_data(y)) + step * 2;
      return std::vector<float>(data, data + 2);
    };
    const auto states_of = [](std::vector<Own<dl4_tensor>> out) {
      out.erase(out.begin());
      return out;
    };
    std::vector<Own<dl4_tensor>> zeros;
    for (int64_t i = 1; i < inputs; ++i) zeros.push_back(tensor({1, 2}, {0, 0}));
    auto first = run({1, 2}, zeros);
    const auto last = row(first[0], 1);
    auto states = states_of(std::move(first));
    auto whole = run({0, 3}, states);  // the sequence 1 2 0 3
    EXPECT_EQ(row(whole[0], 0), last);
    states.back() = tensor({1, 2}, {0, 0});
    auto keras = run({0, 3}, states);
    EXPECT_EQ(row(keras[0], 0), (std::vector<float>{0, 0}));
    EXPECT_EQ(row(keras[0], 1), row(whole[0], 1));
  }
}

TEST(Stream, GoesOnFromItsBytesAndRefusesForeignOnes) {
  const std::vector<Layer> net{{"LSTM", R"({"units": 4, "return_sequences": true})"}};
  auto m = model(net);
  auto s = session(m);
  auto a = stream(s), b = stream(s);
  auto x = floats_of(1), head = part(x, 0, 4), tail = part(x, 4, steps);
  take(a, head);
  Own<dl4_blob> bytes;
  ok(dl4_stream_save_bytes(a, bytes.out()));
  ok(dl4_stream_load_bytes(b, dl4_blob_data(bytes), dl4_blob_size(bytes)));
  const auto expected = floats(take(a, tail));
  EXPECT_EQ(floats(take(b, tail)), expected);

  const auto load = [&](dl4_stream *to, const std::string &from) {
    return refusal(dl4_stream_load_bytes(to, from.data(), static_cast<int64_t>(from.size())));
  };
  std::string good(dl4_blob_data(bytes), static_cast<size_t>(dl4_blob_size(bytes)));
  auto other = model({{"GRU", R"({"units": 4})"}}), wide = model({{"LSTM", R"({"units": 8})"}});
  auto more = model({{"LSTM", R"({"units": 4, "return_sequences": true})"}, {"GRU", R"({"units": 4})"}});
  auto s_other = session(other), s_wide = session(wide), s_more = session(more);
  EXPECT_EQ(load(stream(s_other), good).message, "dl4_stream_load_bytes: the bytes have no state \"gru/rnn_state\"");
  EXPECT_EQ(load(stream(s_wide), good).message,
            "dl4_stream_load_bytes: state \"lstm/rnn_state\": expected float32 (1, 8), the bytes have float32 (1, 4)");
  EXPECT_EQ(load(stream(s_more), good).code, DL4_NOT_FOUND);
  EXPECT_EQ(load(stream(s, 2), good).code, DL4_SHAPE_MISMATCH);
  auto t_more = stream(s_more);
  Own<dl4_blob> larger;
  ok(dl4_stream_save_bytes(t_more, larger.out()));
  EXPECT_EQ(load(b, {dl4_blob_data(larger), static_cast<size_t>(dl4_blob_size(larger))}).code, DL4_SHAPE_MISMATCH);
  EXPECT_EQ(load(b, saved(m)).message, "dl4_stream_load_bytes: this is not a dl4-states file but a dl4-model file");
  EXPECT_EQ(load(b, good.substr(0, good.size() / 2)).code, DL4_CORRUPT_FILE);
  for (const int64_t taken : {int64_t{-1}, INT64_MIN, INT64_MAX}) {
    uint64_t size = 0;
    std::memcpy(&size, good.data(), 8);
    const auto header = nlohmann::json::parse(good.substr(8, size));
    std::string data = good.substr(8 + size);
    std::memcpy(data.data() + header["steps"]["data_offsets"][0].get<size_t>(), &taken, 8);
    EXPECT_NE(load(b, with_sums(header, data)).message.find("state \"steps\": expected a number"), std::string::npos);
  }
  good.back() = static_cast<char>(good.back() ^ 1);
  EXPECT_EQ(load(b, good).code, DL4_CORRUPT_FILE);
  ok(dl4_stream_load_bytes(b, dl4_blob_data(bytes), dl4_blob_size(bytes)));  // none of it has changed what follows
  EXPECT_EQ(floats(take(b, tail)), expected);
}

TEST(Stream, AFailureLeavesItWhereItWas) {
  auto m =
      model({{"Embedding", R"({"input_dim": 5, "output_dim": 3})"}, {"LSTM", R"({"units": 4})"}}, {-1, -1}, DL4_INT32);
  auto s = session(m);
  auto a = stream(s), b = stream(s);
  auto x = ids_of(1), head = part(x, 0, 2), bad = part(x, 2, 6), tail = part(x, 2, steps);
  static_cast<int32_t *>(dl4_tensor_data(bad))[3] = 9;
  for (dl4_stream *t : {a.get(), b.get()}) take(t, head);
  dl4_tensor *const in[] = {bad};
  dl4_tensor *out = nullptr;
  EXPECT_EQ(refusal(dl4_stream_run(a, in, 1, &out, 1, nullptr)).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(floats(take(a, tail)), floats(take(b, tail)));
  Own<dl4_cancel> cancel;
  ok(dl4_cancel_create(cancel.out()));
  dl4_cancel_trigger(cancel);
  dl4_tensor *const rest[] = {tail};
  EXPECT_EQ(refusal(dl4_stream_run(a, rest, 1, &out, 1, cancel)).code, DL4_CANCELLED);
  EXPECT_EQ(floats(take(a, tail)), floats(take(b, tail)));
}

TEST(Stream, ManyRunOneSessionAtOnce) {
  auto m = model({{"LSTM", R"({"units": 16, "return_sequences": true})"}, {"GRU", R"({"units": 8})"}});
  auto s = session(m);
  auto x = floats_of(2);
  const auto expected = in_cuts(stream(s, 2), x, {0, steps});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) EXPECT_EQ(in_cuts(stream(s, 2), x, {0, 1, 5, steps}), expected);
    });
  for (auto &t : threads) t.join();
}

TEST(Stream, RefusesWhatIsNotOfEachStep) {
  const auto why = [](dl4_session *s) {
    dl4_stream *t = nullptr;
    const Refusal r = refusal(dl4_stream_create(s, nullptr, &t));
    EXPECT_EQ(r.code, DL4_UNSUPPORTED);
    EXPECT_EQ(t, nullptr);
    return r.message;
  };
  const std::string none = "dl4_stream_create: the session can't be run step by step: ";
  const Layer lstm{"LSTM", R"({"units": 2, "return_sequences": true})"};
  EXPECT_EQ(why(session(model({lstm}), "{}")),
            none + "it was made with neither \"streamable\": true nor \"states\": true");
  EXPECT_EQ(why(session(model({lstm}), R"({"states": true, "training": true})")),
            none + "the session was made with \"training\": true");
  EXPECT_EQ(why(session(model({lstm}), R"({"states": true, "gradients": ["x"]})")),
            none + "the session was made with \"gradients\"");
  EXPECT_EQ(why(session(model({lstm}, {-1, 4, features}))), none + "no input is a sequence, with a free second axis");
  EXPECT_EQ(why(session(model({{"Flip", R"({"axis": 1})"}}))),
            none + "layer \"flip\" (Flip): it begins at the end of a sequence");
}

TEST(Stream, RefusesDataThatDoesNotFit) {
  auto m = model({{"LSTM", R"({"units": 2, "return_sequences": true})"}});
  auto s = session(m);
  auto t = stream(s, 2);
  const auto why = [&](dl4_tensor *x, dl4_tensor *y = nullptr) {
    dl4_tensor *out = y;
    return refusal(dl4_stream_run(t, &x, 1, &out, 1, nullptr)).message;
  };
  const std::string in = "dl4_stream_run: input \"x\": expected ";
  EXPECT_EQ(why(tensor({1, 4, 3})), in + "float32 (2, ?, 3), got float32 (1, 4, 3)");
  EXPECT_EQ(why(tensor({2, 4, 5})), in + "float32 (2, ?, 3), got float32 (2, 4, 5)");
  EXPECT_EQ(why(tensor({2, 4, 3}, {}, DL4_INT32)), in + "float32 (2, ?, 3), got int32 (2, 4, 3)");
  EXPECT_EQ(why(tensor({2, 0, 3})), in + "at least 1 step, got 0");
  EXPECT_EQ(why(tensor({2, 4, 3}), tensor({2, 3, 2})),
            "dl4_stream_run: output 0: expected 4 steps, got shape (2, 3, 2)");
  EXPECT_EQ(refusal(dl4_stream_run(t, nullptr, 0, nullptr, 0, nullptr)).message,
            "dl4_stream_run: expected 1 inputs, got 0");
  std::vector<float> memory(64);
  const int64_t x_dims[] = {2, 4, 3}, y_dims[] = {2, 4, 2};
  Own<dl4_tensor> x, y;
  ok(dl4_tensor_wrap(nullptr, DL4_FLOAT32, 3, x_dims, nullptr, memory.data(), 96, nullptr, nullptr, x.out()));
  ok(dl4_tensor_wrap(nullptr, DL4_FLOAT32, 3, y_dims, nullptr, memory.data() + 20, 64, nullptr, nullptr, y.out()));
  EXPECT_EQ(why(x, y), "dl4_stream_run: output 0 overlaps input 0 in memory");
  dl4_stream *none = nullptr;
  EXPECT_EQ(refusal(dl4_stream_create(s, R"({"batch": 0})", &none)).code, DL4_INVALID_ARGUMENT);
  auto fixed = model({{"LSTM", R"({"units": 2, "stateful": true})"}}, {2, -1, features});
  EXPECT_EQ(refusal(dl4_stream_create(session(fixed), R"({"batch": 3})", &none)).message,
            "dl4_stream_create: \"batch\": expected 2, of which \"x\" is, got 3");
}

// The states that a stateful model keeps, from evaluation to evaluation, in checkpoints, not among the weights.
TEST(Stateful, EvaluationGoesOnWhereTheBatchBeforeEnded) {
  auto m = model({{"LSTM", R"({"units": 2, "stateful": true})"}}, {1, -1, features});
  auto x = floats_of(1), y = tensor({1, 2}, {0.25f, -0.5f}), first = part(x, 0, 4), second = part(x, 4, steps);
  EXPECT_EQ(dl4_port_count(m, DL4_WEIGHTS), 3);
  const auto state = [&] {
    Own<dl4_tensor> t;
    ok(dl4_model_get_weight(m, "lstm/rnn_state", t.out()));
    return floats(t);
  };
  const auto loss = [&](dl4_trainer *t, dl4_tensor *part) {
    double value = 0;
    ok(dl4_trainer_evaluate(t, dataset(part, y, R"({"batch_size": 1})"), nullptr, &value, 1, nullptr));
    return value;
  };
  auto t = trainer(m);
  const double whole = loss(t, x);
  const auto end = state();
  auto fresh = session(m, "{}"), run = session(m);
  ok(dl4_model_set_weight(m, "lstm/rnn_state", tensor({1, 2})));
  ok(dl4_model_set_weight(m, "lstm/rnn_state_1", tensor({1, 2})));
  loss(t, first);
  Own<dl4_blob> checkpoint;
  ok(dl4_trainer_save_bytes(t, checkpoint.out()));
  EXPECT_NEAR(loss(t, second), whole, 1e-6);
  expect_near(state(), end);
  ok(dl4_trainer_load_bytes(t, dl4_blob_data(checkpoint), dl4_blob_size(checkpoint)));
  EXPECT_NEAR(loss(t, second), whole, 1e-6);
  // A session begins where the model stood, and a model that is loaded at zeros.
  dl4_tensor *const in[] = {second};
  dl4_tensor *out = nullptr;
  ok(dl4_session_run(fresh, in, 1, &out, 1, nullptr));
  const auto later = floats(Own<dl4_tensor>(out));
  EXPECT_GT(std::abs(later[0] - end[0]), 1e-4);
  Refusal r;
  auto loaded = load(nullptr, saved(m), r);
  Own<dl4_tensor> zeros;
  ok(dl4_model_get_weight(loaded, "lstm/rnn_state", zeros.out()));
  EXPECT_EQ(floats(zeros), std::vector<float>(2));
  expect_near(in_cuts(stream(run), x, {0, 4, steps}), end);
}

TEST(Stateful, AFrozenLayerKeepsItsStatesToo) {
  auto m = model({{"GRU", R"({"units": 2, "stateful": true})"}, {"Dense", R"({"units": 1})"}}, {2, 3, features});
  ok(dl4_model_set_trainable(m, "gru", 0));
  auto t = trainer(m);
  auto x = tensor({2, 3, features}, numbers(18)), y = tensor({2, 1}, {1, 2});
  dl4_tensor *const xs[] = {x}, *const ys[] = {y};
  ok(dl4_trainer_step(t, xs, 1, ys, 1, nullptr, 0, nullptr, 0, nullptr));
  Own<dl4_tensor> state;
  ok(dl4_model_get_weight(m, "gru/rnn_state", state.out()));
  EXPECT_NE(floats(state), std::vector<float>(4));
}

TEST(Stateful, AFreeBatchAndAnotherBatchAreRefused) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4, features}), y = -1;
  EXPECT_EQ(
      refusal(dl4_graph_add(g, "LSTM", nullptr, R"({"units": 2, "stateful": true})", nullptr, nullptr, &x, 1, &y, 1))
          .message,
      "dl4_graph_add: layer \"lstm\": \"stateful\": expected a known batch size, got shape (?, 4, 3) of input 0");
  dl4_node two = input(g, "two", {2, 4, features}), three = input(g, "three", {3, 4, features});
  dl4_layer layer = -1;
  ok(dl4_graph_add_layer(g, "LSTM", nullptr, R"({"units": 2, "stateful": true})", nullptr, &layer));
  ok(dl4_graph_call(g, layer, nullptr, nullptr, &two, 1, &y, 1));
  EXPECT_EQ(refusal(dl4_graph_call(g, layer, nullptr, nullptr, &three, 1, &y, 1)).code, DL4_SHAPE_MISMATCH);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
