// The logger under callers, forks and changes of the logger; messages in files.
#include "base/log.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace dl4::DL4_FILE {
namespace {

struct Ear {
  Log log;
  std::atomic<int> heard{0}, inside{0};
  std::atomic<bool> open{true};
  static void hear(void *user, int32_t, const char *) {
    auto &e = *static_cast<Ear *>(user);
    ++e.inside;
    while (!e.open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --e.inside;
    ++e.heard;
  }
  void say() {
    log.write(Log::info, "message");
    log.deliver();
  }
};

TEST(Log, AChildForkedWhileAnotherThreadIsInTheLoggerMayUseIt) {
  Ear e;
  e.log.set(Log::trace, Ear::hear, &e);
  e.open = false;
  std::thread busy([&] { e.say(); });
  while (!e.inside) std::this_thread::yield();
  pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends a child that hangs
    e.open = true;
    e.say();
    e.log.set(Log::trace, Ear::hear, &e);
    e.say();
    _exit(e.heard == 2 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  e.open = true;
  busy.join();
  EXPECT_EQ(e.heard, 1);
}

TEST(Log, TheOldLoggerIsNotRunningOnceAnotherIsSet) {
  Ear e, other;
  e.log.set(Log::trace, Ear::hear, &e);
  e.open = false;
  std::thread busy([&] { e.say(); });
  while (!e.inside) std::this_thread::yield();
  std::thread opens([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    e.open = true;
  });
  e.log.set(Log::trace, Ear::hear, &other);
  EXPECT_EQ(e.inside, 0);
  busy.join();
  opens.join();
  e.say();
  EXPECT_EQ(e.heard, 1);
  EXPECT_EQ(other.heard, 1);
}

TEST(Log, ALoggerMaySetAnother) {
  Ear e;
  e.log.set(
      Log::trace,
      [](void *user, int32_t, const char *) {
        auto &self = *static_cast<Ear *>(user);
        self.log.set(Log::trace, Ear::hear, &self);
      },
      &e);
  e.say();
  e.say();
  EXPECT_EQ(e.heard, 1);
}

TEST(Log, EveryMessageOfManyThreadsIsHeard) {
  Ear e;
  e.log.set(Log::trace, Ear::hear, &e);
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < 100; ++i) e.say();
    });
  for (auto &t : all) t.join();
  EXPECT_EQ(e.heard, 800);
}

// ---- files ----------------------------------------------------------------------------------------------------------

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / text("dl4_log_", getpid());
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char *name) const { return (path / name).string(); }
};

std::string read(const std::string &path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

bool has(const std::string &all, const std::string &part) { return all.find(part) != std::string::npos; }

TEST(LogFile, HasALineForEachMessageFromItsLevelOn) {
  Folder folder;
  Log log;
  log.open(Log::info, folder.file("new/log.txt"));
  log.write(Log::debug, "too little");
  log.write(Log::info, "loaded ", 3, " layers\nand a control \x1b");
  log.write(Log::error, "lost");
  const std::string all = read(folder.file("new/log.txt"));
  EXPECT_FALSE(has(all, "too little"));
  EXPECT_TRUE(has(all, "] [dl4] [info] loaded 3 layers\\nand a control \\x1b\n")) << all;
  EXPECT_TRUE(has(all, "] [dl4] [error] lost\n")) << all;
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 2);
}

TEST(LogFile, IsAppendedTo) {
  Folder folder;
  for (const char *message : {"first", "second"}) {
    Log log;
    log.open(Log::trace, folder.file("log.txt"));
    log.write(Log::trace, message);
  }
  const std::string all = read(folder.file("log.txt"));
  EXPECT_TRUE(has(all, "[trace] first\n") && has(all, "[trace] second\n")) << all;
}

TEST(LogFile, AndTheLoggerHaveLevelsOfTheirOwn) {
  Folder folder;
  Ear e;
  e.log.open(Log::warning, folder.file("log.txt"));
  e.log.set(Log::debug, Ear::hear, &e);
  e.log.write(Log::debug, "little");
  e.log.write(Log::warning, "much");
  e.log.deliver();
  EXPECT_EQ(e.heard, 2);
  EXPECT_FALSE(has(read(folder.file("log.txt")), "little"));
  e.log.set(Log::trace, nullptr, nullptr);
  e.log.write(Log::error, "more");
  e.log.deliver();
  EXPECT_EQ(e.heard, 2);
  EXPECT_TRUE(has(read(folder.file("log.txt")), "more"));
}

TEST(LogFile, IsRotated) {
  Folder folder;
  Log log;
  log.open(Log::info, folder.file("log.txt"));
  const std::string much(1 << 20, 'x');
  for (int i = 0; i < 45; ++i) log.write(Log::info, i, much);
  EXPECT_LE(fs::file_size(folder.file("log.txt")), 10u << 20);
  for (const char *older : {"log.1.txt", "log.2.txt", "log.3.txt"})
    EXPECT_LE(fs::file_size(folder.file(older)), 10u << 20) << older;
  EXPECT_FALSE(fs::exists(folder.file("log.4.txt")));
}

TEST(LogFile, IsWhereItWasWhenTheProcessChangesItsFolder) {
  Folder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path);
  Log log;
  log.open(Log::info, "log.txt");
  fs::current_path(before);
  const std::string much(1 << 20, 'x');
  for (int i = 0; i < 12; ++i) log.write(Log::info, much);
  EXPECT_TRUE(fs::exists(folder.file("log.1.txt")));
  EXPECT_FALSE(fs::exists("log.1.txt"));
}

TEST(LogFile, ThatCannotBeOpenedIsRefused) {
  Folder folder;
  std::ofstream(folder.file("plain")) << "no folder";
  for (const std::string &path : {folder.file("plain/log.txt"), folder.path.string()}) {
    Log log;
    try {
      log.open(Log::info, path);
      FAIL() << path;
    } catch (const Error &error) {
      EXPECT_EQ(error.code, Code::io);
      EXPECT_TRUE(error.message.starts_with("cannot open \"" + path + "\": ")) << error.message;
    }
    EXPECT_FALSE(log.takes(Log::error));
  }
}

TEST(LogFile, AChildForkedWhileAnotherThreadWritesMayUseIt) {
  Folder folder;
  Log log;
  log.open(Log::info, folder.file("log.txt"));
  std::atomic<bool> ends{false};
  std::thread busy([&] {
    while (!ends) log.write(Log::info, "parent");
  });
  for (int i = 0; i < 20; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);  // ends a child that hangs
      log.write(Log::info, "child");
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ends = true;
  busy.join();
}

struct Counted {
  int &times;
};
std::string to_string(const Counted &c) {
  ++c.times;
  return "counted";
}

TEST(Log, AMessageThatNoOneWantsIsNotMade) {
  Folder folder;
  Log log;
  int times = 0;
  log.write(Log::error, Counted{times});
  EXPECT_EQ(times, 0);
  log.open(Log::warning, folder.file("log.txt"));
  log.write(Log::info, Counted{times});
  EXPECT_EQ(times, 0);
  log.write(Log::warning, Counted{times});
  EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace dl4::DL4_FILE
