// Workers train as one process does, to the same bits where shards are cut, and fail together.
#include "ring.hpp"

namespace dl4_test::DL4_FILE {
namespace {

void expect_near(const Told &a, const Told &b) {
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (size_t i = 0; i < a.weights.size(); ++i) ASSERT_NEAR(a.weights[i], b.weights[i], 2e-5) << i;
  ASSERT_EQ(a.numbers.size(), b.numbers.size());
  for (size_t i = 0; i < a.numbers.size(); ++i) ASSERT_NEAR(a.numbers[i], b.numbers[i], 2e-5) << i;
}

TEST(Workers, TrainAsOneProcessWithTheWholeBatch) {
  // The last worker's rows go to the first, whose part is then uneven or all.
  auto uneven = [](int64_t rows, int64_t rank, int64_t size) {
    auto [first, n] = mine(rows, rank, size);
    if (rank == 0) n += mine(rows, size - 1, size).second;
    if (rank > 0) first += mine(rows, size - 1, size).second;
    if (rank == size - 1 && size > 1) n = 0;
    return std::pair(first, n);
  };
  const auto make = [] { return masked_model(); };
  const Json clipped{{"class_name", "Adam"}, {"config", {{"global_clipnorm", 0.1}}}};
  const Json summed{{"class_name", "SGD"}, {"config", {{"learning_rate", 0.1}, {"gradient_accumulation_steps", 2}}}};
  for (const char *reduction : {"sum_over_batch_size", "sum", "mean_with_sample_weight"})
    for (const Json &optimizer : {clipped, summed}) {
      Json options = how(optimizer);
      options["loss"] = {{"class_name", "BinaryCrossentropy"}, {"config", {{"reduction", reduction}}}};
      const Told one = train(1, options, make, mine);
      for (int64_t size : {2, 3}) {
        expect_near(train(size, options, make, mine), one);
        expect_near(train(size, options, make, uneven), one);
      }
    }
}

TEST(Workers, SeveralOutputsAddUpToo) {
  std::vector<Told> told(3);
  for (int64_t size : {1, 2}) {
    Ring ring(size);
    on_threads(size, [&](int64_t rank) {
      Rows rows;
      auto g = std::make_shared<graph::Graph>(graph::Settings{42, graph::SeedScheme::dl4});
      graph::Node x = g->input("x", DType::f32, {free_dim, 3, 4});
      graph::Node h = add(*g, "Masking", {{"mask_value", 0.0}}, x);
      auto m = std::make_shared<graph::Model>(
          g, std::vector{x},
          std::vector{add(*g, "Dense", {{"units", 2}}, h), add(*g, "Dense", {{"units", 2}, {"name", "itself"}}, h)});
      Trainer t(m,
                {{"optimizer", "Adam"},
                 {"loss", {"mse", "output"}},
                 {"loss_weights", {1.0, 0.3}},
                 {"metrics", {{"mae"}, nullptr}}},
                run_options());
      if (size > 1) t.set_workers(rank, size, ring.at(rank), nullptr);
      Told &to = told[static_cast<size_t>(size - 1 + rank)];
      for (int64_t i = 0; i < 4; ++i) {
        const auto [first, n] = mine(11, rank, size);
        for (double v : t.results().of(t.step(rows.batch(i * 11 + first, n, i % 2 == 0)))) to.numbers.push_back(v);
      }
      to.weights = weights(*m);
    });
  }
  expect_near(told[1], told[0]);
  expect_near(told[2], told[0]);
}

TEST(Workers, ACheckpointOfOtherShardsIsRefused) {
  Trainer four(masked_model(), how("SGD", {{"shards", 4}}), run_options());
  const std::string saved = io::save_checkpoint(four);
  Trainer other(masked_model(), how("SGD"), run_options());
  const Error e = refusal([&] { io::load_checkpoint(other, io::Memory(std::as_bytes(std::span(saved)))); });
  EXPECT_EQ(e.code, Code::shape_mismatch);
  EXPECT_NE(e.message.find("\"shards\": expected 4 as in the checkpoint, got 1"), std::string::npos) << e.message;
}

TEST(Workers, SumsOfPartsAreWithinTheMemoryLimit) {
  runtime::Options o = run_options();
  o.plan.memory_limit = 4000;
  auto m = masked_model();
  Trainer t(m, how("SGD", {{"shards", 8}}), o);
  const std::vector<float> before = weights(*m);
  Rows rows;
  const Error e = refusal([&] { t.step(rows.batch(0, 8)); });
  EXPECT_EQ(e.code, Code::out_of_memory);
  EXPECT_NE(e.message.find("parts of a batch"), std::string::npos) << e.message;
  expect_same_bits(weights(*m), before);
}

// One fit with validation; the odd last batch has fewer rows than there are shards.
std::pair<std::vector<float>, Json> strict_fit(int64_t size, int threads, int64_t epochs = 2,
                                               std::string *checkpoint = nullptr, int64_t cancelled_at = -1) {
  Rows rows;
  Ring ring(size);
  std::vector<std::pair<std::vector<float>, Json>> all(static_cast<size_t>(size));
  std::vector<std::string> saved(all.size());
  const std::string from = checkpoint ? *checkpoint : "";
  on_threads(size, [&](int64_t rank) {
    auto m = masked_model(true);
    Trainer t(m, how("Adam", {{"shards", 8}}), run_options(threads, true));
    if (size > 1) t.set_workers(rank, size, ring.at(rank), nullptr);
    if (!from.empty()) io::load_checkpoint(t, io::Memory(std::as_bytes(std::span(from))));
    auto data = rows.dataset(16), validation = rows.dataset(16, 19);
    auto &end = all[static_cast<size_t>(rank)];
    std::atomic<int32_t> cancel{0};
    int64_t batches = 0;
    auto progress = [&](Event event, int64_t, int64_t, const std::vector<double> &) {
      if (event == Event::batch_end && rank == size - 1 && ++batches == cancelled_at) cancel = 1;
      return 0;
    };
    const Error e = refusal([&] {
      end.second = fit(t, *data, validation.get(), FitOptions::parse({{"epochs", epochs}}), progress, &cancel);
    });
    EXPECT_EQ(e.code, cancelled_at < 0 ? Code::ok : Code::cancelled) << e.message;
    saved[static_cast<size_t>(rank)] = io::save_checkpoint(t);
    end.first = weights(*m);
  });
  for (size_t r = 1; r < all.size(); ++r) {
    expect_same_bits(all[r].first, all[0].first);
    EXPECT_EQ(all[r].second, all[0].second);
    EXPECT_EQ(saved[r], saved[0]);
  }
  if (checkpoint) *checkpoint = saved[0];
  return all[0];
}

TEST(Workers, AnyNumberThatDividesTheShardsGivesTheSameBits) {
  const auto [one, history] = strict_fit(1, 1);
  for (int64_t size : {2, 4, 8}) {
    const auto [w, other] = strict_fit(size, size == 2 ? 2 : 1);
    expect_same_bits(w, one);
    EXPECT_EQ(other.dump(), history.dump());
  }
}

TEST(Workers, ACheckpointOfFourGoesOnWithTwo) {
  const auto [whole, history] = strict_fit(1, 1, 3);
  for (int64_t size : {2, 1}) {
    std::string checkpoint;
    strict_fit(4, 1, 3, &checkpoint, 10);
    const auto [w, other] = strict_fit(size, 1, 3, &checkpoint);
    expect_same_bits(w, whole);
    EXPECT_EQ(other.dump(), history.dump());
  }
}

// What two workers' calls end with, and their weights before and after it.
template <class Call>
std::vector<Error> both(Call call, bool changes_nothing = true, Json options = how()) {
  Ring ring(2);
  std::vector<Error> ends(2, {Code::ok, ""});
  on_threads(2, [&](int64_t rank) {
    Rows rows;
    auto m = masked_model();
    Trainer t(m, options, run_options());
    t.set_workers(rank, 2, ring.at(rank), nullptr);
    t.step(rows.batch(rank * 5, 5));
    const std::vector<float> before = weights(*m);
    ends[static_cast<size_t>(rank)] = refusal([&] { call(t, rows, rank); });
    if (changes_nothing) {
      expect_same_bits(weights(*m), before);
      EXPECT_EQ(t.get("iterations"), 1);
    }
    // They are together still.
    if (!changes_nothing) return;
    t.step(rows.batch(rank * 5, 5));
    t.results().of(t.evaluate(rows.batch(rank * 5, 5)));
  });
  return ends;
}

TEST(Workers, WhatOneRefusesFailsOnAll) {
  const auto ends = both([](Trainer &t, Rows &rows, int64_t rank) {
    Batch b = rows.batch(0, 6);
    if (rank == 1) b.y[0].shape = {5, 3, 2};
    t.step(b);
  });
  EXPECT_EQ(ends[1].code, Code::shape_mismatch);
  EXPECT_EQ(ends[0].code, Code::shape_mismatch);
  EXPECT_EQ(ends[0].message, "worker 1: " + ends[1].message);
}

TEST(Workers, NaNOnOneFailsOnAll) {
  for (int64_t bad : {0, 1}) {
    const auto ends = both([&](Trainer &t, Rows &rows, int64_t rank) {
      Rows other = rows;
      if (rank == bad) other.x[0] = std::numeric_limits<float>::quiet_NaN();
      t.step(other.batch(0, 6));
    });
    for (const Error &e : ends) EXPECT_EQ(e.code, Code::numeric);
  }
}

// A failure inside of a run, when the others compute already.
TEST(Workers, AnIndexOutOfRangeOnOneFailsOnAll) {
  Ring ring(3);
  on_threads(3, [&](int64_t rank) {
    auto g = std::make_shared<graph::Graph>(graph::Settings{42, graph::SeedScheme::dl4});
    graph::Node x = g->input("ids", DType::i32, {free_dim});
    auto m = std::make_shared<graph::Model>(
        g, std::vector{x}, std::vector{add(*g, "Embedding", {{"input_dim", 9}, {"output_dim", 2}}, x)});
    Trainer t(m, {{"optimizer", "SGD"}, {"loss", "mse"}}, run_options());
    t.set_workers(rank, 3, ring.at(rank), nullptr);
    std::vector<int32_t> ids{0, 5};
    std::vector<float> y(4);
    Batch b{{{DType::i32, {2}, ids.data(), nullptr}}, {{DType::f32, {2, 2}, y.data(), nullptr}}, {}};
    t.step(b);
    const std::vector<float> before = weights(*m);
    if (rank == 1) ids[1] = 9;
    const Error e = refusal([&] { t.step(b); });
    EXPECT_EQ(e.code, Code::invalid_argument);
    EXPECT_NE(e.message.find("index 9 is out of range"), std::string::npos) << e.message;
    EXPECT_EQ(e.message.starts_with("worker 1: "), rank != 1) << e.message;
    expect_same_bits(weights(*m), before);
    ids[1] = 3;
    EXPECT_EQ(refusal([&] { t.step(b); }).code, Code::ok);
  });
}

TEST(Workers, AFitEndsOnAllAsItEndsOnOne) {
  struct Case {
    const char *what;
    int64_t epochs[2];
    int32_t answer;  // of worker 1's progress at its third batch
    bool throws;     // its data set does
    Code code;
    const char *message;
  };
  for (const Case &c : {Case{"stops", {2, 2}, 1, false, Code::ok, ""},
                        Case{"fails", {2, 2}, 5, false, Code::callback_failed, "the progress callback gave 5"},
                        Case{"has no data", {2, 2}, 0, true, Code::callback_failed, "the batch callback gave 3"},
                        Case{"has an epoch more", {2, 3}, 0, false, Code::invalid_argument, "different places"}}) {
    std::vector<int64_t> batches(2);
    const auto ends = both(
        [&](Trainer &t, Rows &rows, int64_t rank) {
          auto data = rows.dataset(16);
          if (c.throws)
            data = from_callback(
                [&](int64_t i, Batch &b) {
                  b = rows.batch(i * 8, 8);
                  return rank == 1 && i == 2 ? 3 : i == 5 ? 1 : 0;
                },
                {});
          auto progress = [&](Event event, int64_t step, int64_t, const std::vector<double> &) {
            if (event == Event::batch_end) ++batches[static_cast<size_t>(rank)];
            return event == Event::batch_end && rank == 1 && step == 3 ? c.answer : 0;
          };
          fit(t, *data, nullptr, FitOptions::parse({{"epochs", c.epochs[rank]}}), progress, nullptr);
        },
        false);
    EXPECT_EQ(batches[0], batches[1]) << c.what;
    for (const Error &e : ends) {
      EXPECT_EQ(e.code, c.code) << c.what << ": " << e.message;
      EXPECT_NE(e.message.find(c.message), std::string::npos) << c.what << ": " << e.message;
    }
  }
}

TEST(Workers, DifferentNumbersOfBatchesAndCallsAreRefused) {
  auto ends = both(
      [](Trainer &t, Rows &rows, int64_t rank) {
        auto data = from_callback(
            [&](int64_t i, Batch &b) {
              b = rows.batch(0, 8);
              return i == 3 + rank ? 1 : 0;
            },
            {});
        fit(t, *data, nullptr, FitOptions::parse({{"epochs", 1}}), nullptr, nullptr);
      },
      false);
  for (const Error &e : ends)
    EXPECT_NE(e.message.find("0 at the end of data, 1 at a step"), std::string::npos) << e.message;
  ends = both([](Trainer &t, Rows &rows, int64_t rank) {
    if (rank == 0)
      t.step(rows.batch(0, 5));
    else
      t.evaluate(rows.batch(0, 5));
  });
  for (const Error &e : ends)
    EXPECT_NE(e.message.find("0 at a step, 1 at an evaluation"), std::string::npos) << e.message;
  ends = both([](Trainer &t, Rows &rows, int64_t rank) { t.step(rows.batch(0, 5, rank == 0)); });
  for (const Error &e : ends)
    EXPECT_NE(e.message.find("kinds of targets and sample weights"), std::string::npos) << e.message;
  ends = both([](Trainer &t, Rows &rows, int64_t rank) {
    const double rate = t.get("learning_rate");
    t.set("learning_rate", rank == 0 ? rate : 0.5);
    const Error e = refusal([&] { t.step(rows.batch(0, 5)); });
    t.set("learning_rate", rate);
    throw e;
  });
  for (const Error &e : ends) EXPECT_NE(e.message.find("the same learning rate"), std::string::npos) << e.message;
}

// Some may have made the step and others not: each has what it had when it last came back with success.
TEST(Workers, AReductionThatFailsLeavesTheLastCompleteStep) {
  for (int64_t c = 0; c < 36; ++c) {
    const int64_t at = c / 3, only = c % 3;  // it fails on one alone, or on both
    Ring ring(2);
    on_threads(2, [&](int64_t rank) {
      Rows rows;
      auto m = masked_model();
      Trainer t(m, how(), run_options());
      t.set_workers(rank, 2, ring.at(rank), nullptr);
      t.step(rows.batch(rank * 5, 5));
      if (only != 1 - rank) ring.granted[static_cast<size_t>(rank)] = at;
      Error e{Code::ok, ""};
      int64_t steps = 1;
      std::vector<float> before;
      while (e.code == Code::ok) {
        before = weights(*m);
        e = refusal([&] { t.step(rows.batch(rank * 5, 5)); });
        steps += e.code == Code::ok ? 1 : 0;
      }
      EXPECT_EQ(e.code, Code::callback_failed);
      expect_same_bits(weights(*m), before);
      EXPECT_EQ(t.get("iterations"), static_cast<double>(steps));
      EXPECT_NE(refusal([&] { t.step(rows.batch(0, 5)); }).message.find("out of step"), std::string::npos);
    });
  }
}

TEST(Workers, AStepBesideAFitThatStopsAtOnceIsRefused) {
  const auto ends = both([](Trainer &t, Rows &rows, int64_t rank) {
    if (rank == 0) {
      t.step(rows.batch(0, 5));
    } else {
      auto data = rows.dataset(16);
      fit(
          t, *data, nullptr, FitOptions::parse({{"epochs", 1}}), [](auto &&...) { return 1; }, nullptr);
    }
  });
  for (const Error &e : ends) EXPECT_NE(e.message.find("another worker stopped a fit"), std::string::npos) << e.message;
}

TEST(Workers, WhatIsNoSumIsRefused) {
  for (int32_t wrong : {0, 1, 2}) {
    Ring ring(2);
    on_threads(2, [&](int64_t rank) {
      Rows rows;
      Trainer t(masked_model(), how(), run_options());
      auto sum = ring.at(rank);
      t.set_workers(
          rank, 2,
          [&](void *values, int64_t n, DType dtype) {
            const int32_t answer = sum(values, n, dtype);
            auto *v = static_cast<int32_t *>(values);
            if (dtype == DType::i32)
              for (int64_t i = 0; i < n; ++i) v[i] = wrong == 0 ? v[i] / 2 : wrong == 1 ? -1 : 0x7FFFFFFF;
            return answer;
          },
          nullptr);
      const Error e = refusal([&] { t.step(rows.batch(rank * 5, 5)); });
      EXPECT_EQ(e.code, Code::callback_failed);
      EXPECT_NE(e.message.find("did not return the sum"), std::string::npos) << e.message;
    });
  }
}

TEST(Workers, APassOfNobodysPartHasAllRows) {
  Rows rows;
  auto data = rows.dataset(4);
  Batch b;
  auto seen = [&] {
    int64_t n = 0;
    while (data->next(b)) n += b.size();
    return n;
  };
  data->start(false, 0);
  const int64_t all = seen();
  data->start(true, 3, 1, 2);
  EXPECT_EQ(seen(), all / 2);
  data->start(false, 0);
  EXPECT_EQ(seen(), all);
}

TEST(Workers, WhatCannotBeCutIsRefused) {
  auto message = [](const std::shared_ptr<graph::Model> &m, const Json &options, int64_t size = 1, int64_t rank = 0) {
    return refusal([&] {
             Trainer t(m, options, run_options(1, true));
             t.set_workers(
                 rank, size, [](void *, int64_t, DType) { return 0; }, nullptr);
             Rows rows;
             t.step(rows.batch(0, 8, false));
           })
        .message;
  };
  auto expect = [&](const std::string &got, const char *part) { EXPECT_NE(got.find(part), std::string::npos) << got; };
  expect(message(masked_model(), how("SGD", {{"shards", 6}})), "\"shards\": expected a power of two, got 6");
  expect(message(masked_model(), how(), 3), "expected a number that divides \"shards\", which is 8, got 3");
  expect(message(masked_model(), how(), 0), "from 1 to 65536, got 0");
  expect(message(masked_model(), how(), 2, 2), "less than 2, got 2");
  expect(message(masked_model(), how("SGD", {{"loss", "Dice"}})), "loss \"Dice\": one number for the whole batch");
  expect(message(masked_model(), how("SGD", {{"metrics", {"Dice"}}})), "metric \"Dice\": one number");
  const Json plain{{"optimizer", "SGD"}, {"loss", "mse"}};
  auto g = std::make_shared<graph::Graph>(graph::Settings{42, graph::SeedScheme::dl4});
  graph::Node x = g->input("x", DType::f32, {8, 3, 4});
  graph::Node y = add(*g, "Dense", {{"units", 2}}, add(*g, "BatchNormalization", {{"synchronized", true}}, x));
  expect(message(std::make_shared<graph::Model>(g, std::vector{x}, std::vector{y}), plain), "\"synchronized\"");
  auto stateful = std::make_shared<graph::Model>(g, std::vector{x},
                                                 std::vector{add(*g, "GRU", {{"units", 2}, {"stateful", true}}, x)});
  expect(message(stateful, plain), "stateful layer");
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
