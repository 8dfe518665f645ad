// Training that is killed at any moment and started again ends in the bits of a training that never was.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>

#include "harness/folder.hpp"
#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

pid_t start(const std::string &checkpoint, const std::string &end) {
  pid_t child = fork();
  if (child == 0) {
    execl(DL4_TRAINEE, DL4_TRAINEE, checkpoint.c_str(), end.c_str(), nullptr);
    _exit(3);
  }
  return child;
}

using KilledTraining = Folder;

TEST_F(KilledTraining, EndsInTheSameBits) {
  const std::string checkpoint = path("checkpoint"), whole = path("whole"), end = path("end");
  int status = -1;
  auto begin = Clock::now();
  waitpid(start(checkpoint, whole), &status, 0);
  ASSERT_EQ(status, 0);
  const auto alone = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
  const std::string expected = get("whole");
  ASSERT_GT(expected.size(), 1000u);
  fs::remove(checkpoint);

  std::mt19937 random(31);
  const int kills = times(5, 100);
  int killed = 0, finished = 0, resumed = 0;
  while (killed < kills || finished == 0) {
    resumed += fs::exists(checkpoint);
    pid_t child = start(checkpoint, end);
    // Not so long that most come to their end, nor so short that most get nowhere.
    if (killed < kills) {
      usleep(static_cast<useconds_t>(random() % static_cast<uint32_t>(alone * 3 / 4)));
      kill(child, SIGKILL);
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
      ASSERT_EQ(WTERMSIG(status), SIGKILL);
      ++killed;
      continue;
    }
    ASSERT_EQ(WEXITSTATUS(status), 0) << "after " << killed << " kills";
    ASSERT_EQ(get("end"), expected) << "after " << killed << " kills";
    ++finished;
    fs::remove(checkpoint);
    fs::remove(end);
  }
  std::printf("%d kills, %d resumptions, %d trainings to the end, each of %.2f s\n", killed, resumed, finished,
              static_cast<double>(alone) / 1e6);
  EXPECT_GT(resumed, 0);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
