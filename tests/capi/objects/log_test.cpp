// What a context logs without a logger: to a file, to stderr, at each level.
#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "capi/processes.hpp"
#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("dl4_logs_" + std::to_string(getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char *name) const { return (path / name).string(); }
  std::string read(const char *name) const {
    std::ostringstream all;
    all << std::ifstream(file(name)).rdbuf();
    return all.str();
  }
};

Own<dl4_context> context(const std::string &options) {
  Own<dl4_context> c;
  ok(dl4_context_create(options.c_str(), c.out()));
  return c;
}

// A net is trained, saved, loaded and run; something is refused.
void use(dl4_context *c, const std::string &path) {
  auto m = small_net(c);
  auto t = trainer(m, R"({"optimizer": "SGD", "loss": "MeanSquaredError", "metrics": ["mae"]})");
  auto d = dataset(tensor({8, 4}, numbers(32)), tensor({8, 3}, numbers(24)), R"({"batch_size": 4})");
  ok(dl4_trainer_fit(t, d, d, R"({"epochs": 2})", nullptr, nullptr, nullptr, nullptr));
  ok(dl4_model_save(m, path.c_str(), nullptr));
  Own<dl4_model> loaded;
  ok(dl4_model_load(c, path.c_str(), nullptr, loaded.out()));
  run(loaded, {tensor({5, 4}, numbers(20))});
  EXPECT_EQ(refusal(dl4_model_load(c, "no/such/file", nullptr, loaded.out())).code, DL4_NOT_FOUND);
}

int count(const std::string &all, const std::string &part) {
  int n = 0;
  for (size_t at = all.find(part); at != all.npos; at = all.find(part, at + 1)) ++n;
  return n;
}

TEST(Log, AtInfoHasLoadsSavesEpochsPlansAndRefusals) {
  Folder folder;
  const std::string path = folder.file("net.keras");
  use(context(R"({"threads": 1, "log_to": ")" + folder.file("log.txt") + "\"}"), path);
  const std::string all = folder.read("log.txt");
  EXPECT_EQ(count(all, "[info] libdl4 "), 1) << all;
  EXPECT_EQ(count(all, "[info] saved \"" + path + "\": "), 1) << all;
  EXPECT_EQ(count(all, "[info] loaded \"" + path + "\": Keras, " + std::to_string(fs::file_size(path)) + " bytes, "),
            1);
  EXPECT_EQ(count(all, "[info] epoch 1 of 2: "), 1) << all;
  EXPECT_EQ(count(all, "[info] epoch 2 of 2: "), 1) << all;
  EXPECT_EQ(count(all, ", val_mae "), 2) << all;
  EXPECT_GE(count(all, "[info] plan for "), 2) << all;
  EXPECT_EQ(count(all, "[info] plan for (5, 4): "), 1) << all;
  EXPECT_EQ(count(all, "[warning] dl4_model_load: "), 1) << all;
  EXPECT_EQ(count(all, "[debug]"), 0) << all;
}

TEST(Log, AtDebugHasEachStepOfAPlanWithItsKernelAndWhy) {
  Folder folder;
  const auto c = context(R"({"threads": 1, "log_level": "debug", "log_to": ")" + folder.file("log.txt") + "\"}");
  run(small_net(c), {tensor({5, 4}, numbers(20))});
  const std::string all = folder.read("log.txt");
  EXPECT_EQ(count(all, "[debug]   hidden: "), 1) << all;
  EXPECT_GE(count(all, " by small_gemm (small_gemm "), 1) << all;
  EXPECT_GE(count(all, " us, then "), 1) << all;
}

TEST(Log, AtWarningHasRefusalsAlone) {
  Folder folder;
  use(context(R"({"threads": 1, "log_level": "warning", "log_to": ")" + folder.file("log.txt") + "\"}"),
      folder.file("net.keras"));
  const std::string all = folder.read("log.txt");
  EXPECT_EQ(count(all, "[warning] dl4_model_load: "), 1) << all;
  EXPECT_EQ(count(all, "\n"), 1) << all;
}

TEST(Log, AtWarningSaysThatAFileComputesInOtherFloats) {
  Folder folder;
  auto c = context(R"({"log_level": "warning", "log_to": ")" + folder.file("log.txt") + "\"}");
  Own<dl4_model> m;
  ok(dl4_model_load(c, DL4_SOURCE_DIR "/tests/io/data/mixed.keras", nullptr, m.out()));
  ok(dl4_model_load(c, DL4_SOURCE_DIR "/tests/io/data/sequential.keras", nullptr, m.out()));
  const std::string all = folder.read("log.txt");
  EXPECT_EQ(count(all, "mixed.keras\" computes in mixed_float16 where it was made, and in float32 here"), 1) << all;
  EXPECT_EQ(count(all, "\n"), 1) << all;
}

TEST(Log, OffAndTheDefaultWriteNothing) {
  Folder folder;
  use(context(R"({"threads": 1, "log_level": "off", "log_to": ")" + folder.file("log.txt") + "\"}"),
      folder.file("net.keras"));
  EXPECT_FALSE(fs::exists(folder.file("log.txt")));
  const auto defaults = nlohmann::json::parse(described(context("{}"), DL4_FORMAT_JSON));
  EXPECT_TRUE(defaults.at("log_level").is_null() && defaults.at("log_to").is_null()) << defaults;
}

TEST(Log, GoesToStderrWhereNoFileIsNamed) {
  Folder folder;
  const std::string err = folder.file("err.txt");
  const int status = in_child([&] {
    const int to = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    if (to < 0 || dup2(to, STDERR_FILENO) < 0) return 1;
    use(context(R"({"threads": 1, "log_level": "info"})"), folder.file("net.keras"));
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(count(folder.read("err.txt"), "[info] epoch 2 of 2: "), 1) << folder.read("err.txt");
}

TEST(Log, ReachesTheLoggerToo) {
  Folder folder;
  const auto c = context(R"({"threads": 1})");
  std::string heard;
  ok(dl4_context_set_logger(
      c, DL4_LOG_INFO,
      [](void *user, int32_t level, const char *message) {
        *static_cast<std::string *>(user) += std::to_string(level) + ' ' + message + '\n';
      },
      &heard));
  use(c, folder.file("net.keras"));
  EXPECT_EQ(count(heard, "2 epoch 2 of 2: "), 1) << heard;
  EXPECT_EQ(count(heard, "2 loaded \""), 1) << heard;
  EXPECT_EQ(count(heard, "3 dl4_model_load: "), 1) << heard;
}

TEST(Log, RefusesWrongOptionsByName) {
  Folder folder;
  std::ofstream(folder.file("plain")) << "no folder";
  struct Case {
    std::string options, message;
    int32_t code;
  };
  for (const Case &wrong :
       {Case{R"({"log_level": "verbose"})", "\"log_level\": expected one of \"trace\"", DL4_INVALID_ARGUMENT},
        Case{R"({"log_level": 2})", "\"log_level\": expected one of \"trace\"", DL4_INVALID_ARGUMENT},
        Case{R"({"log_to": 2})", "\"log_to\": expected ", DL4_INVALID_ARGUMENT},
        Case{R"({"log_to": ""})", "\"log_to\": expected \"stderr\" or a file, got \"\"", DL4_INVALID_ARGUMENT},
        Case{R"({"log_to": ")" + folder.file("plain/log.txt") + "\"}",
             "\"log_to\": cannot open \"" + folder.file("plain/log.txt") + "\": ", DL4_IO}}) {
    dl4_context *c = nullptr;
    const Refusal r = refusal(dl4_context_create(wrong.options.c_str(), &c));
    EXPECT_EQ(c, nullptr);
    EXPECT_EQ(r.code, wrong.code) << wrong.options;
    EXPECT_NE(r.message.find(wrong.message), std::string::npos) << r.message;
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
