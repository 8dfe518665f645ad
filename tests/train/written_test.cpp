// Weights that steps write without training them: the moving statistics of BatchNormalization.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/lower.hpp"
#include "io/file.hpp"
#include "io/formats.hpp"
#include "train/run_options.hpp"
#include "train/trainer.hpp"

namespace dl4::train::DL4_FILE {
namespace {

using graph::Graph;
using graph::Model;
using graph::Node;

// Rows of two features: the batch's moments are written down.
struct Data {
  std::vector<float> x{1, 10, 3, 20, 5, 30, 7, 60}, y{0, 1, 1, 0};
  std::vector<int32_t> label{0, 1, 1, 0};
  Batch batch() { return {{{DType::f32, {4, 2}, x.data(), nullptr}}, {{DType::f32, {4, 1}, y.data(), nullptr}}, {}}; }
  Batch labelled() {
    return {{{DType::f32, {4, 2}, x.data(), nullptr}}, {{DType::i32, {4}, label.data(), nullptr}}, {}};
  }
};
constexpr double mean[] = {4, 30}, variance[] = {5, 350}, momentum = 0.9;

std::shared_ptr<Model> model(int64_t units = 1, int calls = 1, const Json &more = Json::object()) {
  auto g = std::make_shared<Graph>(graph::Settings{7, graph::SeedScheme::dl4});
  Node x = g->input("x", DType::f32, {free_dim, 2});
  Json how{{"momentum", momentum}};
  for (const auto &[key, value] : more.items()) how[key] = value;
  const auto norm = g->layer("BatchNormalization", "norm", how);
  Node h = g->call(norm, {}, {x})[0];
  for (int i = 1; i < calls; ++i) h = g->add("Add", "", {}, {}, {h, g->call(norm, {}, {x})[0]})[0];
  return std::make_shared<Model>(g, std::vector{x}, g->add("Dense", "dense", {{"units", units}}, {}, {h}));
}

Json options(const char *guard = "loss") {
  return {{"optimizer", "SGD"}, {"loss", "MeanSquaredError"}, {"nan_guard", guard}};
}

std::vector<float> values(const Model &m, const std::string &name) {
  Tensor t = m.get_weight(name);
  return {t.as<float>(), t.as<float>() + t.elements()};
}

void expect_moved(const Model &m, int times) {
  for (size_t i = 0; i < 2; ++i) {
    double old_mean = 0, old_variance = 1;
    for (int k = 0; k < times; ++k) {
      old_mean = old_mean * momentum + mean[i] * (1 - momentum);
      old_variance = old_variance * momentum + variance[i] * (1 - momentum);
    }
    EXPECT_NEAR(values(m, "norm/moving_mean")[i], old_mean, 1e-5 * mean[i]) << times;
    EXPECT_NEAR(values(m, "norm/moving_variance")[i], old_variance, 1e-5 * variance[i]) << times;
  }
}

std::map<std::string, std::string> bits(const Trainer &t) {
  std::map<std::string, std::string> all;
  for (const auto &[name, tensor] : t.state())
    all[name].assign(reinterpret_cast<const char *>(tensor.data.get()), static_cast<size_t>(tensor.bytes()));
  return all;
}

TEST(Written, AStepAndAnAccumulationMoveThemOnce) {
  Data d;
  auto m = model();
  Trainer t(m, options(), run_options());
  t.evaluate(d.batch());
  expect_moved(*m, 0);
  t.step(d.batch());
  expect_moved(*m, 1);
  t.accumulate(d.batch());
  expect_moved(*m, 2);
  t.apply();
  t.evaluate(d.batch());
  expect_moved(*m, 2);
}

TEST(Written, ASharedLayerMovesThemOncePerCall) {
  Data d;
  auto m = model(1, 3);
  Trainer t(m, options(), run_options());
  t.step(d.batch());
  expect_moved(*m, 3);
}

TEST(Written, TheyAreNotTrainable) {
  auto m = model();
  EXPECT_EQ(m->parameters(true), 2 + 2 + 2 + 1);
  EXPECT_EQ(m->parameters(false), 4);
  for (const auto &w : m->weights()) EXPECT_EQ(w->trainable(), w->name.find("moving") == std::string::npos) << w->name;
  for (const char *name : {"norm", "norm/moving_mean", "*"}) m->set_trainable(name, true);
  EXPECT_EQ(m->parameters(false), 4);
  EXPECT_EQ(m->get_weight("*").elements(), 7);
  EXPECT_NE(m->summary().find("Non-trainable params: 4"), std::string::npos) << m->summary();
  Trainer t(m, options(), run_options());
  EXPECT_THROW(t.gradients.mean("norm/moving_mean"), Error);
  EXPECT_THROW(t.gradients.set("norm/moving_mean", make_zeros(DType::f32, {2}), true), Error);
}

TEST(Written, AFailedStepLeavesThem) {
  Data d;
  for (const char *guard : {"loss", "gradients"}) {
    Trainer t(model(), options(guard), run_options());
    t.step(d.batch());
    t.accumulate(d.batch());
    const auto before = bits(t);
    d.y[2] = std::numeric_limits<float>::infinity();
    EXPECT_THROW(t.step(d.batch()), Error);
    EXPECT_THROW(t.accumulate(d.batch()), Error);
    d.y[2] = 1;
    EXPECT_EQ(before, bits(t)) << guard;
  }
  Json how = options();
  how["loss"] = {{"class_name", "SparseCategoricalCrossentropy"}, {"config", {{"from_logits", true}}}};
  Trainer t(model(2), how, run_options());
  t.step(d.labelled());
  const auto before = bits(t);
  d.label[3] = 2;
  EXPECT_THROW(t.step(d.labelled()), Error);
  EXPECT_EQ(before, bits(t));
}

TEST(Written, AnEarlierSessionKeepsThem) {
  Data d;
  auto m = model();
  Trainer t(m, options(), run_options());
  t.step(d.batch());
  const auto before = values(*m, "norm/moving_mean");
  std::vector<Tensor> pinned = m->pin();
  size_t at = 0;
  while (m->weights()[at]->name != "norm/moving_mean") ++at;
  for (int i = 2; i < 5; ++i) {
    t.step(d.batch());
    t.accumulate(d.batch());
    const float *kept = pinned[at].as<float>();
    EXPECT_EQ(before, std::vector<float>(kept, kept + 2));
  }
  expect_moved(*m, 7);
  // What is set goes on from there, in place or not.
  for (bool held : {true, false}) {
    if (!held) pinned.clear();
    Tensor one = make_zeros(DType::f32, {2});
    m->set_weight("norm/moving_mean", one);
    t.step(d.batch());
    for (size_t i = 0; i < 2; ++i)
      EXPECT_NEAR(values(*m, "norm/moving_mean")[i], mean[i] * (1 - momentum), 1e-5 * mean[i]) << held;
  }
}

TEST(Written, ACheckpointAndAFileHaveThem) {
  Data d;
  auto a = model(), b = model();
  Trainer one(a, options(), run_options()), two(b, options(), run_options());
  for (int i = 0; i < 3; ++i) one.step(d.batch());
  const auto held = b->pin();
  two.step(d.batch());
  two.restore(one.state(), one.position_json());
  expect_moved(*b, 3);
  one.step(d.batch());
  two.step(d.batch());
  EXPECT_EQ(bits(one), bits(two));

  const std::string file = io::save_model(*a);
  auto loaded = io::load_model(io::Memory(std::as_bytes(std::span(file))));
  expect_moved(*loaded, 4);
  EXPECT_EQ(loaded->parameters(false), 4);
  EXPECT_EQ(values(*loaded, "norm/moving_variance"), values(*a, "norm/moving_variance"));
}

TEST(Written, AFrozenLayerRunsInInferenceModeFromTheNextStepOn) {
  Data d;
  auto m = model();
  Trainer t(m, options(), run_options());
  t.step(d.batch());
  m->set_trainable("norm", false);
  const auto gamma = values(*m, "norm/gamma");
  const double evaluated = t.results().of(t.evaluate(d.batch()))[0];
  EXPECT_FLOAT_EQ(static_cast<float>(t.results().of(t.step(d.batch()))[0]), static_cast<float>(evaluated));
  t.accumulate(d.batch());
  expect_moved(*m, 1);
  EXPECT_EQ(values(*m, "norm/gamma"), gamma);

  const std::string file = io::save_model(*m);
  auto loaded = io::load_model(io::Memory(std::as_bytes(std::span(file))));
  Trainer other(loaded, options(), run_options());
  other.step(d.batch());
  expect_moved(*loaded, 1);

  m->set_trainable("norm", true);
  t.step(d.batch());
  expect_moved(*m, 2);
  m->set_trainable("norm/gamma", false);  // one of its weights: the layer goes on
  t.step(d.batch());
  expect_moved(*m, 3);
  m->set_trainable("norm/moving_mean", false);
  const auto kept = values(*m, "norm/moving_mean");
  t.step(d.batch());
  EXPECT_EQ(values(*m, "norm/moving_mean"), kept);
  m->set_trainable("*", false);
  EXPECT_EQ(m->parameters(true), 0);
  m->set_trainable("*", true);
  t.step(d.batch());
  EXPECT_NE(values(*m, "norm/moving_mean"), kept);
}

TEST(Written, AFrozenLayerFromTheStart) {
  Data d;
  auto m = model(1, 2, {{"trainable", false}});
  EXPECT_EQ(m->parameters(true), 3);
  Trainer t(m, options(), run_options());
  t.step(d.batch());
  expect_moved(*m, 0);
  m->set_trainable("norm", true);
  t.step(d.batch());
  expect_moved(*m, 2);
}

TEST(Written, NoSessionWrites) {
  Data d;
  for (bool training : {false, true}) {
    graph::Inference in = graph::inference(*model(), {.training = training, .gradients = {"x"}});
    EXPECT_TRUE(in.program.writes.empty());
  }
}

// A value that one call wrote and the next one reads has no gradient, as a variable has none.
TEST(Written, NoGradientPassesThroughThem) {
  auto g = std::make_shared<Graph>(graph::Settings{7, graph::SeedScheme::dl4});
  Node x = g->input("x", DType::f32, {free_dim, 2}), z = g->input("z", DType::f32, {free_dim, 2});
  const auto norm = g->layer("BatchNormalization", "norm", {});
  g->call(norm, {}, {x});
  Node first = g->call(norm, {Json{{"training", true}}, {}}, {x})[0];
  Node second = g->call(norm, {Json{{"training", false}}, {}}, {z})[0];
  Node out = g->add("Subtract", "", {}, {}, {second, first})[0];
  Model m(g, {x, z}, {out});
  graph::Inference in = graph::inference(m, {.training = true, .gradients = {"x"}});
  runtime::Executable s(in.program, m.pin(), nullptr, run_options());
  std::vector<float> xs{1, 2, 3, 5, 8, 4}, y(6), dx(6);
  s.run(std::vector<runtime::View>{{DType::f32, {3, 2}, xs.data(), nullptr}, {DType::f32, {3, 2}, xs.data(), nullptr}},
        std::vector<runtime::View>{{DType::f32, {3, 2}, y.data(), nullptr}, {DType::f32, {3, 2}, dx.data(), nullptr}});
  for (float v : dx) EXPECT_NEAR(v, 0, 1e-5) << "only the normalised sum, which is constant";
}

}  // namespace
}  // namespace dl4::train::DL4_FILE
