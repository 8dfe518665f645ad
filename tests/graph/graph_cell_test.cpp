// A model as the cell of an RNN: a decoder with additive attention; refusals.
#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

const Json decoder_states{{"h", "gru"}};
constexpr int64_t steps = 4;

using Shared = std::shared_ptr<const Model>;

Json architecture(const Shared &m) { return m ? to_json(m->architecture()) : Json(); }

// An RNN whose cell is the model, with its weights.
std::vector<Node> add_rnn(const Net &g, const char *name, const Shared &m, const Json &states, Node x,
                          const Arguments &arguments = {}, Json config = Json::object()) {
  config["cell"] = {{"class_name", "GraphCell"}, {"config", {{"states", states}, {"model", architecture(m)}}}};
  std::vector<Given> given;
  if (m) given.push_back({{"cell", "config", "model"}, m});
  return g.graph->add("RNN", name, std::move(config), arguments, {x}, 1, given);
}

// x [B, 3], h [B, 4], seen [B, S, 5] -> answer [B, 2], gru [B, 4].
std::shared_ptr<Model> decoder_step() {
  Net g;
  const Node x = g.input("x", {free_dim, 3}), h = g.input("h", {free_dim, 4}),
             seen = g.input("seen", {free_dim, free_dim, 5});
  const Node query = g.add("Dense", "query", {{"units", 6}, {"use_bias", false}}, {h});
  const Node row = g.add("Reshape", R"({"target_shape": [1, 6]})", {query});
  const Node keys = g.add("Dense", "keys", {{"units", 6}}, {seen});
  const Node read = g.add("AdditiveAttention", "attention", Json::object(), {row, seen, keys});
  const Node context = g.add("Reshape", R"({"target_shape": [5]})", {read});
  const Node both = g.add("Concatenate", "{}", {x, context});
  const Node next = g.graph->add("GRUCell", "gru", {{"units", 4}}, {Json::object(), {{"states", {h}}}}, {both}, 2)[1];
  const Node answer = g.add("Dense", "answer", {{"units", 2}}, {g.add("Concatenate", "{}", {next, context})});
  return std::make_shared<Model>(g.model({x, h, seen}, {answer, next}));
}

// goal [B, T, 3], source [B, S, 2] -> the encoder's outputs (0 is padding) -> the decoder over goal.
struct Decoding : Net {
  Node goal = input("goal", {free_dim, steps, 3}), source = input("source", {free_dim, free_dim, 2}), seen{}, h{};
  Decoding() {
    const Node words = add("Masking", "words", Json::object(), {source});
    const Json config{{"units", 5}, {"return_sequences", true}, {"return_state", true}};
    const auto encoded = graph->add("GRU", "encoder", config, {}, {words}, 2);
    seen = encoded[0];
    h = add("Dense", "bridge", {{"units", 4}, {"activation", "tanh"}}, {encoded[1]});
  }
};

Model decoder(const std::shared_ptr<Model> &step) {
  Decoding d;
  const Arguments arguments{Json::object(), {{"constants", {d.seen}}, {"initial_state", {d.h}}}};
  return d.model({d.goal, d.source},
                 add_rnn(d, "decoder", step, decoder_states, d.goal, arguments, {{"return_sequences", true}}));
}

Model unrolled_decoder(const std::shared_ptr<Model> &step) {
  Decoding d;
  const LayerId layer = d.graph->layer("Functional", "step", {{"model", architecture(step)}}, {{{"model"}, step}});
  std::vector<Node> answers;
  for (int64_t t = 0; t < steps; ++t) {
    const Node one = d.add("Slice", "", {{"start_indices", {0, t, 0}}, {"shape", {-1, 1, 3}}}, {d.goal});
    const Node x = d.add("Reshape", R"({"target_shape": [3]})", {one});
    const auto out = d.graph->call(layer, {}, {x, d.h, d.seen}, 2);
    answers.push_back(out[0]);
    d.h = out[1];
  }
  return d.model({d.goal, d.source}, {d.add("Stack", R"({"axis": 1})", answers)});
}

// With so many steps of padding in the first sentence.
std::vector<Tensor> decoded(int64_t padding = 2) {
  std::vector<Tensor> in{random_tensor({3, steps, 3}, 1), random_tensor({3, 5, 2}, 2)};
  std::fill_n(in[1].as<float>() + 2 * (5 - padding), 2 * padding, 0.f);
  return in;
}

TEST(GraphCell, AnAdditiveDecoderEqualsItsStepsByHand) {
  const auto step = decoder_step();
  const Model scan = decoder(step);
  Model by_hand = unrolled_decoder(step);
  std::vector<std::string> of_scan{"goal", "source"}, of_hand = of_scan;
  for (const auto &w : by_hand.weights()) {
    of_hand.push_back(w->name);
    const bool inside = w->name.starts_with("step/");
    of_scan.push_back(inside ? "decoder/graph_cell/" + w->name.substr(5) : w->name);
    if (inside)
      EXPECT_EQ(scan.weight(of_scan.back())->stored, w->stored) << "shared with the step";
    else
      by_hand.set_weight(w->name, scan.get_weight(w->name));
  }
  const auto in = decoded(), got = run(scan, in, {.gradients = of_scan}),
             wanted = run(by_hand, in, {.gradients = of_hand});
  for (size_t i = 0; i < got.size(); ++i) expect_close(floats(got[i]), floats(wanted[i]));
  expect_differences(scan, decoded(0), of_scan);
}

TEST(GraphCell, IsSharedCopiedAndReadAgain) {
  const auto step = decoder_step();
  const Model scan = decoder(step);
  step->set_weight("answer/bias", tensor({2}, {1, 2}));
  EXPECT_EQ(floats(scan.get_weight("decoder/graph_cell/answer/bias")), (std::vector<float>{1, 2}));
  const auto copy = scan.clone();
  EXPECT_EQ(floats(run(*copy, decoded())), floats(run(scan, decoded())));
  step->set_weight("answer/bias", tensor({2}, {3, 4}));
  EXPECT_NE(floats(run(*copy, decoded())), floats(run(scan, decoded())));
  EXPECT_EQ(to_json(model_of(scan.architecture())->architecture()).dump(), to_json(scan.architecture()).dump());
  // Inside a model in a model.
  const auto inner = std::make_shared<Model>(decoder(step));
  Net g;
  const Node goal = g.input("goal", {free_dim, steps, 3}), source = g.input("source", {free_dim, free_dim, 2});
  const Model outer = g.model({goal, source}, g.graph->add("Functional", "inner", {{"model", architecture(inner)}}, {},
                                                           {goal, source}, 1, {{{"model"}, inner}}));
  EXPECT_EQ(floats(run(outer, decoded())), floats(run(*inner, decoded())));
  EXPECT_EQ(outer.weights()[0]->name, "inner/" + inner->weights()[0]->name);
}

TEST(GraphCell, InAStackReadsItsOwnConstants) {
  Net g;
  const Node x = g.input("x", {free_dim, free_dim, 3}), seen = g.input("seen", {free_dim, free_dim, 5});
  const Json cell{{"class_name", "GraphCell"},
                  {"config", {{"model", architecture(decoder_step())}, {"states", decoder_states}}}};
  const Json gru{{"class_name", "GRUCell"}, {"config", {{"units", 3}}}};
  const Json stack{{"class_name", "StackedRNNCells"}, {"config", {{"cells", Json::array({gru, cell})}}}};
  const Arguments constants{Json::object(), {{"constants", {seen}}}};
  const auto y = g.graph->add("RNN", "stack", {{"cell", stack}, {"return_state", true}}, constants, {x}, 3);
  const Model m = g.model({x, seen}, y);
  const std::vector<Tensor> in{random_tensor({2, 4, 3}, 1), random_tensor({2, 2, 5}, 2)};
  const auto out = run(m, in);
  EXPECT_EQ(out[0].shape, (Shape{2, 2}));
  EXPECT_EQ(out[1].shape, (Shape{2, 3}));
  EXPECT_EQ(out[2].shape, (Shape{2, 4}));
  std::vector<std::string> by{"x", "seen"};
  for (const auto &w : m.weights()) by.push_back(w->name);
  expect_differences(m, in, by);
}

TEST(GraphCell, DropsTheSameAtEveryStep) {
  Net g;
  const Node x = g.input("x", {free_dim, 16}), h = g.input("h", {free_dim, 16});
  const Node kept = g.add("Dropout", "kept", {{"rate", 0.5}}, {x});
  const auto cell = std::make_shared<Model>(g.model({x, h}, {g.add("Add", "next", Json::object(), {kept, h})}));
  const Node all = g.input("all", {free_dim, 3, 16});
  const Model m = g.model({all}, add_rnn(g, "rnn", cell, {{"h", "next"}}, all));
  const auto y = floats(run(m, {tensor({2, 3, 16}, std::vector<float>(96, 1))}, {.training = true})[0]);
  for (float v : y) EXPECT_TRUE(v == 0 || v == 6) << v;
  const auto dropped = std::count(y.begin(), y.end(), 0.f);
  EXPECT_GT(dropped, 4);
  EXPECT_LT(dropped, 28);
}

// Of an RNN over the model, called on x [B, 4, 3] with such values.
std::string refused(Code code, const Shared &m, const Json &states, const std::string &call = "constants",
                    const std::vector<Shape> &shapes = {{free_dim, 7, 5}}) {
  Net g;
  Arguments arguments;
  const Node x = g.input("x", {free_dim, 4, 3});
  if (call == "initial_state") arguments.nodes["constants"] = {g.input("seen", {free_dim, 7, 5})};
  for (size_t i = 0; i < shapes.size(); ++i) arguments.nodes[call].push_back(g.input(text("o", i).c_str(), shapes[i]));
  if (call == "null") arguments.nodes = {{"constants", {no_node}}};
  return graph::refused(code, [&] { add_rnn(g, "rnn", m, states, x, arguments); });
}

TEST(GraphCell, RefusesStatesThatAreNone) {
  const auto step = decoder_step();
  const std::pair<const char *, const char *> all[] = {
      {"{}", "expected {input: output} of the model by name, got {}"},
      {R"(["h"])", R"(expected {input: output} of the model by name, got ["h"])"},
      {R"({"hh": "gru"})", R"(expected the name of an input of the model, got "hh"; did you mean "h"?)"},
      {R"({"h": "grus"})", R"(expected the name of an output of the model, got "grus"; did you mean)"},
      {R"({"h": 1})", "expected the name of an output of the model, got 1"},
      {R"({"h": "answer"})", R"(expected float32 (?, 4) as "answer", which "h" becomes, got float32 (?, 2))"},
      {R"({"h": "gru", "seen": "gru"})",
       R"(expected float32 (batch, ...) of known dims as "seen", got float32 (?, ?, 5))"},
      {R"({"x": "answer", "h": "gru", "seen": "gru"})", "expected an input that is not a state: x"},
  };
  for (const auto &[states, words] : all) {
    const std::string why = refused(Code::invalid_argument, step, Json::parse(states));
    EXPECT_NE(why.find(text("\"states\": ", words)), std::string::npos) << why;
  }
  Net g;
  const Node x = g.input("x", {free_dim, 3}), count = g.input("count", {free_dim, 1}, DType::i32);
  const auto counts = std::make_shared<Model>(g.model({x, count}, {x, count}));
  EXPECT_NE(refused(Code::invalid_argument, counts, {{"count", "count"}})
                .find(R"("states": expected float32 (batch, ...) of known dims as "count", got int32 (?, 1))"),
            std::string::npos);
  EXPECT_NE(
      refused(Code::invalid_argument, nullptr, decoder_states).find("\"model\": expected an architecture, got null"),
      std::string::npos);
}

TEST(GraphCell, RefusesValuesThatDoNotFit) {
  const auto step = decoder_step();
  const auto expect = [&](const char *call, const std::vector<Shape> &shapes, Code code, const char *words) {
    const std::string why = refused(code, step, decoder_states, call, shapes);
    EXPECT_NE(why.find(words), std::string::npos) << why;
  };
  const Shape fits{free_dim, 7, 5};
  expect("constants", {}, Code::invalid_argument, "\"constants\": expected 1 tensor, got 0");
  expect("constants", {fits, fits}, Code::invalid_argument, "\"constants\": expected 1 tensor, got 2");
  expect("null", {}, Code::invalid_argument, "\"constants\": expected 1 tensor, got null");
  expect("constants", {{free_dim, 7, 6}}, Code::shape_mismatch,
         "expected float32 (?, ?, 5) as \"seen\", got float32 (?, 7, 6)");
  expect("initial_state", {{free_dim, 4}, {free_dim, 4}}, Code::invalid_argument,
         "\"initial_state\": expected 1 tensor, got 2");
  expect("initial_state", {{free_dim, 3}}, Code::shape_mismatch,
         "\"initial_state\": expected shape (?, 4), got (?, 3)");
  Net g;
  const Node x = g.input("x", {free_dim, 4, 3}), c = g.input("c", {free_dim, 2});
  const Json lstm{{"cell", {{"class_name", "LSTMCell"}, {"config", {{"units", 2}}}}}};
  EXPECT_NE(graph::refused(Code::invalid_argument,
                           [&] {
                             g.add("RNN", "", lstm, {x}, {Json::object(), {{"constants", {c}}}});
                           })
                .find("\"constants\": expected 0 tensors, got 1"),
            std::string::npos);
}

TEST(GraphCell, RefusesAModelInTrainingOrInsideItself) {
  const auto step = decoder_step();
  Model scan = decoder(step);
  scan.set_in_training(true);
  EXPECT_NE(refused(Code::busy, step, decoder_states).find("\"cell\": the model is in training"), std::string::npos);
  scan.set_in_training(false);
  Net g;
  const Node x = g.input("x", {free_dim, 4, 3}), seen = g.input("seen", {free_dim, 7, 5});
  std::vector<Node> both;
  for (int i = 0; i < 2; ++i)
    both.push_back(add_rnn(g, "", step, decoder_states, x, {Json::object(), {{"constants", {seen}}}})[0]);
  EXPECT_NE(graph::refused(Code::unsupported,
                           [&] {
                             g.model({x, seen}, both);
                           })
                .find("a model can't have itself, or its layers, inside again"),
            std::string::npos);
}

// What training would write at every step, and a sequence as constants: at one step all of it is read.
TEST(GraphCell, RefusesMovingStatisticsAndSequencesOfStreams) {
  Net g;
  const Node x = g.input("x", {free_dim, 3}), h = g.input("h", {free_dim, 3});
  const Node norm = g.add("BatchNormalization", "norm", Json::object(), {x});
  const auto m = std::make_shared<Model>(g.model({x, h}, {g.add("Add", "y", Json::object(), {norm, h})}));
  EXPECT_NE(
      refused(Code::unsupported, m, {{"h", "y"}}, "constants", {}).find("a cell can't write weights at every step"),
      std::string::npos);
  const Node all = g.input("all", {free_dim, free_dim, 3}), seen = g.input("seen", {free_dim, free_dim, 5});
  const Arguments constants{Json::object(), {{"constants", {seen}}}};
  const Model scan = g.model({all, seen}, add_rnn(g, "rnn", decoder_step(), decoder_states, all, constants));
  EXPECT_EQ(graph::refused(Code::unsupported, [&] { streamed(scan); }),
            "layer \"rnn\" (RNN): its output at one step depends on other steps");
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
