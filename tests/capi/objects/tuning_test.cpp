// The context option "tuning": figures that kernels are chosen by, and those that are refused.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

json computed() {
  Own<dl4_blob> blob;
  ok(dl4_build_info(blob.out()));
  return json::parse(dl4_blob_data(blob))["tuning"];
}

// The first step of a net's plan, and the output.
std::pair<json, std::vector<float>> first_step(const json &options) {
  Own<dl4_context> c;
  ok(dl4_context_create(options.dump().c_str(), c.out()));
  auto m = small_net(c);
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  const auto x = tensor({5, 4}, numbers(20));
  dl4_tensor *in = x;
  Own<dl4_tensor> y;
  ok(dl4_session_run(s, &in, 1, y.out(), 1, nullptr));
  Own<dl4_blob> said;
  ok(dl4_describe(s, DL4_FORMAT_JSON, said.out()));
  return {json::parse(dl4_blob_data(said))["plans"][0]["steps"][0], floats(y)};
}

TEST(Tuning, IsWhatKernelsAreChosenBy) {
  const auto [step, y] = first_step({{"threads", 1}});
  const std::string chosen = step["candidates"][0]["kernel"], other = step["candidates"][1]["kernel"];
  json tuning = computed();
  EXPECT_EQ(first_step({{"threads", 1}, {"tuning", tuning.dump()}}).first["candidates"], step["candidates"]);
  tuning["kernels"][chosen] = 100;
  const auto [tuned, again] = first_step({{"threads", 1}, {"tuning", tuning.dump()}});
  EXPECT_EQ(tuned["candidates"][0]["kernel"], other);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], again[i], 1e-6);
  tuning["kernels"] = json::object();
  tuning["gigahertz"] = 2 * tuning["gigahertz"].get<double>();
  const auto faster = first_step({{"threads", 1}, {"tuning", tuning.dump()}}).first["candidates"][0];
  EXPECT_EQ(faster["kernel"], chosen);
  EXPECT_NEAR(faster["microseconds"].get<double>(), step["candidates"][0]["microseconds"].get<double>() / 2, 1e-9);
}

TEST(Tuning, IsAFileOrItsText) {
  const auto file = std::filesystem::temp_directory_path() / ("dl4_tuning_" + std::to_string(getpid()) + ".json");
  std::ofstream(file) << computed().dump(2);
  Own<dl4_context> c;
  ok(dl4_context_create(json{{"tuning", file.string()}}.dump().c_str(), c.out()));
  Own<dl4_blob> said;
  ok(dl4_describe(c, DL4_FORMAT_JSON, said.out()));
  EXPECT_EQ(json::parse(dl4_blob_data(said))["tuning"], file.string());
  std::filesystem::remove(file);
}

TEST(Tuning, RefusesWhatIsDamagedAbsurdOrOfAnotherMachine) {
  const auto with = [](const char *key, json value) {
    json tuning = computed();
    tuning[key] = std::move(value);
    return tuning.dump();
  };
  const auto of_kernel = [&](const char *name, json value) { return with("kernels", {{name, std::move(value)}}); };
  json missing = computed();
  missing.erase("processor");
  const struct {
    std::string tuning, message;
    int32_t code = DL4_INVALID_ARGUMENT;
  } cases[] = {
      {"no/such/file", "no/such/file", DL4_NOT_FOUND},
      {"{\"libdl4\": \"1.0", "\"tuning\""},
      {"{\"libdl4\": 1}", "\"libdl4\": expected "},
      {missing.dump(), "\"processor\""},
      {with("cores", 4), "\"cores\""},
      {with("libdl4", "0.1.0"), "\"libdl4\": expected \"", DL4_UNSUPPORTED},
      {with("processor", "another, sse4.2"), "\"processor\": expected \"", DL4_UNSUPPORTED},
      {with("gigahertz", 0), "\"gigahertz\": expected at least 0.1, got 0"},
      {with("gigahertz", -3), "\"gigahertz\": expected at least 0.1, got -3"},
      {with("gigahertz", 1e30), "\"gigahertz\": expected at most 10.0, got 1e+30"},
      {with("gigahertz", "fast"), "\"gigahertz\": expected "},
      {with("gigahertz", nullptr), "\"gigahertz\": expected "},
      {with("cycles", {1, 2, 3}), "\"cycles\": expected 4 numbers"},
      {with("cycles", {1, 2, 3, 0}), "\"cycles\": expected at least 0.001"},
      {with("cycles", {1, 2, 3, 1e30}), "\"cycles\": expected at most 1000"},
      {of_kernel("packed_gemm", 0), "\"kernels\": expected numbers from 0.01 to 100, got 0.0"},
      {of_kernel("packed_gemm", -1), "\"kernels\": expected numbers from 0.01 to 100, got -1.0"},
      {of_kernel("packed_gemm", 1e30), "\"kernels\": expected numbers from 0.01 to 100, got 1e+30"},
      {of_kernel("packed_gem", 1), "\"kernels\": expected one of \""},
      {"{\"gigahertz\": NaN}", "\"tuning\""},
  };
  for (const auto &wrong : cases) {
    dl4_context *c = nullptr;
    const Refusal r = refusal(dl4_context_create(json{{"tuning", wrong.tuning}}.dump().c_str(), &c));
    EXPECT_EQ(c, nullptr);
    EXPECT_EQ(r.code, wrong.code) << r.message;
    EXPECT_NE(r.message.find("\"tuning\""), std::string::npos) << r.message;
    EXPECT_NE(r.message.find(wrong.message), std::string::npos) << r.message << "\nexpected " << wrong.message;
  }
  dl4_context *c = nullptr;
  const json portable{{"tuning", computed().dump()}, {"reproducible", "portable"}};
  EXPECT_EQ(refusal(dl4_context_create(portable.dump().c_str(), &c)).message,
            "dl4_context_create: \"tuning\": expected none where bits are portable");
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
