// What Keras's get_config() gives is taken: every config of golden/configs.json makes its kind here. Kinds that only
// Keras has are refused by their names.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

bool is_ours(const std::string &category, const std::string &name) {
  const auto names = kinds_of(category.c_str());
  return std::find(names.begin(), names.end(), name) != names.end();
}

dl4_error *layer(const std::string &name, const json &config) {
  Own<dl4_graph> g;
  dl4_layer made = 0;
  ok(dl4_graph_create(nullptr, g.out()));
  return dl4_graph_add_layer(g, name.c_str(), nullptr, config.dump().c_str(), nullptr, &made);
}

dl4_error *train(const json &options) {
  static const int64_t dims[] = {-1, 2};
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_trainer> t;
  dl4_node x = 0, y = 0;
  ok(dl4_graph_create(nullptr, g.out()));
  ok(dl4_graph_add_input(g, "x", DL4_FLOAT32, 2, dims, &x));
  ok(dl4_graph_add(g, "Dense", "dense", R"({"units": 3})", nullptr, nullptr, &x, 1, &y, 1));
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  json all = {{"optimizer", "SGD"}, {"loss", "mse"}};
  all.update(options);
  return dl4_trainer_create(m, all.dump().c_str(), t.out());
}

// The kind as a part of what can be made.
dl4_error *make(const std::string &category, const json &kind) {
  if (category == "layer") return layer(kind.at("class_name"), kind.at("config"));
  if (category == "loss") return layer("Loss", {{"loss", kind}});
  if (category == "optimizer") return train({{"optimizer", kind}});
  if (category == "metric") return train({{"metrics", json::array({kind})}});
  if (category == "schedule")
    return train({{"optimizer", {{"class_name", "SGD"}, {"config", {{"learning_rate", kind}}}}}});
  return layer("Dense", {{"units", 2}, {"kernel_" + category, kind}});
}

TEST(KerasConfigs, AreTaken) {
  std::ifstream file(DL4_SOURCE_DIR "/tests/golden/configs.json");
  const json all = json::parse(file);
  std::map<std::string, std::set<std::string>> taken;
  size_t only_keras = 0;
  for (const json &one : all) {
    const std::string category = one.at("category"), name = one.at("class_name");
    dl4_error *e = make(category, {{"class_name", name}, {"config", one.at("config")}});
    if (!e) {
      taken[category].insert(name);
      continue;
    }
    const Refusal r = refusal(e);
    EXPECT_FALSE(is_ours(category, name)) << r.message << '\n' << one.dump();
    EXPECT_EQ(r.code, DL4_UNSUPPORTED) << r.message;
    EXPECT_NE(r.message.find(category + ' ' + name + " is not in this version"), std::string::npos) << r.message;
    ++only_keras;
  }
  EXPECT_GT(all.size(), 600u);
  EXPECT_GT(taken["layer"].size(), 90u);
  EXPECT_GT(taken["metric"].size(), 40u);
  EXPECT_GT(taken["loss"].size(), 20u);
  EXPECT_GT(taken["optimizer"].size(), 11u);
  EXPECT_GT(only_keras, 0u);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
