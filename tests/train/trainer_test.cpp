// Resume, reproducibility and the equality of the trainer's entries, bit for bit.
#include "train/trainer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "harness/failing_new.hpp"
#include "io/formats.hpp"
#include "train/fit.hpp"
#include "train/run_options.hpp"

namespace dl4::train::DL4_FILE {
namespace {

using graph::Graph;
using graph::Model;
using graph::Node;

struct Data {
  std::vector<float> x = std::vector<float>(100 * 6), y = std::vector<float>(100 * 3);
  Data() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float &v : x) v = normal(random);
    for (float &v : y) v = normal(random);
  }
  Batch batch(int64_t first, int64_t n) {
    return {{{DType::f32, {n, 6}, x.data() + first * 6, nullptr}},
            {{DType::f32, {n, 3}, y.data() + first * 3, nullptr}},
            {}};
  }
  std::unique_ptr<Dataset> dataset(int64_t batch_size = 16) {
    std::vector<Source> xs{{{DType::f32, {100, 6}, x.data(), nullptr}, nullptr}},
        ys{{{DType::f32, {100, 3}, y.data(), nullptr}, nullptr}};
    return from_tensors(xs, ys, {}, {batch_size, true, false, 5});
  }
};

// Dense, BatchNormalization, Dropout, Dense: what a step writes and draws matters too.
std::shared_ptr<Model> model() {
  auto g = std::make_shared<Graph>(graph::Settings{42, graph::SeedScheme::dl4});
  Node x = g->input("x", DType::f32, {free_dim, 6});
  auto add = [&](const char *kind, Json attributes, Node in) {
    return g->call(g->layer(kind, "", std::move(attributes)), {}, {in})[0];
  };
  Node h = add("Dense", {{"units", 16}, {"activation", "tanh"}}, x);
  h = add("BatchNormalization", {{"momentum", 0.7}}, h);
  h = add("Dropout", {{"rate", 0.3}}, h);
  return std::make_shared<Model>(g, std::vector{x}, std::vector{add("Dense", {{"units", 3}}, h)});
}

Json options(const char *optimizer = "Adam") {
  return {{"optimizer", optimizer}, {"loss", "MeanSquaredError"}, {"metrics", {"MeanAbsoluteError"}}};
}

std::vector<float> weights(const Model &m) {
  std::vector<float> all;
  for (const auto &w : m.weights())
    all.insert(all.end(), w->value().as<float>(), w->value().as<float>() + w->value().elements());
  return all;
}

void expect_same_bits(const std::vector<float> &a, const std::vector<float> &b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

// Every tensor that a trainer keeps, as bytes.
std::map<std::string, std::string> bits(const Trainer &t) {
  std::map<std::string, std::string> all;
  for (const auto &[name, tensor] : t.state())
    all[name].assign(reinterpret_cast<const char *>(tensor.data.get()), static_cast<size_t>(tensor.bytes()));
  return all;
}

template <class F>
Code refusal(F f) {
  try {
    f();
    return Code::ok;
  } catch (const Error &error) {
    return error.code;
  }
}

TEST(Trainer, TheLossGoesDown) {
  Data d;
  Trainer t(model(), options(), run_options());
  double first = t.results().of(t.step(d.batch(0, 64)))[0], last = 0;
  for (int i = 0; i < 200; ++i) last = t.results().of(t.step(d.batch(0, 64)))[0];
  EXPECT_LT(last, 0.8 * first);
}

TEST(Trainer, AccumulateAndApplyEqualAStep) {
  Data d;
  for (const char *optimizer : {"SGD", "Adam"}) {
    auto a = model(), b = model();
    Trainer one(a, options(optimizer), run_options()), two(b, options(optimizer), run_options());
    for (int i = 0; i < 5; ++i) {
      one.step(d.batch(i * 10, 10));
      two.accumulate(d.batch(i * 10, 10));
      two.apply();
    }
    expect_same_bits(weights(*a), weights(*b));
  }
}

TEST(Trainer, TwoRunsGiveTheSameBits) {
  Data d;
  auto run = [&](int threads, bool strict) {
    auto m = model();
    Trainer t(m, options(), run_options(threads, strict));
    for (int i = 0; i < 5; ++i) t.step(d.batch(0, 100));
    return weights(*m);
  };
  expect_same_bits(run(1, false), run(1, false));
  expect_same_bits(run(2, false), run(2, false));
  for (int threads : {2, 3, 7}) expect_same_bits(run(1, true), run(threads, true));
}

// Two tables, one read twice by equal ids, of which a step uses few rows; a Dense layer between them in the block.
std::shared_ptr<Model> tables() {
  auto g = std::make_shared<Graph>(graph::Settings{42, graph::SeedScheme::dl4});
  Node ids = g->input("ids", DType::i32, {free_dim, 4}), other = g->input("other", DType::i32, {free_dim});
  auto add = [&](const char *kind, Json attributes, std::vector<Node> in) {
    return g->call(g->layer(kind, "", std::move(attributes)), {}, in)[0];
  };
  Node a = add("Flatten", Json::object(), {add("Embedding", {{"input_dim", 1000}, {"output_dim", 5}}, {ids})});
  Node b = add("Dense", {{"units", 7}, {"activation", "tanh"}}, {a});
  Node c = add("Embedding", {{"input_dim", 33}, {"output_dim", 7}}, {other});
  return std::make_shared<Model>(g, std::vector{ids, other}, std::vector{add("Add", Json::object(), {b, c})});
}

TEST(Trainer, FewRowsOfATableGiveTheBitsOfTheWholeTable) {
  std::vector<int32_t> ids{5, 999, 5, 0, 17, 17, 17, 998, 0, 1, 2, 3}, other{32, 0, 32};
  std::vector<float> y(21, 0.5f);
  for (const char *optimizer : {"SGD", "Adam"}) {
    auto run = [&](int threads, std::vector<std::string> off) {
      auto m = tables();
      runtime::Options o = run_options(threads, true);
      o.plan.passes_off = off;
      o.plan.cutting.least = 1e-3;
      Trainer t(m, options(optimizer), o);
      Batch batch{{{DType::i32, {3, 4}, ids.data(), nullptr}, {DType::i32, {3}, other.data(), nullptr}},
                  {{DType::f32, {3, 7}, y.data(), nullptr}},
                  {}};
      for (int i = 0; i < 4; ++i) t.step(batch);
      EXPECT_EQ(t.describe().find("row_sums") == std::string::npos, !off.empty());
      return weights(*m);
    };
    auto table = run(1, {"keep_rows"});
    for (int threads : {1, 2, 3}) expect_same_bits(run(threads, {}), table);
  }
}

TEST(Trainer, ACheckpointInMidEpochGoesOnBitForBit) {
  Data d;
  FitOptions fit_options = FitOptions::parse({{"epochs", 3}});
  auto whole = model();
  Trainer t(whole, options(), run_options());
  Json history = fit(t, *d.dataset(), nullptr, fit_options, nullptr, nullptr);

  auto cut = model();
  std::string checkpoint;
  {
    Trainer first(cut, options(), run_options());
    int64_t batches = 0;
    std::atomic<int32_t> cancel = 0;
    auto stop = [&](Event event, int64_t, int64_t, const std::vector<double> &) {
      if (event == Event::batch_end && ++batches == 10) {
        checkpoint = io::save_checkpoint(first);
        cancel = 1;
      }
      return 0;
    };
    EXPECT_THROW(fit(first, *d.dataset(), nullptr, fit_options, stop, &cancel), Error);
  }
  auto resumed = model();
  Trainer second(resumed, options(), run_options());
  io::load_checkpoint(second, io::Memory(std::as_bytes(std::span(checkpoint))));
  Json rest = fit(second, *d.dataset(), nullptr, fit_options, nullptr, nullptr);
  expect_same_bits(weights(*whole), weights(*resumed));
  EXPECT_EQ(history, rest);
}

TEST(Trainer, ASessionKeepsTheWeightsItWasMadeFrom) {
  Data d;
  auto m = model();
  Trainer t(m, options(), run_options());
  t.step(d.batch(0, 10));
  std::vector<Tensor> pinned = m->pin();
  std::vector<float> before = weights(*m);
  t.step(d.batch(0, 10));
  std::vector<float> kept;
  for (const Tensor &w : pinned) kept.insert(kept.end(), w.as<float>(), w.as<float>() + w.elements());
  expect_same_bits(before, kept);
  EXPECT_NE(before, weights(*m));
}

TEST(Trainer, ALossThatIsNotFiniteChangesNothing) {
  Data d;
  auto m = model();
  Trainer t(m, options(), run_options());
  t.step(d.batch(0, 10));
  t.accumulate(d.batch(10, 10));
  auto before = bits(t);
  d.x[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refusal([&] { t.accumulate(d.batch(0, 10)); }), Code::numeric);
  try {
    t.step(d.batch(0, 10));
    FAIL() << "no refusal";
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::numeric);
    EXPECT_EQ(error.message, "training step 2: \"loss\" is NaN or infinite");
  }
  EXPECT_EQ(before, bits(t));
}

TEST(Trainer, GradientsThatAreNotFiniteAreNotAccumulated) {
  auto g = std::make_shared<Graph>(graph::Settings{});
  Node x = g->input("x", DType::f32, {free_dim, 6});
  const auto layer = g->layer("Dense", "", {{"units", 3}, {"kernel_initializer", "zeros"}});
  auto m = std::make_shared<Model>(g, std::vector{x}, g->call(layer, {}, {x}));
  Json how = options("SGD");
  how["nan_guard"] = "gradients";
  Trainer t(m, how, run_options());
  Data good, bad;
  for (float &v : bad.x) v = 1e25f;
  for (float &v : bad.y) v = 1e18f;  // its square is finite, its product with x is not
  t.accumulate(good.batch(0, 10));
  auto before = bits(t);
  EXPECT_EQ(refusal([&] { t.accumulate(bad.batch(0, 10)); }), Code::numeric);
  EXPECT_EQ(before, bits(t));
  t.apply();
}

TEST(Trainer, GradientsAreTheMeanOfWhatWasAccumulated) {
  Data d;
  auto m = model();
  Trainer t(m, options("SGD"), run_options());
  EXPECT_THROW(t.gradients.mean("*"), Error);
  t.accumulate(d.batch(0, 10));
  t.accumulate(d.batch(10, 10));
  Tensor g = t.gradients.mean("dense_1/bias");
  std::vector<float> before = weights(*m);
  t.apply();
  std::vector<float> after = weights(*m);
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(after[after.size() - 3 + i], before[before.size() - 3 + i] - 0.01f * g.as<float>()[i], 1e-7);
  EXPECT_THROW(t.apply(), Error);
}

TEST(Trainer, TheFlatGradientIsAllOthersInTheirOrder) {
  auto m = tables();
  Trainer t(m, options("SGD"), run_options());
  std::vector<int32_t> ids{5, 999, 5, 0}, other{32};
  std::vector<float> y(7, 0.5f), all;
  t.accumulate({{{DType::i32, {1, 4}, ids.data(), nullptr}, {DType::i32, {1}, other.data(), nullptr}},
                {{DType::f32, {1, 7}, y.data(), nullptr}},
                {}});
  for (const auto &w : m->weights()) {
    Tensor one = t.gradients.mean(w->name);
    all.insert(all.end(), one.as<float>(), one.as<float>() + one.elements());
  }
  Tensor flat = t.gradients.mean("*");
  EXPECT_EQ(flat.shape, Shape{m->parameters(true)});
  expect_same_bits(all, {flat.as<float>(), flat.as<float>() + flat.elements()});
}

TEST(Trainer, AFitThatFailsLeavesThePlaceAsItWas) {
  Data d;
  Trainer t(model(), options(), run_options());
  auto broken = from_callback(
      [&](int64_t i, Batch &b) {
        b = d.batch(i * 10, 10);
        return i == 2 ? 5 : 0;
      },
      std::nullopt);
  FitOptions late = FitOptions::parse({{"initial_epoch", 5}, {"epochs", 7}}), once = FitOptions::parse({{"epochs", 1}});
  EXPECT_EQ(refusal([&] { fit(t, *broken, nullptr, late, nullptr, nullptr); }), Code::callback_failed);
  EXPECT_EQ(t.get("iterations"), 2);
  EXPECT_EQ(t.get("epoch"), 0);
  EXPECT_EQ(t.get("batch"), 0);

  std::atomic<int32_t> cancel = 0;
  auto stop = [&](Event event, int64_t step, int64_t, const std::vector<double> &) {
    cancel = event == Event::batch_end && step == 3;
    return 0;
  };
  EXPECT_EQ(refusal([&] { fit(t, *d.dataset(), nullptr, once, stop, &cancel); }), Code::cancelled);
  EXPECT_EQ(t.get("batch"), 3);
  FitOptions both = FitOptions::parse({{"validation_split", 0.5}});
  EXPECT_EQ(refusal([&] { fit(t, *d.dataset(), d.dataset().get(), both, nullptr, nullptr); }), Code::invalid_argument);
  EXPECT_EQ(t.get("batch"), 3);
  FitOptions on = FitOptions::parse({{"resume", true}});
  EXPECT_EQ(fit(t, *d.dataset(), nullptr, on, nullptr, nullptr)["epoch"], Json::array({0}));
  EXPECT_EQ(t.get("iterations"), 2 + 7);
}

TEST(Trainer, ValidationIsAfterEveryNthEpochCountedFromTheFirst) {
  Data d;
  Trainer t(model(), options(), run_options());
  std::vector<int64_t> validated;
  auto note = [&](Event event, int64_t step, int64_t, const std::vector<double> &metrics) {
    if (event == Event::epoch_end && metrics.size() == 4) validated.push_back(step);
    return 0;
  };
  FitOptions o = FitOptions::parse({{"initial_epoch", 1}, {"epochs", 4}, {"validation_freq", 2}});
  fit(t, *d.dataset(), d.dataset().get(), o, note, nullptr);
  EXPECT_EQ(validated, (std::vector<int64_t>{2, 4}));
}

// The first k allocations of a restore are granted, for every k: it is done whole or not at all.
TEST(Trainer, ARestoreThatFindsNoMemoryChangesNothing) {
  Data d;
  auto make = [] {
    auto g = std::make_shared<Graph>(graph::Settings{42, graph::SeedScheme::dl4});
    Node x = g->input("x", DType::f32, {free_dim, 6});
    Node h = g->call(g->layer("Dense", "", {{"units", 4}, {"trainable", false}}), {}, {x})[0];
    h = g->call(g->layer("BatchNormalization", "", {}), {}, {h})[0];
    return std::make_shared<Model>(g, std::vector{x}, g->call(g->layer("Dense", "", {{"units", 3}}), {}, {h}));
  };
  Trainer saved(make(), options(), run_options());
  for (int i = 0; i < 3; ++i) saved.step(d.batch(0, 10));
  const auto state = saved.state();
  const Json position = saved.position_json();
  Trainer one(make(), options(), run_options()), other(make(), options(), run_options());
  one.step(d.batch(0, 10));
  other.step(d.batch(0, 10));
  int64_t refused = 0;
  for (bool whole = false; !whole; refused += !whole) {
    std::vector<Tensor> held = one.model().pin();  // the trainer must move to a copy
    dl4_test::news_granted = refused;
    try {
      one.restore(state, position);
      whole = true;
    } catch (const std::bad_alloc &) {
    }
    dl4_test::news_granted = -1;
    if (whole) other.restore(state, position);
    ASSERT_TRUE(bits(one) == bits(other)) << refused;
    one.step(d.batch(0, 10));
    other.step(d.batch(0, 10));
    ASSERT_TRUE(bits(one) == bits(other)) << refused << ", a step later";
  }
  EXPECT_GT(refused, 10);
}

TEST(Trainer, AStepAfterTheFirstAllocatesNothing) {
  Data d;
  Json how = options();
  how["weighted_metrics"] = {
      "AUC", "F1Score", "R2Score", "Precision", {{"class_name", "OneHotMeanIoU"}, {"config", {{"num_classes", 3}}}}};
  for (int64_t shards : {1, 4}) {
    how["shards"] = shards;
    Trainer t(model(), how, run_options());
    const Batch b = d.batch(0, 10);
    auto all = [&] {
      t.results().of(t.step(b));
      t.results().of(t.accumulate(b));
      t.apply();
      t.results().of(t.evaluate(b));
    };
    all();
    dl4_test::news_granted = 0;
    EXPECT_EQ(refusal(all), Code::ok) << shards << " shards";
    dl4_test::news_granted = -1;
  }
}

TEST(Trainer, WhatATrainerKeepsIsWithinTheMemoryLimit) {
  Data d;
  runtime::Options o = run_options();
  o.plan.memory_limit = 1100;  // the weights take 704 bytes
  EXPECT_EQ(refusal([&] { Trainer(model(), options("Adam"), o); }), Code::out_of_memory);
  Trainer t(model(), options("SGD"), o);
  auto before = bits(t);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(refusal([&] { t.accumulate(d.batch(0, 10)); }), Code::out_of_memory);
  EXPECT_EQ(before, bits(t));
}

struct Refusal {
  const char *what;
  Json options;
  const char *message;
};

TEST(Trainer, BadOptionsAreRefused) {
  for (const Refusal &r : std::vector<Refusal>{
           {"no optimizer", {{"loss", "mse"}}, "\"optimizer\""},
           {"no loss", {{"optimizer", "SGD"}}, "attribute \"loss\" is missing"},
           {"unknown key", {{"optimizer", "SGD"}, {"los", "mse"}}, "did you mean \"loss\""},
           {"unknown loss", {{"optimizer", "SGD"}, {"loss", "MeanSquaredEror"}}, "MeanSquaredError"},
           {"two losses for one output", {{"optimizer", "SGD"}, {"loss", {"mse", "mse"}}}, "expected 1 entries"},
           {"null for an optimizer", {{"optimizer", nullptr}, {"loss", "mse"}}, "expected an optimizer, got null"},
           {"null for a loss", {{"optimizer", "SGD"}, {"loss", {nullptr}}}, "expected a loss for at least one output"},
           {"a metric of an output without target",
            {{"optimizer", "SGD"}, {"loss", "output"}, {"metrics", {"mae"}}},
            "\"metrics\": output 0 is minimised itself"},
           {"null for a metric",
            {{"optimizer", "SGD"}, {"loss", "mse"}, {"metrics", {"mae", nullptr}}},
            "\"metrics\": expected a metric, got null"},
           {"null for a metric of an output",
            {{"optimizer", "SGD"}, {"loss", "mse"}, {"metrics", Json::array({Json::array({nullptr})})}},
            "\"metrics\": expected a metric, got null"},
           {"two ways of clipping",
            {{"optimizer", {{"class_name", "SGD"}, {"config", {{"clipnorm", 1.0}, {"clipvalue", 1.0}}}}},
             {"loss", "mse"}},
            "clip"}}) {
    try {
      Trainer t(model(), r.options, run_options());
      ADD_FAILURE() << r.what << ": no refusal";
    } catch (const Error &error) {
      EXPECT_NE(error.message.find(r.message), std::string::npos) << r.what << ": " << error.message;
    }
  }
}

TEST(Trainer, NullIsNoMetricForAnOutputAndAnOrdinaryWeightOfItsLoss) {
  auto g = std::make_shared<Graph>(graph::Settings{});
  Node x = g->input("x", DType::f32, {free_dim, 6});
  std::vector<Node> out;
  for (const char *name : {"a", "b"}) out.push_back(g->call(g->layer("Dense", name, {{"units", 3}}), {}, {x})[0]);
  auto m = std::make_shared<Model>(g, std::vector{x}, out);
  Json o{
      {"optimizer", "SGD"}, {"loss", {"mse", "mse"}}, {"metrics", {nullptr, {"mae"}}}, {"loss_weights", {nullptr, 2}}};
  Data d;
  Batch b = d.batch(0, 10);
  b.y.push_back(b.y[0]);
  Trainer t(m, o, run_options());
  EXPECT_EQ(t.results().names(), (std::vector<std::string>{"loss", "a_loss", "b_loss", "b_mae"}));
  std::vector<double> means = t.results().of(t.evaluate(b));
  EXPECT_FLOAT_EQ(static_cast<float>(means[0]), static_cast<float>(means[1] + 2 * means[2]));
}

TEST(Trainer, CrossentropyTakesEachBatchByItsShape) {
  Data d;
  for (float &v : d.y) v = v < 0 ? 0.0f : 2.0f;
  Trainer t(model(), {{"optimizer", "SGD"}, {"loss", "crossentropy"}}, run_options());
  Batch classes = d.batch(0, 10), numbers = classes;
  numbers.y[0].shape = {10, 1};
  t.evaluate(classes);
  t.evaluate(numbers);
  numbers.y[0].shape = {10};
  t.evaluate(numbers);
  numbers.y[0].shape = {10, 2};
  EXPECT_THROW(t.evaluate(numbers), Error);
}

TEST(Trainer, BadBatchesAreRefused) {
  Data d;
  auto m = model();
  Trainer t(m, options(), run_options());
  Batch wrong_rows = d.batch(0, 10);
  wrong_rows.y[0].shape = {9, 3};
  EXPECT_THROW(t.step(wrong_rows), Error);
  Batch wrong_target = d.batch(0, 10);
  wrong_target.y[0].shape = {10, 2};
  EXPECT_THROW(t.step(wrong_target), Error);
  Batch none = d.batch(0, 0);
  EXPECT_THROW(t.step(none), Error);
  EXPECT_THROW(Trainer(m, options(), run_options()), Error);  // a second trainer
}

}  // namespace
}  // namespace dl4::train::DL4_FILE
