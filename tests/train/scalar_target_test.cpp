// A target without axes: the same number for every prediction, in every entry that takes a batch.
#include <gtest/gtest.h>

#include "train/run_options.hpp"
#include "train/trainer.hpp"

namespace dl4::train::DL4_FILE {
namespace {

using graph::Graph;
using graph::Model;
using graph::Node;

// A Dense of ones over (4, 2).
std::shared_ptr<Model> model(int64_t units) {
  auto g = std::make_shared<Graph>(graph::Settings{});
  const Node x = g->input("x", DType::f32, {free_dim, 2});
  const Node y = g->call(g->layer("Dense", "d", {{"units", units}, {"kernel_initializer", "ones"}}), {}, {x})[0];
  return std::make_shared<Model>(g, std::vector{x}, std::vector{y});
}

struct Rows {
  std::vector<float> x{0, 1, 2, 3, 4, 5, 6, 7}, y;
  float scalar;

  Rows(float v, int64_t units) : y(static_cast<size_t>(4 * units), v), scalar(v) {}
  Batch whole(int64_t units) { return {{view({4, 2}, x.data())}, {view({4, units}, y.data())}, {}}; }
  Batch one() { return {{view({4, 2}, x.data())}, {view({}, &scalar)}, {}}; }
  static runtime::View view(const Shape &shape, float *data) { return {DType::f32, shape, data, nullptr}; }
};

std::vector<float> weights(const Model &m) {
  std::vector<float> all;
  for (const auto &w : m.weights())
    all.insert(all.end(), w->value().as<float>(), w->value().as<float>() + w->value().elements());
  return all;
}

TEST(ScalarTarget, IsTheTargetOfEveryPrediction) {
  for (int64_t units : {1, 3})
    for (const char *loss : {"mse", "mae", "huber", "binary_crossentropy", "poisson"}) {
      const Json options{{"optimizer", "SGD"}, {"loss", loss}, {"metrics", {"mae", "mse"}}};
      auto a = model(units), b = model(units);
      Trainer ta(a, options, run_options()), tb(b, options, run_options());
      Rows r(1, units);
      for (int step = 0; step < 2; ++step) {
        ta.step(r.one());
        tb.step(r.whole(units));
      }
      EXPECT_EQ(weights(*a), weights(*b)) << loss << ", units " << units;
    }
}

// What keras.Model.test_on_batch(x, np.float32(1)) gives: the sums of rows are 1, 5, 9 and 13.
TEST(ScalarTarget, GivesKerasNumbers) {
  const Json options{{"optimizer", "SGD"}, {"loss", "mse"}, {"metrics", {"mae", "BinaryAccuracy"}}};
  for (int64_t units : {1, 3}) {
    auto m = model(units);
    Trainer t(m, options, run_options());
    Rows r(1, units);
    EXPECT_EQ(t.results().of(t.evaluate(r.one())), (std::vector<double>{56, 6, 1}));
    EXPECT_EQ(t.results().of(t.evaluate(r.whole(units))), (std::vector<double>{56, 6, 1}));
  }
}

TEST(ScalarTarget, IsNoClassOfEachRow) {
  auto m = model(3);
  Trainer t(m, {{"optimizer", "SGD"}, {"loss", "SparseCategoricalCrossentropy"}}, run_options());
  Rows r(1, 3);
  const std::vector<float> before = weights(*m);
  try {
    t.step(r.one());
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::shape_mismatch);
    EXPECT_NE(error.message.find("target of output \"d\": expected shape"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("got ()"), std::string::npos) << error.message;
  }
  EXPECT_EQ(weights(*m), before);
}

}  // namespace
}  // namespace dl4::train::DL4_FILE
