// Weights that calls in training write though they are trained: the kernel of SpectralNormalization.
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
using Values = std::vector<float>;

struct Data {
  Values x{1, 2, -3, 1, 0, 2, 1, 1}, y{0, 1, 1, 0};
  Batch batch() { return {{{DType::f32, {4, 2}, x.data(), nullptr}}, {{DType::f32, {4, 1}, y.data(), nullptr}}, {}}; }
};

// A normalised Dense of 3 units, called `calls` times on the same input; then one unit.
std::shared_ptr<Model> model(int calls = 1, const Json &inside = Json::object(), const Json &outside = Json::object()) {
  auto g = std::make_shared<Graph>(graph::Settings{7, graph::SeedScheme::dl4});
  Node x = g->input("x", DType::f32, {free_dim, 2});
  Json dense{{"name", "dense"}, {"units", 3}}, how{{"power_iterations", 2}};
  dense.update(inside);
  how["layer"] = {{"class_name", "Dense"}, {"config", dense}};
  how.update(outside);
  const auto layer = g->layer("SpectralNormalization", "norm", how);
  Node h = g->call(layer, {}, {x})[0];
  for (int i = 1; i < calls; ++i) h = g->add("Add", "", {}, {}, {h, g->call(layer, {}, {x})[0]})[0];
  return std::make_shared<Model>(g, std::vector{x}, g->add("Dense", "head", {{"units", 1}}, {}, {h}));
}

Json options(double rate = 0, const char *guard = "loss") {
  return {{"optimizer", {{"class_name", "SGD"}, {"config", {{"learning_rate", rate}}}}},
          {"loss", "MeanSquaredError"},
          {"nan_guard", guard}};
}

Values values(const Model &m, const std::string &name) {
  Tensor t = m.get_weight(name);
  return {t.as<float>(), t.as<float>() + t.elements()};
}
constexpr const char *kernel = "norm/dense/kernel", *vector_u = "norm/vector_u";

// Kernel (2, 3) and u after `times` calls, in double.
struct Iterated {
  std::vector<double> w, u;
  Iterated(const Values &kernel, const Values &vector)
      : w(kernel.begin(), kernel.end()), u(vector.begin(), vector.end()) {}

  Iterated &call(int times) {
    while (times-- > 0) {
      std::vector<double> v(2);
      for (int i = 0; i < 2; ++i) {
        for (size_t r = 0; r < 2; ++r) v[r] = w[3 * r] * u[0] + w[3 * r + 1] * u[1] + w[3 * r + 2] * u[2];
        unit(v);
        for (size_t c = 0; c < 3; ++c) u[c] = w[c] * v[0] + w[3 + c] * v[1];
        unit(u);
      }
      double sigma = 0;
      for (size_t i = 0; i < 6; ++i) sigma += v[i / 3] * w[i] * u[i % 3];
      for (double &x : w) x /= sigma;
    }
    return *this;
  }
  static void unit(std::vector<double> &x) {
    double square = 0;
    for (double a : x) square += a * a;
    for (double &a : x) a /= std::sqrt(square);
  }
  void expect(const Model &m, const std::string &where) const {
    for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(values(m, kernel)[i], w[i], 2e-6) << where;
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(values(m, vector_u)[i], u[i], 2e-6) << where;
  }
};

std::map<std::string, std::string> bits(const Trainer &t) {
  std::map<std::string, std::string> all;
  for (const auto &[name, tensor] : t.state())
    all[name].assign(reinterpret_cast<const char *>(tensor.data.get()), static_cast<size_t>(tensor.bytes()));
  return all;
}

TEST(Assigned, EachCallOfAStepOrAnAccumulationDividesTheKernel) {
  for (int calls : {1, 3}) {
    Data d;
    auto m = model(calls);
    Iterated expected(values(*m, kernel), values(*m, vector_u));
    Trainer t(m, options(), run_options());
    t.evaluate(d.batch());
    expected.expect(*m, "evaluate");
    t.step(d.batch());
    expected.call(calls).expect(*m, "step");
    t.accumulate(d.batch());
    expected.call(calls).expect(*m, "accumulate");
    t.apply();
    expected.expect(*m, "apply");
  }
}

// The step goes from the divided kernel, by its gradient.
TEST(Assigned, TheUpdateGoesOnFromWhatWasWritten) {
  Data d;
  auto still = model(), moving = model();
  Trainer one(still, options(), run_options()), two(moving, options(0.5), run_options());
  one.accumulate(d.batch());
  two.step(d.batch());
  const Tensor gradient = one.gradients.mean(kernel);
  double moved = 0;
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(values(*moving, kernel)[i], values(*still, kernel)[i] - 0.5f * gradient.as<float>()[i], 1e-6) << i;
    moved += std::abs(gradient.as<float>()[i]);
  }
  EXPECT_GT(moved, 1e-3);
}

TEST(Assigned, AreListedAsWhatTheyAre) {
  auto m = model();
  std::vector<std::string> names;
  for (const auto &w : m->weights()) {
    names.push_back(w->name);
    EXPECT_EQ(w->trainable(), w->name != vector_u) << w->name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{kernel, vector_u, "norm/dense/bias", "head/kernel", "head/bias"}));
  EXPECT_EQ(m->parameters(true), 6 + 3 + 3 + 1);
  EXPECT_EQ(m->parameters(false), 3);
}

TEST(Assigned, AFailedStepLeavesThem) {
  Data d;
  for (const char *guard : {"loss", "gradients"}) {
    Trainer t(model(), options(0.1, guard), run_options());
    t.step(d.batch());
    t.accumulate(d.batch());
    const auto before = bits(t);
    d.y[2] = std::numeric_limits<float>::infinity();
    EXPECT_THROW(t.step(d.batch()), Error);
    EXPECT_THROW(t.accumulate(d.batch()), Error);
    d.y[2] = 1;
    EXPECT_EQ(before, bits(t)) << guard;
  }
}

TEST(Assigned, AnEarlierSessionKeepsThem) {
  Data d;
  auto m = model();
  Trainer t(m, options(), run_options());
  t.step(d.batch());
  const auto before = values(*m, kernel), u = values(*m, vector_u);
  const std::vector<Tensor> pinned = m->pin();
  Iterated expected(before, u);
  for (int i = 0; i < 2; ++i) {
    t.accumulate(d.batch());
    t.step(d.batch());
    EXPECT_EQ(before, Values(pinned[0].as<float>(), pinned[0].as<float>() + 6));
    EXPECT_EQ(u, Values(pinned[1].as<float>(), pinned[1].as<float>() + 3));
  }
  expected.call(4).expect(*m, "with a session");
}

TEST(Assigned, ACheckpointAndAFileHaveThem) {
  Data d;
  auto a = model(), b = model();
  Trainer one(a, options(0.1), run_options()), two(b, options(0.1), run_options());
  for (int i = 0; i < 3; ++i) one.step(d.batch());
  two.step(d.batch());
  two.restore(one.state(), one.position_json());
  EXPECT_EQ(bits(one), bits(two));
  one.step(d.batch());
  two.step(d.batch());
  EXPECT_EQ(bits(one), bits(two));

  const std::string file = io::save_model(*a);
  auto loaded = io::load_model(io::Memory(std::as_bytes(std::span(file))));
  EXPECT_EQ(values(*loaded, kernel), values(*a, kernel));
  EXPECT_EQ(values(*loaded, vector_u), values(*a, vector_u));
  Trainer three(loaded, options(0.1), run_options());
  three.step(d.batch());
  one.step(d.batch());
  EXPECT_EQ(values(*loaded, kernel), values(*a, kernel));
}

// As in Keras, whose assignments ask for no one's leave; gradients move nothing.
TEST(Assigned, FrozenOnesAreWrittenToo) {
  Data d;
  const Json frozen{{"trainable", false}};
  for (const auto &m : {model(1, frozen), model(1, Json::object(), frozen)}) {
    Iterated expected(values(*m, kernel), values(*m, vector_u));
    Trainer t(m, options(0.3), run_options());
    t.step(d.batch());
    t.accumulate(d.batch());
    expected.call(2).expect(*m, "frozen");
    m->set_trainable("norm", true);
    const auto before = values(*m, kernel);
    t.step(d.batch());
    m->set_trainable(kernel, false);
    expected = Iterated(values(*m, kernel), values(*m, vector_u));
    t.step(d.batch());
    expected.call(1).expect(*m, "frozen again");
    EXPECT_NE(values(*m, kernel), before);
  }
}

TEST(Assigned, NoSessionWrites) {
  for (bool training : {false, true}) {
    graph::Inference in = graph::inference(*model(), {.training = training, .gradients = {kernel}});
    EXPECT_TRUE(in.program.writes.empty());
  }
}

}  // namespace
}  // namespace dl4::train::DL4_FILE
