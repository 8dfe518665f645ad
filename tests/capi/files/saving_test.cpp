// Hazard 9: a save that is killed or fails leaves the old file; and training that goes on from a checkpoint.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "capi/training.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

namespace fs = std::filesystem;

using Saving = Folder;

Own<dl4_model> wide_net(int units) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 64}), y = add(g, "Dense", "wide", "{\"units\": " + std::to_string(units) + "}", x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

std::string bytes_of(dl4_model *m) {
  Own<dl4_blob> b;
  ok(dl4_model_save_bytes(m, nullptr, b.out()));
  return {dl4_blob_data(b), static_cast<size_t>(dl4_blob_size(b))};
}

TEST_F(Saving, Hazard9AKilledSaveLeavesTheOldOrTheNewFile) {
  auto first = wide_net(2000), second = wide_net(2500);
  const std::string a = bytes_of(first), b = bytes_of(second);
  ok(dl4_model_save(first, path("model").c_str(), nullptr));
  std::mt19937 random(11);
  int temporaries = 0;
  for (int i = 0; i < 30; ++i) {
    pid_t child = fork();
    if (child == 0) {
      for (;;) {
        dl4_release(dl4_model_save(second, path("model").c_str(), nullptr));
        dl4_release(dl4_model_save(first, path("model").c_str(), nullptr));
      }
    }
    usleep(500 + random() % 20000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::string now = get("model");
    ASSERT_TRUE(now == a || now == b) << "kill " << i << " left " << now.size() << " bytes";
    // Nobody but the killed one can have left its temporary file, and that is one at most.
    int here = 0;
    for (const auto &entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename() == "model") continue;
      EXPECT_EQ(entry.path().filename().string().rfind(".dl4-", 0), 0u) << entry.path();
      ++here;
      fs::remove(entry.path());
    }
    EXPECT_LE(here, 1);
    temporaries += here;
  }
  Own<dl4_model> m;
  ok(dl4_model_load(nullptr, path("model").c_str(), nullptr, m.out()));
  RecordProperty("temporaries", temporaries);
}

TEST_F(Saving, Hazard9AFullDiskLeavesTheOldFileAndNoOther) {
  fs::create_directory(path("disk"));
  bool mounted = geteuid() == 0 && mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=256k") == 0;
  auto small = wide_net(100), large = wide_net(4000);
  const std::string target = path("disk/model"), before = bytes_of(small);
  ok(dl4_model_save(small, target.c_str(), nullptr));
  if (!mounted) {  // a limit on the size of files fails a write likewise
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{256 << 10, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  Refusal r = refusal(dl4_model_save(large, target.c_str(), nullptr)),
          fresh = refusal(dl4_model_save(large, path("disk/other").c_str(), nullptr));
  auto t = trainer(large);
  Refusal checkpoint = refusal(dl4_trainer_save(t, target.c_str()));
  if (!mounted) {
    rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &none);
    signal(SIGXFSZ, SIG_DFL);
  }
  std::string after = get("disk/model");
  auto files = std::distance(fs::directory_iterator(path("disk")), {});
  if (mounted) umount(path("disk").c_str());
  EXPECT_EQ(r.code, DL4_IO) << r.message;
  EXPECT_NE(r.message.find(target), std::string::npos) << r.message;
  EXPECT_EQ(fresh.code, DL4_IO);
  EXPECT_EQ(checkpoint.code, DL4_IO);
  EXPECT_EQ(after, before);
  EXPECT_EQ(files, 1);
}

// ---- Exact resume ---------------------------------------------------------------------------------------------------

TEST_F(Saving, ResumeInMidEpochEqualsNeverHavingStopped) {
  Training whole(5);
  std::string history, resumed_history;
  EXPECT_EQ(whole.fit(&history).code, 0);
  ok(dl4_trainer_save(whole.t, path("whole").c_str()));
  for (int64_t stop : {1, 5, 6, 9, 12}) {
    {
      Training half(5);
      half.stop_at = stop;
      EXPECT_EQ(half.fit().code, DL4_CANCELLED);
      ok(dl4_trainer_save(half.t, path("half").c_str()));
    }
    Training rest(5);
    rest.stop_at = 3;  // what it did before does not matter
    EXPECT_EQ(rest.fit().code, DL4_CANCELLED);
    ok(dl4_trainer_load(rest.t, path("half").c_str()));
    EXPECT_EQ(rest.fit(&resumed_history).code, 0);
    ok(dl4_trainer_save(rest.t, path("rest").c_str()));
    EXPECT_EQ(bytes_of(rest.m).size(), bytes_of(whole.m).size());
    for (int64_t i = 0; i < dl4_port_count(whole.m, DL4_WEIGHTS); ++i) {
      const char *name = dl4_port_name(whole.m, DL4_WEIGHTS, i);
      Own<dl4_tensor> a, b;
      ok(dl4_model_get_weight(whole.m, name, a.out()));
      ok(dl4_model_get_weight(rest.m, name, b.out()));
      EXPECT_EQ(floats(a), floats(b)) << name << ", stopped after batch " << stop;
    }
    EXPECT_EQ(history, resumed_history) << "stopped after batch " << stop;
    EXPECT_EQ(get("whole"), get("rest")) << "stopped after batch " << stop;
  }
}

TEST_F(Saving, ResumeBetweenStepsKeepsAccumulatedGradients) {
  const auto all = numbers(96);
  auto batch = [&](int i) { return tensor({2, 6, 4}, std::vector<float>(all.begin() + i, all.begin() + i + 48)); };
  auto y = tensor({2, 3}, numbers(6));
  auto accumulate = [&](Training &t, int i) {
    auto x = batch(i);
    dl4_tensor *in = x, *target = y;
    ok(dl4_trainer_accumulate(t.t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr));
  };
  Training whole(1), half(1);
  for (int i : {0, 1, 2, 3}) accumulate(whole, i);
  ok(dl4_trainer_apply(whole.t));
  for (int i : {0, 1}) accumulate(half, i);
  ok(dl4_trainer_save(half.t, path("half").c_str()));
  Training rest(1);
  ok(dl4_trainer_load(rest.t, path("half").c_str()));
  for (int i : {2, 3}) accumulate(rest, i);
  ok(dl4_trainer_apply(rest.t));
  ok(dl4_trainer_save(whole.t, path("whole").c_str()));
  ok(dl4_trainer_save(rest.t, path("rest").c_str()));
  EXPECT_EQ(get("whole"), get("rest"));
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
