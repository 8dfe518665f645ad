// Processes that train together: the same bits for any number of them, whoever is killed; refusals at the start.
#include <dl4/local.h>

#include <errno.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "capi/processes.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// x (B, 4) through a Dense.
Own<dl4_model> dense(const char *units, dl4_context *context = nullptr) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(context, g.out()));
  dl4_node x = input(g, "x", {-1, 4});
  dl4_node y = add(g, "Dense", nullptr, std::string(R"({"units": )") + units + "}", x);
  Own<dl4_model> m;
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

class KilledWorkers : public Folder {
 protected:
  std::vector<pid_t> start(int size) {
    const std::string name = "/dl4-workers-" + std::to_string(getpid());
    std::vector<pid_t> all;
    fflush(nullptr);
    for (int rank = 0; rank < size; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        if (!freopen("/dev/null", "w", stdout)) _exit(4);
        execl(DL4_WORKER, DL4_WORKER, std::to_string(rank).c_str(), std::to_string(size).c_str(), name.c_str(),
              path("checkpoint").c_str(), path("end").c_str(), nullptr);
        _exit(3);
      }
      all.push_back(child);
    }
    return all;
  }
  // Of the training that is over: its end.
  std::string taken() {
    const std::string end = get("end");
    fs::remove(path("end"));
    fs::remove(path("checkpoint"));
    return end;
  }
};

TEST_F(KilledWorkers, AnyNumberGivesTheSameBitsWhoeverIsKilled) {
  std::string expected;
  double alone = 0;
  for (int size : {1, 2, 4}) {
    const auto begin = Clock::now();
    for (pid_t child : start(size)) ASSERT_EQ(wait_for(child, 120), 0);
    if (size == 1) alone = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::string end = taken();
    ASSERT_GT(end.size(), 1000u);
    if (expected.empty()) expected = end;
    ASSERT_EQ(end, expected) << size << " workers";
  }
  std::mt19937 random(31);
  const int kills = times(5, 100);
  int killed = 0, finished = 0, resumed = 0;
  double longest = 0;
  // On a slow machine all may be killed before the first checkpoint: then more are.
  const auto kills_more = [&] { return killed < kills || (resumed == 0 && killed < 10 * kills); };
  while (kills_more() || finished == 0) {
    resumed += fs::exists(path("checkpoint"));
    const std::vector<pid_t> all = start(kills_more() ? 2 << random() % 2 : 2);
    pid_t victim = 0;
    if (kills_more()) {
      victim = all[random() % all.size()];
      std::this_thread::sleep_for(
          std::chrono::duration<double>(alone * 1.5 * static_cast<double>(random() % 1000) / 1e3));
      kill(victim, !sanitized && random() % 4 == 0 ? SIGSTOP : SIGKILL);
    }
    const auto begin = Clock::now();
    int well = 0;
    for (pid_t child : all) {
      if (child == victim) continue;
      const int code = wait_for(child, 60);
      ASSERT_TRUE(code == 0 || code == 5) << "ended in " << code << " after " << killed << " kills";
      well += code == 0;
    }
    if (victim) {
      longest = std::max(longest, std::chrono::duration<double>(Clock::now() - begin).count());
      kill(victim, SIGKILL);
      waitpid(victim, nullptr, 0);
      ++killed;
    }
    if (!fs::exists(path("end"))) continue;
    ASSERT_EQ(taken(), expected) << "after " << killed << " kills, " << well << " workers ended well";
    ++finished;
  }
  std::printf("%d kills, %d resumptions, %d trainings to the end; the others heard of it within %.1f s\n", killed,
              resumed, finished, longest);
  EXPECT_GT(resumed, 0);
}

TEST(LocalWorkers, ArgumentsAreRefusedAndThoseWhoDoNotComeAreNotWaitedFor) {
  void *place = nullptr;
  const std::string name = "/dl4-alone-" + std::to_string(getpid());
  EXPECT_EQ(dl4_local_join(name.c_str(), 2, 2, 1, &place), EINVAL);
  EXPECT_EQ(dl4_local_join(name.c_str(), 0, 0, 1, &place), EINVAL);
  EXPECT_EQ(dl4_local_join(nullptr, 0, 1, 1, &place), EINVAL);
  EXPECT_EQ(dl4_local_join(name.c_str(), 0, 1, 0, &place), EINVAL);
  EXPECT_EQ(dl4_local_join(name.c_str(), 0, 2, 0.2, &place), ETIMEDOUT);
  EXPECT_EQ(place, nullptr);
  ASSERT_EQ(dl4_local_join(name.c_str(), 0, 1, 1, &place), 0);
  float one[] = {1, 2};
  EXPECT_EQ(dl4_local_reduce(place, one, 2, DL4_FLOAT32), 0);
  EXPECT_EQ(one[1], 2);
  EXPECT_EQ(dl4_local_reduce(place, one, 2, DL4_FLOAT64), -EINVAL);
  dl4_local_leave(place);
}

TEST(LocalWorkers, WhoCouldNotJoinLeaveNoFileAndOthersTheirs) {
  const std::string name = "/dl4-left-" + std::to_string(getpid());
  const fs::path file = "/dev/shm" + name;
  std::vector<std::thread> all;
  for (int64_t rank = 0; rank < 2; ++rank)
    all.emplace_back([&, rank] {
      void *place = nullptr;
      EXPECT_NE(dl4_local_join(name.c_str(), rank, 3, 0.3, &place), 0);
    });
  for (std::thread &t : all) t.join();
  EXPECT_FALSE(fs::exists(file));

  std::thread first([&] {
    void *place = nullptr;
    EXPECT_EQ(dl4_local_join(name.c_str(), 0, 2, 20, &place), 0);
    dl4_local_leave(place);
  });
  for (int i = 0; i < 2000 && !fs::exists(file); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  void *place = nullptr;
  EXPECT_EQ(dl4_local_join(name.c_str(), 1, 3, 1, &place), EINVAL);
  EXPECT_EQ(dl4_local_join(name.c_str(), 0, 2, 1, &place), EBUSY);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_EQ(dl4_local_join(name.c_str(), 1, 2, 20, &place), 0);
  first.join();
  EXPECT_FALSE(fs::exists(file));
  dl4_local_leave(place);
}

// Threads have their own places here, as processes do.
TEST(LocalWorkers, AddUpNumbersOfAnyCountAndHearWhenOneLeaves) {
  const std::string name = "/dl4-sums-" + std::to_string(getpid());
  std::vector<std::thread> all;
  for (int64_t rank = 0; rank < 3; ++rank)
    all.emplace_back([&, rank] {
      void *place = nullptr;
      ASSERT_EQ(dl4_local_join(name.c_str(), rank, 3, 20, &place), 0);
      for (int64_t n : {1, 5, 1024, 1025, 100000, 1200000}) {
        std::vector<float> v(static_cast<size_t>(n));
        std::vector<int32_t> words(v.size());
        for (size_t i = 0; i < v.size(); ++i) {
          v[i] = static_cast<float>(rank + 1) * static_cast<float>(i % 1000);
          words[i] = rank == 1 ? static_cast<int32_t>(i * 2654435761u) : 0;
        }
        ASSERT_EQ(dl4_local_reduce(place, v.data(), n, DL4_FLOAT32), 0);
        ASSERT_EQ(dl4_local_reduce(place, words.data(), n, DL4_INT32), 0);
        for (size_t i = 0; i < v.size(); ++i) {
          ASSERT_EQ(v[i], 6 * static_cast<float>(i % 1000));
          ASSERT_EQ(words[i], static_cast<int32_t>(i * 2654435761u));
        }
      }
      if (rank == 1) return dl4_local_leave(place);
      float v = 1;
      const auto begin = Clock::now();
      EXPECT_EQ(dl4_local_reduce(place, &v, 1, DL4_FLOAT32), -EPIPE);
      EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
      EXPECT_EQ(dl4_local_reduce(place, &v, 1, DL4_FLOAT32), -EPIPE);
      dl4_local_leave(place);
    });
  for (std::thread &t : all) t.join();
}

TEST(LocalWorkers, WhatEndedATrainingIsSaidInWords) {
  const std::string name = "/dl4-words-" + std::to_string(getpid());
  const auto attached = [&](dl4_trainer *t, int64_t rank, double seconds) {
    return dl4_local_attach(t, name.c_str(), rank, 2, seconds);
  };
  const auto says = [](dl4_error *e, const char *words) {
    const Refusal r = refusal(e);
    EXPECT_EQ(r.code, DL4_CALLBACK_FAILED) << r.message;
    EXPECT_NE(r.message.find(words), std::string::npos) << r.message;
  };
  Own<dl4_model> a = dense("3"), b = dense("3");
  Own<dl4_trainer> first = trainer(a), second = trainer(b);
  says(attached(first, 0, 0.2), "a worker did not come in time");
  says(attached(first, 2, 0.2), "gave -22");
  std::thread other([&] { ok(attached(second, 1, 20)); });
  ok(attached(first, 0, 20));
  other.join();
  second = Own<dl4_trainer>();  // leaves
  const Own<dl4_tensor> x = tensor({2, 4}, numbers(8)), y = tensor({2, 3}, numbers(6));
  dl4_tensor *xs[] = {x}, *ys[] = {y};
  says(dl4_trainer_step(first, xs, 1, ys, 1, nullptr, 0, nullptr, 0, nullptr), "a worker died or left");
}

// Two trainers; what differs between them is said to both.
TEST(SetWorkers, WhoDiffersIsRefusedByAll) {
  struct Case {
    const char *options, *units, *seed, *message;
    int64_t size = 2;
  };
  const Case same{R"({"optimizer": "Adam", "loss": "mse"})", "3", "0", ""};
  for (const Case &c :
       {same, Case{R"({"optimizer": "SGD", "loss": "mse"})", "3", "0", "the same options"},
        Case{R"({"optimizer": "Adam", "loss": "mse", "shards": 8})", "3", "0",
             "a number that divides \"shards\", which is 8, got 3", 3},
        Case{same.options, "4", "0", "the same model"}, Case{same.options, "3", "1", "the same model"}}) {
    const std::string name = "/dl4-start-" + std::to_string(getpid());
    std::vector<std::thread> all;
    std::vector<std::vector<float>> weights(static_cast<size_t>(c.size));
    for (int64_t rank = 0; rank < c.size; ++rank)
      all.emplace_back([&, rank] {
        const Case &mine = rank == 1 ? c : same;
        Own<dl4_context> context;
        ok(dl4_context_create((std::string(R"({"threads": 1, "seed": )") + mine.seed + "}").c_str(), context.out()));
        Own<dl4_model> m = dense(mine.units, context);
        if (rank == 1)
          ok(dl4_model_set_weight(m, "dense/bias", tensor({std::stoi(mine.units)}, numbers(std::stoul(mine.units)))));
        Own<dl4_trainer> t = trainer(m, mine.options);
        void *place = nullptr;
        ASSERT_EQ(dl4_local_join(name.c_str(), rank, c.size, 20, &place), 0);
        const Refusal r = refusal(dl4_trainer_set_workers(t, rank, c.size, dl4_local_reduce, place, dl4_local_leave));
        EXPECT_EQ(r.code, *c.message ? DL4_INVALID_ARGUMENT : DL4_OK) << r.message;
        EXPECT_NE(r.message.find(c.message), std::string::npos) << r.message;
        if (r.code) return dl4_local_leave(place);
        Own<dl4_tensor> w;
        ok(dl4_model_get_weight(m, "*", w.out()));
        weights[static_cast<size_t>(rank)] = floats(w);
      });
    for (std::thread &t : all) t.join();
    EXPECT_EQ(weights[0], weights[1]);
  }
}

// A reduction that fails while all of them start.
TEST(SetWorkers, AStartThatFailsChangesNothing) {
  struct Failing {
    void *place;
    int left;
    static int32_t reduce(void *user, void *values, int64_t n, int32_t dtype) {
      auto &f = *static_cast<Failing *>(user);
      return f.left-- == 0 ? 5 : dl4_local_reduce(f.place, values, n, dtype);
    }
  };
  bool started = false;
  for (int at = 0; !started; ++at) {
    ASSERT_LT(at, 20);
    const std::string name = "/dl4-failing-" + std::to_string(getpid()) + "-" + std::to_string(at);
    std::vector<std::thread> all;
    for (int64_t rank = 0; rank < 2; ++rank)
      all.emplace_back([&, rank] {
        Own<dl4_model> m = dense("3");
        auto bias = [&] {
          Own<dl4_tensor> w;
          ok(dl4_model_get_weight(m, "dense/bias", w.out()));
          return floats(w);
        };
        ok(dl4_model_set_weight(m, "dense/bias", tensor({3}, std::vector<float>(3, static_cast<float>(rank)))));
        Own<dl4_trainer> t = trainer(m, R"({"optimizer": "Adam", "loss": "mse"})");
        Failing failing{nullptr, rank == 1 ? at : -1};
        ASSERT_EQ(dl4_local_join(name.c_str(), rank, 2, 20, &failing.place), 0);
        const Refusal r = refusal(dl4_trainer_set_workers(t, rank, 2, Failing::reduce, &failing, nullptr));
        if (rank == 1) started = r.code == DL4_OK;
        if (r.code) {
          EXPECT_EQ(r.code, DL4_CALLBACK_FAILED) << r.message;
        }
        EXPECT_EQ(bias(), std::vector<float>(3, r.code ? static_cast<float>(rank) : 0.0f)) << at;
        dl4_local_leave(failing.place);
      });
    for (std::thread &t : all) t.join();
  }
}

TEST(SetWorkers, BadPlacesAreRefused) {
  auto once = [](void *user, void *, int64_t, int32_t) { return ++*static_cast<int *>(user) > 1000 ? 1 : 0; };
  auto release = [](void *user) { *static_cast<int *>(user) = -1; };
  Own<dl4_model> m = dense("2");
  Own<dl4_trainer> t = trainer(m, R"({"optimizer": "SGD", "loss": "mse"})");
  int calls = 0;
  EXPECT_NE(refusal(dl4_trainer_set_workers(t, 0, 2, nullptr, nullptr, nullptr)).message.find("\"fn\""),
            std::string::npos);
  EXPECT_NE(refusal(dl4_trainer_set_workers(t, 2, 2, once, &calls, release)).message.find("got 2"), std::string::npos);
  EXPECT_NE(refusal(dl4_trainer_set_workers(t, 0, 0, once, &calls, release)).message.find("got 0"), std::string::npos);
  EXPECT_NE(refusal(dl4_trainer_set_workers(t, 5, 1, nullptr, nullptr, nullptr)).message.find("got 5"),
            std::string::npos);
  EXPECT_EQ(calls, 0);
  ok(dl4_trainer_set_workers(t, 0, 1, once, &calls, release));
  ok(dl4_trainer_set_workers(t, 0, 1, nullptr, nullptr, nullptr));
  EXPECT_EQ(calls, -1);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
