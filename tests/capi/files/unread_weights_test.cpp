// Models whose weights are not read, and what a session says of its plans.
#include <gtest/gtest.h>

#include <dl4/dl4.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/folder.hpp"

namespace DL4_FILE {
namespace {

using dl4::Model;
using Json = nlohmann::json;

const std::string net = DL4_SOURCE_DIR "/tests/io/data/sequential.keras";

Model unread(const std::string &path) {
  dl4_model *m = nullptr;
  dl4::check(dl4_model_load(nullptr, path.c_str(), R"({"weights": false})", &m));
  return Model(m);
}

using UnreadWeights = dl4_test::Folder;

TEST_F(UnreadWeights, AreZerosInTheirShapes) {
  const Model whole = Model::load(net);
  whole.save(path("net.safetensors"));
  for (const std::string &file :
       {net, path("net.safetensors"), std::string(DL4_SOURCE_DIR "/tests/io/data/sequential.h5")}) {
    const Model m = unread(file);
    EXPECT_EQ(m.describe(DL4_FORMAT_JSON), Model::load(file).describe(DL4_FORMAT_JSON)) << file;
    ASSERT_EQ(m.weight_names(), Model::load(file).weight_names()) << file;
    for (const std::string &name : m.weight_names()) {
      EXPECT_EQ(m.weight(name).dims(), whole.weight(name).dims()) << name;
      const dl4::Tensor w = m.weight(name);
      for (float v : w.data()) ASSERT_EQ(v, 0) << name;
    }
  }
}

TEST_F(UnreadWeights, MayBeSetAndRun) {
  Model m = unread(net);
  const Model whole = Model::load(net);
  for (const std::string &name : m.weight_names()) m.set_weight(name, whole.weight(name));
  const dl4::Tensor x = dl4::Tensor::of(std::vector<float>(72, 0.5f), {1, 6, 6, 2});
  EXPECT_EQ(dl4::Session(m).run({x})[0].data()[0], dl4::Session(whole).run({x})[0].data()[0]);
}

// A file that is damaged where weights lie is read up to there alone.
TEST_F(UnreadWeights, AreNotLookedAt) {
  Model::load(net).save(path("net.safetensors"));
  std::fstream file(path("net.safetensors"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-3, std::ios::end);
  file.put('\x7f');
  file.close();
  EXPECT_THROW(Model::load(path("net.safetensors")), dl4::Error);
  EXPECT_NO_THROW(unread(path("net.safetensors")));
  std::string bytes = get("net.safetensors");  // the architecture is
  bytes.replace(bytes.find("0.99"), 4, "0.98");
  EXPECT_THROW(unread(put("net.safetensors", bytes)), dl4::Error);
}

TEST(SessionPlans, SayLayersKernelsAndTimes) {
  const Model m = Model::load(net);
  for (bool profile : {false, true}) {
    const dl4::Session s(m, {{"profile", profile}});
    EXPECT_EQ(Json::parse(s.describe(DL4_FORMAT_JSON)).at("plans"), Json::array());
    for (int64_t batch : {1, 2, 2}) s.run({dl4::Tensor::zeros({batch, 6, 6, 2})});
    const Json plans = Json::parse(s.describe(DL4_FORMAT_JSON)).at("plans");
    ASSERT_EQ(plans.size(), 2u);
    EXPECT_EQ(plans[1].at("inputs"), Json::parse("[[2, 6, 6, 2]]"));
    EXPECT_GT(plans[1].at("arena_bytes"), 0);
    bool dense = false;
    for (const Json &step : plans[1].at("steps")) {
      dense = dense || step.at("layer") == "dense";
      EXPECT_FALSE(step.at("kernel").get<std::string>().empty());
      EXPECT_GE(step.at("slices"), 0);
      EXPECT_EQ(step.contains("nanoseconds"), profile);
      EXPECT_EQ(step.value("runs", 0), profile ? 2 : 0);
    }
    EXPECT_TRUE(dense);
  }
}

}  // namespace
}  // namespace DL4_FILE
