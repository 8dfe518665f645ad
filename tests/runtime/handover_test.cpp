// When the crew helps: against machines whose every run takes what the test says.
#include "runtime/handover.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace dl4::runtime::DL4_FILE {
namespace {

// Runs a step for so many nanoseconds; `cost` says what a run takes. The share of its time that it spent with help, and
// the time of a run on average.
struct Spent {
  double helped = 0, all = 0;
  int64_t runs = 0;
  double share() const { return helped / all; }
  double mean() const { return all / static_cast<double>(runs); }
};
Spent go_on(Handover &h, double nanoseconds, double alone, const std::function<double()> &with_help,
            double phases = 1) {
  Spent s;
  while (s.all < nanoseconds) {
    ++s.runs;
    if (h.pass()) {
      s.all += alone;
      continue;
    }
    const bool helped = h.helped();
    const double cost = helped ? with_help() : alone;
    h.note(cost, phases);
    s.all += cost;
    if (helped) s.helped += cost;
  }
  return s;
}
std::function<double()> always(double cost) {
  return [cost] { return cost; };
}

TEST(Handover, HelpsWhereThatIsFaster) {
  Handover h;
  EXPECT_GT(go_on(h, 1e9, 5e3, always(3e3)).share(), 0.99);
}

TEST(Handover, LeavesAStepAloneThatLosesByHelp) {
  Handover h;
  go_on(h, 1e8, 2.6e3, always(3.3e3));
  const Spent s = go_on(h, 1e9, 2.6e3, always(3.3e3));
  EXPECT_LT(s.share(), 0.001);
  EXPECT_LT(s.mean(), 1.001 * 2.6e3);
}

TEST(Handover, DoesNotTakeAnotherCoreForNothing) {
  Handover h;
  go_on(h, 1e8, 5e3, always(4.95e3));
  EXPECT_LT(go_on(h, 1e9, 5e3, always(4.95e3)).share(), 0.01);
}

TEST(Handover, ALargeStepIsTriedAloneOnce) {
  Handover h;
  const Spent s = go_on(h, 1e9, 2e7, always(1e7));
  EXPECT_DOUBLE_EQ(s.all - s.helped, 2e7);
}

// The first run after one with help finds its data in the caches of other cores.
TEST(Handover, AStepOfSomeMillisecondsIsTriedAloneTwice) {
  Handover h;
  int64_t alone = 0;
  for (double spent = 0; spent < 1e9;) {
    if (h.pass()) {
      spent += 2e5;
      continue;
    }
    const double cost = h.helped() ? 2.5e5 : alone++ ? 2e5 : 3e5;
    h.note(cost, 1);
    spent += cost;
  }
  EXPECT_FALSE(h.helped());
}

// What it took alone is measured again before each trial of help.
TEST(Handover, HelpIsComparedWithTheLatestRunAlone) {
  Handover h;
  go_on(h, 1e8, 2.6e3, always(3.3e3));
  go_on(h, 5e9, 5e3, always(3.3e3));
  EXPECT_GT(go_on(h, 1e9, 5e3, always(3.3e3)).share(), 0.9);
}

TEST(Handover, ALargeStepsFirstRunsAllHaveHelp) {
  Handover h;
  const Spent s = go_on(h, 9e8, 1.3e8, always(6.5e7), 100);
  EXPECT_DOUBLE_EQ(s.all, s.helped);
}

TEST(Handover, AHelperThatStallsFromTheStartIsNoticed) {
  for (double alone : {5e3, 2e5}) {
    Handover h;
    const Spent s = go_on(h, 1e11, alone, always(2e8));  // 200 ms: the helper hardly ever runs
    EXPECT_LT(s.mean(), 1.1 * alone) << alone;
  }
}

TEST(Handover, AStepOfManySmallPhasesIsTriedAlone) {
  Handover h;
  go_on(h, 1e8, 3.4e5, always(3.6e5), 100);
  EXPECT_LT(go_on(h, 1e9, 3.4e5, always(3.6e5), 100).share(), 0.05);
}

TEST(Handover, LeavesAStepAloneWhileItsHelperStalls) {
  for (double alone : {5e3, 2e5}) {
    Handover h;
    const double fast = 0.55 * alone;
    go_on(h, 1e9, alone, always(fast));
    int64_t n = 0;
    auto stalls = [&] { return ++n % 4 ? fast : 6e6; };  // 6 ms in every fourth run
    go_on(h, 1e10, alone, stalls);
    EXPECT_LT(go_on(h, 1e10, alone, stalls).mean(), 1.1 * alone) << alone;
    go_on(h, 2e9, alone, always(fast));
    EXPECT_GT(go_on(h, 1e9, alone, always(fast)).share(), 0.99) << alone;
  }
}

TEST(Handover, ASingleStallIsSoonForgotten) {
  Handover h;
  int64_t n = 0;
  auto sometimes = [&] { return ++n % 100'000 ? 3e3 : 4e6; };
  EXPECT_GT(go_on(h, 1e10, 5e3, sometimes).share(), 0.9);
}

TEST(Handover, NoticesThatTheMachineHasChanged) {
  Handover h;
  go_on(h, 1e9, 5e3, always(3e3));
  go_on(h, 1e8, 5e3, always(7e3));
  EXPECT_LT(go_on(h, 1e9, 5e3, always(7e3)).share(), 0.01);
}

}  // namespace
}  // namespace dl4::runtime::DL4_FILE
