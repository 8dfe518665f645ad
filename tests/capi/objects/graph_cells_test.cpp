// A model as the cell of an RNN: a decoder with additive attention; refusals.
#include "capi/graph_cells.hpp"

namespace {

using namespace dl4_test;
using nlohmann::json;
using Doubles = std::vector<double>;

// ---- the additive decoder -------------------------------------------------------------------------------------------

constexpr const char *decoder_states = R"({"h": "gru"})";
constexpr int64_t batch = 3, steps = 4, length = 5;

// x [B, 3], h [B, 4], seen [B, S, 5] -> answer [B, 2], gru [B, 4].
Own<dl4_model> decoder_step() {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 3}), h = input(g, "h", {-1, 4}), seen = input(g, "seen", {-1, -1, 5});
  const dl4_node query = put(g, "Dense", "query", R"({"units": 6, "use_bias": false})", {h});
  const dl4_node row = put(g, "Reshape", "row", R"({"target_shape": [1, 6]})", {query});
  const dl4_node keys = put(g, "Dense", "keys", R"({"units": 6})", {seen});
  const dl4_node read = put(g, "AdditiveAttention", "attention", "{}", {row, seen, keys});
  const dl4_node context = put(g, "Reshape", "context", R"({"target_shape": [5]})", {read});
  const dl4_node both = put(g, "Concatenate", "both", "{}", {x, context});
  const dl4_node next = put(g, "GRUCell", "gru", R"({"units": 4})", {both}, 2, {.states = {h}})[1];
  const dl4_node answer =
      put(g, "Dense", "answer", R"({"units": 2})", {put(g, "Concatenate", "out", "{}", {next, context})});
  return build(g, {x, h, seen}, {answer, next});
}

// goal [B, T, 3], source [B, S, 2] -> the encoder's outputs (0 is padding) ->
// the decoder over goal.
struct Decoding {
  Own<dl4_graph> g = graph();
  dl4_node goal = input(g, "goal", {-1, steps, 3}), source = input(g, "source", {-1, -1, 2}), seen = -1, h = -1;
  Decoding() {
    const dl4_node words = put(g, "Masking", "words", "{}", {source});
    const auto encoded =
        put(g, "GRU", "encoder", R"({"units": 5, "return_sequences": true, "return_state": true})", {words}, 2);
    seen = encoded[0];
    h = put(g, "Dense", "bridge", R"({"units": 4, "activation": "tanh"})", {encoded[1]});
  }
};

Own<dl4_model> decoder(const dl4_model *step) {
  Decoding d;
  const auto y = put(d.g, "RNN", "decoder", rnn(step, decoder_states, R"({"return_sequences": true})"), {d.goal}, 1,
                     {.constants = {d.seen}, .initial_state = {d.h}});
  return build(d.g, {d.goal, d.source}, y);
}

Own<dl4_model> unrolled_decoder(const dl4_model *step) {
  Decoding d;
  dl4_layer layer = -1;
  ok(dl4_graph_add_layer(d.g, "Functional", "step", nullptr, refs("model", step), &layer));
  std::vector<dl4_node> answers;
  for (int64_t t = 0; t < steps; ++t) {
    const std::string at = std::to_string(t);
    const dl4_node one = put(d.g, "Slice", ("slice" + at).c_str(),
                             R"({"start_indices": [0, )" + at + R"(, 0], "shape": [-1, 1, 3]})", {d.goal});
    const dl4_node in[] = {put(d.g, "Reshape", ("x" + at).c_str(), R"({"target_shape": [3]})", {one}), d.h, d.seen};
    dl4_node out[2] = {-1, -1};
    ok(dl4_graph_call(d.g, layer, nullptr, nullptr, in, 3, out, 2));
    answers.push_back(out[0]);
    d.h = out[1];
  }
  return build(d.g, {d.goal, d.source}, {put(d.g, "Stack", "answers", R"({"axis": 1})", answers)});
}

struct DecoderInputs {
  Own<dl4_tensor> goal = tensor({batch, steps, 3}, numbers(batch *steps * 3)), source;
  explicit DecoderInputs(size_t padding = 2) {  // of the first sentence
    auto words = numbers(batch * length * 2);
    for (size_t i = 0; i < 2 * padding; ++i) words[2 * length - 1 - i] = 0;
    source = tensor({batch, length, 2}, words);
  }
  std::vector<dl4_tensor *> all() const { return {goal, source}; }
};

// The scan's name of a weight of the decoder unrolled by hand.
std::string in_scan(const std::string &name) {
  return name.starts_with("step/") ? "decoder/graph_cell/" + name.substr(5) : name;
}

void take_weights(dl4_model *by_hand, const dl4_model *scan) {
  for (const std::string &name : weight_names(by_hand)) {
    Own<dl4_tensor> v;
    ok(dl4_model_get_weight(scan, in_scan(name).c_str(), v.out()));
    ok(dl4_model_set_weight(by_hand, name.c_str(), v));
  }
}

TEST(GraphCell, AnAdditiveDecoderEqualsItsStepsByHand) {
  Own<dl4_model> step = decoder_step(), scan = decoder(step), by_hand = unrolled_decoder(step);
  take_weights(by_hand, scan);
  DecoderInputs in;
  expect_near(run(scan, in.all())[0], run(by_hand, in.all())[0], 1e-5, "answers");

  std::string of_scan, of_hand;
  for (const std::string &name : weight_names(by_hand)) {
    of_hand += ", \"" + name + '"';
    of_scan += ", \"" + in_scan(name) + '"';
  }
  const size_t gradients = weight_names(by_hand).size() + 2;
  auto all = [&](const dl4_model *m, const std::string &weights) {
    return run(m, in.all(), 1 + gradients, R"({"gradients": ["goal", "source")" + weights + "]}");
  };
  const auto got = all(scan, of_scan), wanted = all(by_hand, of_hand);
  for (size_t i = 1; i < got.size(); ++i) expect_near(got[i], wanted[i], 1e-5, "gradient " + std::to_string(i));
  expect_gradients(scan, DecoderInputs(0).all(), gradients);
}

TEST(GraphCell, TrainsAsItsStepsByHandAndSharesItsWeights) {
  Own<dl4_model> step = decoder_step(), scan = decoder(step), by_hand, copy;
  ok(dl4_model_clone(unrolled_decoder(step), by_hand.out()));
  take_weights(by_hand, scan);
  DecoderInputs in;
  Own<dl4_tensor> goal = tensor({batch, steps, 2}, numbers(batch * steps * 2));
  auto losses = [&](dl4_model *m) {
    Own<dl4_trainer> t = trainer(m,
                                 R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.5}},
                                       "loss": "MeanSquaredError"})");
    const auto x = in.all();
    dl4_tensor *y = goal;
    Doubles all;
    for (int i = 0; i < 4; ++i) {
      double loss = 0;
      ok(dl4_trainer_step(t, x.data(), 2, &y, 1, nullptr, 0, &loss, 1, nullptr));
      all.push_back(loss);
    }
    return all;
  };
  const Doubles got = losses(scan);
  expect_near(got, losses(by_hand), 1e-5, "losses");
  EXPECT_LT(got.back(), got.front());
  for (const char *name : {"query/kernel", "attention/scale", "gru/recurrent_kernel"}) {
    Own<dl4_tensor> inside, outside;
    ok(dl4_model_get_weight(step, name, inside.out()));
    ok(dl4_model_get_weight(scan, ("decoder/graph_cell/" + std::string(name)).c_str(), outside.out()));
    EXPECT_EQ(floats(inside), floats(outside)) << name;
  }

  const std::string bytes = saved(scan);
  Refusal r;
  Own<dl4_model> again = load(nullptr, bytes, r);
  ASSERT_TRUE(again) << r.message;
  EXPECT_EQ(run(again, in.all()), run(scan, in.all()));
  EXPECT_EQ(saved(again), bytes);
  EXPECT_EQ(weight_names(again), weight_names(scan));
  ok(dl4_model_clone(scan, copy.out()));
  step = {};
  EXPECT_EQ(run(copy, in.all()), run(scan, in.all()));
}

TEST(GraphCell, StandsInsideAModelInAModel) {
  Own<dl4_model> step = decoder_step(), inner = decoder(step);
  auto g = graph();
  const dl4_node goal = input(g, "goal", {-1, steps, 3}), source = input(g, "source", {-1, -1, 2});
  const dl4_node ins[] = {goal, source};
  dl4_node y = -1;
  ok(dl4_graph_add(g, "Functional", "inner", nullptr, nullptr, refs("model", inner), ins, 2, &y, 1));
  Own<dl4_model> outer = build(g, {goal, source}, {y});
  DecoderInputs in;
  EXPECT_EQ(run(outer, in.all()), run(inner, in.all()));
  EXPECT_EQ(weight_names(outer)[0], "inner/" + weight_names(inner)[0]);
}

TEST(GraphCell, InAStackReadsItsOwnConstants) {
  Own<dl4_model> step = decoder_step();
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, -1, 3}), seen = input(g, "seen", {-1, -1, 5});
  json cell{{"class_name", "GraphCell"},
            {"config", {{"model", json::parse(described(step, DL4_FORMAT_JSON))}, {"states", {{"h", "gru"}}}}}};
  json stack{{"class_name", "StackedRNNCells"},
             {"config", {{"cells", {{{"class_name", "GRUCell"}, {"config", {{"units", 3}}}}, cell}}}}};
  const auto y =
      put(g, "RNN", "stack", json{{"cell", stack}, {"return_state", true}}.dump(), {x}, 3, {.constants = {seen}});
  Own<dl4_model> m = build(g, {x, seen}, y);
  Own<dl4_tensor> in = tensor({2, 4, 3}, numbers(24)), read = tensor({2, 2, 5}, numbers(20));
  const auto out = run(m, {in, read}, 3);
  EXPECT_EQ(out[0].size(), 4u);
  EXPECT_EQ(out[1].size(), 6u);
  EXPECT_EQ(out[2].size(), 8u);
  expect_gradients(m, {in, read}, weight_names(m).size() + 2);
}

TEST(GraphCell, DropsTheSameAtEveryStep) {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 16}), h = input(g, "h", {-1, 16});
  const dl4_node kept = put(g, "Dropout", "kept", R"({"rate": 0.5})", {x});
  Own<dl4_model> cell = build(g, {x, h}, {put(g, "Add", "next", "{}", {kept, h})});
  const dl4_node all = input(g, "all", {-1, 3, 16});
  Own<dl4_model> m = build(g, {all}, {put(g, "RNN", "rnn", rnn(cell, R"({"h": "next"})"), {all})});
  Own<dl4_tensor> ones = tensor({2, 3, 16}, std::vector<float>(96, 1));
  const auto y = run(m, {ones}, 1, R"({"training": true})");
  int dropped = 0;
  for (float v : y[0]) {
    EXPECT_TRUE(v == 0 || v == 6) << v;
    dropped += v == 0;
  }
  EXPECT_GT(dropped, 4);
  EXPECT_LT(dropped, 28);
}

// ---- refusals -------------------------------------------------------------------------------------------------------

// Of an RNN over the model, called on x [B, 4, 3].
Refusal refused(const dl4_model *m, const std::string &states, const std::string &call = "",
                const std::vector<std::vector<int64_t>> &others = {{-1, 7, 5}}) {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 4, 3});
  std::vector<dl4_node> nodes;
  for (size_t i = 0; i < others.size(); ++i) nodes.push_back(input(g, ("o" + std::to_string(i)).c_str(), others[i]));
  Extra extra;
  (call == "initial_state" ? extra.initial_state : extra.constants) = nodes;
  if (call == "initial_state") extra.constants = {input(g, "seen", {-1, 7, 5})};
  if (call == "null") extra.constants = {-1};
  dl4_node y = -1;
  const Config cell = rnn(m, states);
  return refusal(dl4_graph_add(g, "RNN", "rnn", cell.json.c_str(), nullptr, refs_of(extra, cell.cell), &x, 1, &y, 1));
}

void expect_refused(const Refusal &r, int32_t code, const std::string &words) {
  EXPECT_EQ(r.code, code) << r.message;
  EXPECT_NE(r.message.find(words), std::string::npos) << r.message << "\n  expected: " << words;
}

TEST(GraphCell, RefusesStatesThatAreNone) {
  Own<dl4_model> step = decoder_step();
  const std::tuple<const char *, const char *> all[] = {
      {"{}", "\"states\": expected {input: output} of the model by name, got {}"},
      {"[\"h\"]",
       "\"states\": expected {input: output} of the model by name, "
       "got [\"h\"]"},
      {R"({"hh": "gru"})",
       "\"states\": expected the name of an input of the "
       "model, got \"hh\"; did you mean \"h\"?"},
      {R"({"h": "grus"})",
       "\"states\": expected the name of an output of the "
       "model, got \"grus\"; did you mean"},
      {R"({"h": 1})", "\"states\": expected the name of an output of the model, got 1"},
      {R"({"h": "answer"})",
       "\"states\": expected float32 (?, 4) as \"answer\", which \"h\" "
       "becomes, got float32 (?, 2)"},
      {R"({"h": "gru", "seen": "gru"})",
       "\"states\": expected float32 (batch, ...) of known dims as \"seen\", "
       "got float32 (?, ?, 5)"},
      {R"({"x": "answer", "h": "gru", "seen": "gru"})", "\"states\": expected an input that is not a state: x"},
  };
  for (const auto &[states, words] : all) expect_refused(refused(step, states), DL4_INVALID_ARGUMENT, words);

  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 3}), count = input(g, "count", {-1, 1}, DL4_INT32);
  Own<dl4_model> counts = build(g, {x, count}, {x, count});
  expect_refused(refused(counts, R"({"count": "count"})"), DL4_INVALID_ARGUMENT,
                 "\"states\": expected float32 (batch, ...) of known dims as "
                 "\"count\", got int32 (?, 1)");
  expect_refused(refused(nullptr, decoder_states), DL4_INVALID_ARGUMENT,
                 "\"model\": expected an architecture, got null");
}

TEST(GraphCell, RefusesValuesThatDoNotFit) {
  Own<dl4_model> step = decoder_step();
  expect_refused(refused(step, decoder_states, "", {}), DL4_INVALID_ARGUMENT,
                 "\"constants\": expected 1 tensor, got 0");
  expect_refused(refused(step, decoder_states, "", {{-1, 7, 5}, {-1, 7, 5}}), DL4_INVALID_ARGUMENT,
                 "\"constants\": expected 1 tensor, got 2");
  expect_refused(refused(step, decoder_states, "null"), DL4_INVALID_ARGUMENT,
                 "\"constants\": expected 1 tensor, got null");
  expect_refused(refused(step, decoder_states, "", {{-1, 7, 6}}), DL4_SHAPE_MISMATCH,
                 "expected float32 (?, ?, 5) as \"seen\", got float32 (?, 7, 6)");
  expect_refused(refused(step, decoder_states, "initial_state", {{-1, 4}, {-1, 4}}), DL4_INVALID_ARGUMENT,
                 "\"initial_state\": expected 1 tensor, got 2");
  expect_refused(refused(step, decoder_states, "initial_state", {{-1, 3}}), DL4_SHAPE_MISMATCH,
                 "\"initial_state\": expected shape (?, 4), got (?, 3)");
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 4, 3}), c = input(g, "c", {-1, 2});
  dl4_node y = -1;
  const char *lstm = R"({"cell": {"class_name": "LSTMCell", "config": {"units": 2}}})";
  expect_refused(refusal(dl4_graph_add(g, "RNN", nullptr, lstm, nullptr, refs_of({.constants = {c}}), &x, 1, &y, 1)),
                 DL4_INVALID_ARGUMENT, "\"constants\": expected 0 tensors, got 1");
}

TEST(GraphCell, RefusesAModelInTrainingOrInsideItself) {
  Own<dl4_model> step = decoder_step(), scan = decoder(step);
  const Config before = rnn(step, decoder_states);
  Own<dl4_trainer> t = trainer(scan);
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 4, 3}), seen = input(g, "seen", {-1, 7, 5});
  dl4_node y = -1;
  expect_refused(refusal(dl4_graph_add(g, "RNN", nullptr, before.json.c_str(), nullptr,
                                       refs_of({.constants = {seen}}, step), &x, 1, &y, 1)),
                 DL4_BUSY, "\"cell\": the model is in training");
  t = {};
  dl4_node both[2] = {-1, -1};
  for (dl4_node &out : both)
    ok(dl4_graph_add(g, "RNN", nullptr, before.json.c_str(), nullptr, refs_of({.constants = {seen}}, step), &x, 1, &out,
                     1));
  const dl4_node in[] = {x, seen};
  Own<dl4_model> twice;
  expect_refused(refusal(dl4_graph_build(g, in, 2, both, 2, twice.out())), DL4_UNSUPPORTED,
                 "a model can't have itself, or its layers, inside again");
}

TEST(GraphCell, WithASequenceAsConstantsIsNotRunStepByStep) {
  Own<dl4_model> step = decoder_step();
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, -1, 3}), seen = input(g, "seen", {-1, -1, 5});
  const auto y = put(g, "RNN", "rnn", rnn(step, decoder_states), {x}, 1, {.constants = {seen}});
  Own<dl4_model> m = build(g, {x, seen}, y);
  Own<dl4_session> s;
  Own<dl4_stream> stream;
  ok(dl4_session_create(m, R"({"states": true})", s.out()));
  expect_refused(refusal(dl4_stream_create(s, nullptr, stream.out())), DL4_UNSUPPORTED,
                 "layer \"rnn\" (RNN): its output at one step depends on other steps");
}

// What training would write at every step.
TEST(GraphCell, RefusesMovingStatistics) {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 3}), h = input(g, "h", {-1, 3});
  const dl4_node y = put(g, "Add", "y", "{}", {put(g, "BatchNormalization", "norm", "{}", {x}), h});
  Own<dl4_model> m = build(g, {x, h}, {y});
  expect_refused(refused(m, R"({"h": "y"})", "", {}), DL4_UNSUPPORTED, "a cell can't write weights at every step");
}

}  // namespace
