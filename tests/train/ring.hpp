// Workers on threads of one process, and a model to train.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <random>
#include <thread>

#include "io/file.hpp"
#include "io/formats.hpp"
#include "train/fit.hpp"
#include "train/run_options.hpp"

namespace dl4_test {

using namespace dl4;
using namespace dl4::train;

// Sums of workers that meet here, in the order of their ranks.
class Ring {
 public:
  explicit Ring(int64_t size) : granted(static_cast<size_t>(size), -1), all_(static_cast<size_t>(size)) {}

  Workers::Reduce at(int64_t rank) {
    return
        [this, rank](void *values, int64_t n, DType dtype) { return sum(static_cast<size_t>(rank), values, n, dtype); };
  }
  std::vector<int64_t> granted;  // how many more sums succeed, by rank; below zero: all

 private:
  int32_t sum(size_t rank, void *values, int64_t n, DType dtype) {
    if (granted[rank] == 0) {
      std::lock_guard lock(mutex_);
      broken_ = true;
      all_arrived_.notify_all();
      return 7;
    }
    if (granted[rank] > 0) --granted[rank];
    std::vector<uint32_t> mine(static_cast<size_t>(n));
    std::memcpy(mine.data(), values, mine.size() * 4);
    {
      std::lock_guard lock(mutex_);
      all_[rank] = std::move(mine);
    }
    if (!wait()) return 8;
    std::vector<uint32_t> total = all_[0];
    for (size_t r = 1; r < all_.size(); ++r) {
      if (all_[r].size() != total.size()) return 9;
      for (size_t i = 0; i < total.size(); ++i)
        if (dtype == DType::i32)
          total[i] += all_[r][i];
        else
          total[i] = std::bit_cast<uint32_t>(std::bit_cast<float>(total[i]) + std::bit_cast<float>(all_[r][i]));
    }
    if (!wait()) return 8;
    std::memcpy(values, total.data(), total.size() * 4);
    return 0;
  }
  // False: someone did not come.
  bool wait() {
    std::unique_lock lock(mutex_);
    const int64_t mine = generation_;
    if (++arrived_ == all_.size()) {
      arrived_ = 0;
      ++generation_;
      all_arrived_.notify_all();
      return true;
    }
    all_arrived_.wait_for(lock, std::chrono::seconds(20), [&] { return generation_ != mine || broken_; });
    return generation_ != mine;
  }

  std::mutex mutex_;
  std::condition_variable all_arrived_;
  std::vector<std::vector<uint32_t>> all_;
  size_t arrived_ = 0;
  int64_t generation_ = 0;
  bool broken_ = false;  // one has failed: nobody waits for it
};

// f(rank) on a thread for each.
template <class F>
void on_threads(int64_t size, F f) {
  std::vector<std::thread> all;
  for (int64_t rank = 0; rank < size; ++rank) all.emplace_back([&f, rank] { f(rank); });
  for (std::thread &t : all) t.join();
}

inline graph::Node add(graph::Graph &g, const char *kind, Json attributes, graph::Node in) {
  return g.call(g.layer(kind, "", std::move(attributes)), {}, {in})[0];
}

// Sequences with a mask, dropout and noise, a penalty; with `normal` moving statistics too.
inline std::shared_ptr<graph::Model> masked_model(bool normal = false) {
  auto g = std::make_shared<graph::Graph>(graph::Settings{42, graph::SeedScheme::dl4});
  graph::Node x = g->input("x", DType::f32, {free_dim, 3, 4});
  graph::Node h = add(*g, "Masking", {{"mask_value", 0.0}}, x);
  h = add(*g, "Dense", {{"units", 8}, {"activation", "tanh"}, {"kernel_regularizer", "l2"}}, h);
  if (normal) h = add(*g, "BatchNormalization", {{"momentum", 0.7}}, h);
  h = add(*g, "Dropout", {{"rate", 0.3}}, h);
  h = add(*g, "GaussianNoise", {{"stddev", 0.1}}, h);
  h = add(*g, "SimpleRNN", {{"units", 5}, {"return_sequences", true}, {"dropout", 0.2}}, h);
  return std::make_shared<graph::Model>(g, std::vector{x},
                                        std::vector{add(*g, "Dense", {{"units", 2}, {"activation", "sigmoid"}}, h)});
}

struct Rows {
  static constexpr int64_t n = 100;
  std::vector<float> x = std::vector<float>(n * 12), y = std::vector<float>(n * 6), w = std::vector<float>(n);
  Rows() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float &v : x) v = normal(random);
    for (size_t i = 0; i < x.size(); i += 4)
      if (random() % 4 == 0) std::fill_n(x.begin() + static_cast<ptrdiff_t>(i), 4, 0.0f);  // a masked step
    for (float &v : y) v = normal(random) > 0 ? 1.0f : 0.0f;
    for (float &v : w) v = std::abs(normal(random));
  }
  Batch batch(int64_t first, int64_t rows, bool weighted = true) {
    Batch b{{{DType::f32, {rows, 3, 4}, x.data() + first * 12, nullptr}},
            {{DType::f32, {rows, 3, 2}, y.data() + first * 6, nullptr}},
            {}};
    if (weighted) b.w.push_back({DType::f32, {rows}, w.data() + first, nullptr});
    return b;
  }
  std::unique_ptr<Dataset> dataset(int64_t batch_size = 16, int64_t rows = n) {
    std::vector<Source> xs{{{DType::f32, {rows, 3, 4}, x.data(), nullptr}, nullptr}},
        ys{{{DType::f32, {rows, 3, 2}, y.data(), nullptr}, nullptr}},
        ws{{{DType::f32, {rows}, w.data(), nullptr}, nullptr}};
    return from_tensors(xs, ys, ws, {batch_size, true, false, 5});
  }
};

inline Json how(Json optimizer = "Adam", Json more = Json::object()) {
  Json o = {{"optimizer", std::move(optimizer)},
            {"loss", "BinaryCrossentropy"},
            {"metrics", {"mae", "AUC"}},
            {"weighted_metrics", {"BinaryAccuracy", "RootMeanSquaredError"}}};
  for (const auto &[key, value] : more.items()) o[std::string(key)] = value;
  return o;
}

inline std::vector<float> weights(const graph::Model &m) {
  std::vector<float> all;
  for (const auto &w : m.weights())
    all.insert(all.end(), w->value().as<float>(), w->value().as<float>() + w->value().elements());
  return all;
}

// This worker's rows of those of a batch: the first, and how many.
inline std::pair<int64_t, int64_t> mine(int64_t rows, int64_t rank, int64_t size) {
  return {rows * rank / size, rows * (rank + 1) / size - rows * rank / size};
}

struct Told {
  std::vector<float> weights;
  std::vector<double> numbers;
};

// Ten steps, two of them accumulated, then an evaluation, on the batches' parts that `cut` gives, by as many workers:
// what rank 0 was told, as all were.
template <class Make, class Cut>
Told train(int64_t size, const Json &options, const Make &make, Cut cut, Rows rows = Rows()) {
  Ring ring(size);
  std::vector<Told> told(static_cast<size_t>(size));
  on_threads(size, [&](int64_t rank) {
    Told &to = told[static_cast<size_t>(rank)];
    auto m = make();
    Trainer t(m, options, run_options());
    if (size > 1) t.set_workers(rank, size, ring.at(rank), nullptr);
    auto note = [&](const Sums &sums) {
      for (double v : t.results().of(sums)) to.numbers.push_back(v);
    };
    for (int64_t i = 0; i < 10; ++i) {
      const auto [first, n] = cut(10, rank, size);
      const Batch b = rows.batch(i * 9 + first, n);
      if (i == 4 || i == 5)
        note(t.accumulate(b));
      else
        note(t.step(b));
      if (i == 5) t.apply();
    }
    const auto [first, n] = cut(30, rank, size);
    note(t.evaluate(rows.batch(first, n)));
    to.weights = weights(*m);
  });
  for (const Told &other : told) {
    EXPECT_EQ(other.weights, told[0].weights);
    EXPECT_EQ(other.numbers, told[0].numbers);
  }
  return told[0];
}

inline void expect_same_bits(const std::vector<float> &a, const std::vector<float> &b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

template <class F>
Error refusal(F f) {
  try {
    f();
    return {Code::ok, ""};
  } catch (const Error &error) {
    return error;
  }
}

}  // namespace dl4_test
