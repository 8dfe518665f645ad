// Layers that sum over all workers in mid-run train as one process does, and fail together.
#include <cmath>
#include <functional>

#include "base/float_mode.hpp"
#include "ring.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using Make = std::function<std::shared_ptr<graph::Model>()>;

// As one worker or more; far from 0, where nothing may be lost beside the mean. uneven: the last worker has no rows.
Told train(int64_t size, const Make &make, bool uneven = false) {
  Rows rows;
  for (float &v : rows.x) v += v == 0 ? 0 : 50;
  const auto cut = [uneven](int64_t n, int64_t rank, int64_t size) {
    const bool none = uneven && rank == size - 1;
    return none ? std::pair(n, int64_t{0}) : mine(n, rank, uneven ? size - 1 : size);
  };
  return dl4_test::train(size, how("SGD"), make, cut, rows);
}

// Layers one behind the other on (B, 3, 4), then Dense.
Make chain(std::vector<std::pair<const char *, Json>> layers) {
  return [layers] {
    auto g = std::make_shared<graph::Graph>(graph::Settings{42, graph::SeedScheme::dl4});
    graph::Node x = g->input("x", DType::f32, {free_dim, 3, 4}), h = x;
    for (const auto &[kind, config] : layers) h = add(*g, kind, config, h);
    h = add(*g, "Dense", {{"units", 2}, {"activation", "sigmoid"}}, h);
    return std::make_shared<graph::Model>(g, std::vector{x}, std::vector{h});
  };
}

Json synchronized(Json more = Json::object()) {
  Json config{{"synchronized", true}, {"momentum", 0.7}};
  for (const auto &[key, value] : more.items()) config[std::string(key)] = value;
  return config;
}

// What the losses are divided by depends on the statistics too.
Make masked_by_statistics() {
  return chain({{"BatchNormalization", synchronized()},
                {"Dense", {{"units", 2}, {"activation", "relu"}}},
                {"Masking", Json::object()}});
}

TEST(Synchronized, NothingIsSummedBeforeAllHaveMet) {
  Ring ring(2);
  on_threads(2, [&](int64_t rank) {
    Rows rows;
    Trainer t(masked_by_statistics()(), how("SGD"), run_options());
    t.set_workers(rank, 2, ring.at(rank), nullptr);
    Batch b = rows.batch(rank * 5, 5);
    if (rank == 1) b.y[0].shape = {4, 3, 2};
    const Error e = refusal([&] { t.step(b); });
    EXPECT_EQ(e.code, Code::shape_mismatch) << e.message;
    EXPECT_EQ(refusal([&] { t.step(rows.batch(rank * 5, 5)); }).code, Code::ok);
  });
}

TEST(Synchronized, TrainsAsOneProcessWithTheWholeBatch) {
  const Json dense{{"units", 6}, {"activation", "tanh"}, {"kernel_regularizer", "l2"}};
  const Json inner{{"class_name", "BatchNormalization"}, {"config", synchronized()}};
  for (const Make &make :
       {chain({{"BatchNormalization", synchronized()}, {"Dense", dense}, {"BatchNormalization", synchronized()}}),
        chain({{"Masking", Json::object()}, {"BatchNormalization", synchronized()}, {"Dense", dense}}),
        chain({{"BatchNormalization", synchronized()},
               {"Dense", dense},
               {"BatchNormalization", synchronized({{"axis", 1}, {"scale", false}})}}),
        chain({{"BatchNormalization", synchronized({{"renorm", true}})}, {"Dense", dense}}),
        chain({{"TimeDistributed", {{"layer", inner}}}, {"Dropout", {{"rate", 0.3}}}}), masked_by_statistics()}) {
    const Told one = train(1, make);
    for (const auto &[size, uneven] : {std::pair(2, false), std::pair(3, false), std::pair(3, true)}) {
      const Told all = train(size, make, uneven);
      ASSERT_EQ(all.weights.size(), one.weights.size());
      for (size_t i = 0; i < all.weights.size(); ++i)
        ASSERT_NEAR(all.weights[i], one.weights[i], 2e-5 * (1 + std::abs(one.weights[i]))) << i;
      for (size_t i = 0; i < all.numbers.size(); ++i) ASSERT_NEAR(all.numbers[i], one.numbers[i], 2e-5) << i;
    }
  }
}

TEST(Synchronized, IsWhatMakesTheDifference) {
  const Json apart{{"momentum", 0.7}};
  const Told one = train(1, chain({{"BatchNormalization", apart}}));
  EXPECT_EQ(one.weights, train(1, chain({{"BatchNormalization", synchronized()}})).weights);
  const Told two = train(2, chain({{"BatchNormalization", apart}}));
  float most = 0;
  for (size_t i = 0; i < one.weights.size(); ++i) most = std::max(most, std::abs(one.weights[i] - two.weights[i]));
  EXPECT_GT(most, 1e-3f);
}

// Two embeddings, one before the layer and one behind it, whose ids are two inputs.
std::shared_ptr<graph::Model> embeddings() {
  auto g = std::make_shared<graph::Graph>(graph::Settings{42, graph::SeedScheme::dl4});
  graph::Node a = g->input("before", DType::i32, {free_dim}), b = g->input("behind", DType::i32, {free_dim});
  const Json table{{"input_dim", 9}, {"output_dim", 2}};
  graph::Node h = add(*g, "BatchNormalization", synchronized(), add(*g, "Embedding", table, a));
  h = g->call(g->layer("Multiply", "", Json::object()), {}, {h, add(*g, "Embedding", table, b)})[0];
  h = add(*g, "BatchNormalization", synchronized(), h);
  return std::make_shared<graph::Model>(g, std::vector{a, b}, std::vector{h});
}

struct Ids {
  std::vector<int32_t> before{0, 5, 7}, behind{1, 8, 2};
  std::vector<float> y = std::vector<float>(6, 0.5f);
  Batch batch(int64_t n = 3) {
    return {{{DType::i32, {n}, before.data(), nullptr}, {DType::i32, {n}, behind.data(), nullptr}},
            {{DType::f32, {n, 2}, y.data(), nullptr}},
            {}};
  }
};

// Before the first sum of the run and after it, of one worker and of two, while a third one has rows or none.
TEST(Synchronized, WhatFailsInMidRunOnOneFailsOnAll) {
  for (int64_t rows_of_last : {3, 0})
    for (int c = 1; c < 16; ++c) {
      Ring ring(3);
      on_threads(3, [&](int64_t rank) {
        auto m = embeddings();
        Trainer t(m, {{"optimizer", "SGD"}, {"loss", "mse"}}, run_options());
        t.set_workers(rank, 3, ring.at(rank), nullptr);
        const int64_t n = rank == 2 ? rows_of_last : 3;
        t.step(Ids().batch(n));
        const std::vector<float> before = weights(*m);
        Ids ids;
        const bool early = (c >> (2 * rank) & 1) != 0, late = (c >> (2 * rank) & 2) != 0;
        const bool bad = rank < 2 && (early || late);
        if (early && bad) ids.before[1] = 9;
        if (late && bad) ids.behind[2] = 10;
        const Error e = refusal([&] { t.step(ids.batch(n)); });
        EXPECT_EQ(e.code, Code::invalid_argument) << e.message;
        EXPECT_NE(e.message.find(" is out of range"), std::string::npos) << e.message;
        EXPECT_TRUE(bad || e.message.starts_with("worker ")) << e.message;
        expect_same_bits(weights(*m), before);
        EXPECT_EQ(refusal([&] { t.step(Ids().batch(n)); }).code, Code::ok);
      });
    }
}

TEST(Synchronized, AReductionThatFailsLeavesTheLastCompleteStep) {
  for (int64_t c = 0; c < 64; ++c) {
    const int64_t at = c / 4, only = c % 4;  // it fails on one alone, or on all
    Ring ring(3);
    on_threads(3, [&](int64_t rank) {
      auto m = embeddings();
      Trainer t(m, {{"optimizer", "SGD"}, {"loss", "mse"}}, run_options());
      t.set_workers(rank, 3, ring.at(rank), nullptr);
      t.step(Ids().batch(rank == 2 ? 0 : 3));
      if (only == 3 || only == rank) ring.granted[static_cast<size_t>(rank)] = at;
      Error e{Code::ok, ""};
      int64_t steps = 1;
      std::vector<float> before;
      while (e.code == Code::ok) {
        before = weights(*m);
        e = refusal([&] { t.step(Ids().batch(rank == 2 ? 0 : 3)); });
        steps += e.code == Code::ok ? 1 : 0;
      }
      EXPECT_EQ(e.code, Code::callback_failed);
      EXPECT_NE(e.message.find("the workers' reduction gave "), std::string::npos) << e.message;
      expect_same_bits(weights(*m), before);
      EXPECT_EQ(t.get("iterations"), static_cast<double>(steps));
    });
  }
}

TEST(Synchronized, TheFunctionRunsWithTheHostsFloats) {
  Ring ring(2);
  on_threads(2, [&](int64_t rank) {
    int64_t sums = 0;
    Trainer t(embeddings(), {{"optimizer", "SGD"}, {"loss", "mse"}}, run_options());
    t.set_workers(
        rank, 2,
        [&, sum = ring.at(rank)](void *values, int64_t n, DType dtype) {
          sums += dtype == DType::f32 ? 1 : 0;
          EXPECT_EQ(FloatMode::read().control, FloatMode::plain);
          return sum(values, n, dtype);
        },
        nullptr);
    t.step(Ids().batch());
    EXPECT_EQ(sums, 9);  // of two layers two forward and two back, then the gradients
  });
}

TEST(Synchronized, IsRefusedOnlyWithShards) {
  for (int64_t shards : {1, 2, 4}) {
    Ring ring(2);
    on_threads(2, [&](int64_t rank) {
      Trainer t(embeddings(), {{"optimizer", "SGD"}, {"loss", "mse"}, {"shards", shards}}, run_options(1, true));
      t.set_workers(rank, 2, ring.at(rank), nullptr);
      const Error e = refusal([&] { t.step(Ids().batch()); });
      EXPECT_EQ(e.code, shards == 1 ? Code::ok : Code::unsupported) << e.message;
      EXPECT_EQ(
          e.message.find("\"synchronized\": expected false where a batch is cut into shards") != std::string::npos,
          shards > 1)
          << e.message;
    });
  }
}

TEST(Synchronized, SumsOverThoseWhoAreTogetherNow) {
  Ring ring(2);
  on_threads(2, [&](int64_t rank) {
    auto m = embeddings(), other = embeddings();
    Ids ids;
    ids.before[0] = static_cast<int32_t>(rank);
    Trainer t(m, {{"optimizer", "SGD"}, {"loss", "mse"}}, run_options());
    t.set_workers(rank, 2, ring.at(rank), nullptr);
    t.step(ids.batch());
    for (const auto &w : m->weights()) other->set_weight(w->name, clone(w->value()));
    t.set_workers(
        0, 1, [](void *, int64_t, DType) { return 0; }, nullptr);
    t.step(ids.batch());
    Trainer alone(other, {{"optimizer", "SGD"}, {"loss", "mse"}}, run_options());
    alone.step(ids.batch());
    const std::vector<float> a = weights(*m), b = weights(*other);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6) << i;
  });
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
