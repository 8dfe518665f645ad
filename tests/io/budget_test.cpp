// What a load may take in all.
#include "io/budget.hpp"

#include <gtest/gtest.h>

#include "graph/graph.hpp"

namespace dl4::io::DL4_FILE {
namespace {

TEST(Budget, IsTheLimitThatWasAskedFor) {
  graph::Settings settings;
  settings.memory_limit = 1000;
  settings.limited = true;
  EXPECT_EQ(budget_for(settings, 1).left(), 1000);
  Budget b = budget_for(settings, 1 << 30);
  b.add_file(1 << 30);
  EXPECT_EQ(b.left(), 1000);
}

TEST(Budget, FollowsTheFileByDefaultWithinTheLimit) {
  graph::Settings settings;
  constexpr int64_t some = int64_t{256} << 20;
  settings.memory_limit = 10 * some;
  EXPECT_EQ(budget_for(settings, 1000).left(), some + 16000);
  EXPECT_EQ(budget_for(settings, some).left(), 10 * some);
  Budget b = budget_for(settings, 1000);
  b.add_file(1 << 20);
  EXPECT_EQ(b.left(), some + 16000 + (16 << 20));
  settings.memory_limit = 1 << 20;
  EXPECT_EQ(budget_for(settings, 1000).left(), 1 << 20);
}

TEST(Budget, TakesBackFourTimesItsWholeAtMost) {
  Budget b(100);
  for (int i = 0; i < 4; ++i) {
    b.take(100, "all");
    b.give_back(100);
    EXPECT_EQ(b.left(), 100);
  }
  b.take(100, "all");
  b.give_back(100);
  EXPECT_EQ(b.left(), 0);
}

TEST(Budget, NamesWhatIsPastIt) {
  Budget b(100);
  b.take(60, "one");
  b.take(40, "two");
  try {
    b.take(1, "the \"", 3, "rd\"");
    ADD_FAILURE() << "it was not refused";
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Code::out_of_memory);
    EXPECT_NE(e.message.find("the \"3rd\" takes 1 bytes; loading this file may take 100 in all, of which 0 are left"),
              std::string::npos)
        << e.message;
  }
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
