// Names are C texts on the way out: U+0000, which only JSON can bring in, is refused wherever one enters.
#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

const std::string bad("na\0me", 5);

void expect_refused(const Refusal &r, const std::string &words) {
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT) << r.message;
  EXPECT_NE(r.message.find(words), std::string::npos) << r.message;
  EXPECT_NE(r.message.find("expected a text without U+0000, got \"na\\u0000me\""), std::string::npos) << r.message;
}

Refusal refused_layer(const char *kind, const json &config) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, 5, 4});
  dl4_node y = -1;
  return refusal(dl4_graph_add(g, kind, nullptr, config.dump().c_str(), nullptr, nullptr, &x, 1, &y, 1));
}

TEST(Names, OfLayersHaveNoNul) {
  expect_refused(refused_layer("Dense", {{"units", 3}, {"name", bad}}), "\"name\"");
  const json inner{{"class_name", "Dense"}, {"config", {{"units", 3}, {"name", bad}}}};
  expect_refused(refused_layer("TimeDistributed", {{"layer", inner}}), "\"name\"");
  json architecture = json::parse(described(small_net(), DL4_FORMAT_JSON));
  architecture["layers"][1]["name"] = bad;
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  expect_refused(refusal(dl4_graph_add_json(g, architecture.dump().c_str())), "\"name\"");
  ok(dl4_graph_add_json(g, described(small_net(), DL4_FORMAT_JSON).c_str()));
}

TEST(Names, OfAttributesHaveNoNul) {
  const Refusal r = refused_layer("Dense", {{"units", 3}, {bad, 1}});
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT) << r.message;
  EXPECT_NE(r.message.find("unknown attribute \"na\\x00me\""), std::string::npos) << r.message;
}

TEST(Names, OfMetricsAndFilesHaveNoNul) {
  auto m = small_net();
  auto refused = [&](json options) {
    options["optimizer"] = "SGD";
    options["loss"] = "mse";
    Own<dl4_trainer> t;
    return refusal(dl4_trainer_create(m, options.dump().c_str(), t.out()));
  };
  expect_refused(refused({{"metrics", {{{"class_name", "MeanSquaredError"}, {"config", {{"name", bad}}}}}}}),
                 "\"name\"");
  auto t = trainer(m);
  auto x = tensor({8, 4}, numbers(32)), y = tensor({8, 3}, numbers(24));
  auto data = dataset(x, y);
  const json logged{{"callbacks", {{{"class_name", "CSVLogger"}, {"config", {{"filename", bad}}}}}}};
  expect_refused(refusal(dl4_trainer_fit(t, data, nullptr, logged.dump().c_str(), nullptr, nullptr, nullptr, nullptr)),
                 "\"filename\"");
}

// A terminal obeys control characters, and a log has one message a line: neither is moved by a name.
TEST(Names, InMessagesAndSummariesAreOneLine) {
  const std::string name = "a\x1b[31m\nb\xC2\x9b";
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, 4});
  dl4_node y = add(g, "Dense", name.c_str(), R"({"units": 2})", x);
  const Refusal r = refusal(dl4_graph_add(g, "Dense", name.c_str(), R"({"units": 2})", nullptr, nullptr, &x, 1, &y, 1));
  EXPECT_NE(r.message.find(R"(a\x1b[31m\nb\x9b)"), std::string::npos) << r.message;
  auto in_order = [](const std::string &text) {
    for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
    EXPECT_EQ(text.find("\xC2\x9b"), std::string::npos);
  };
  for (const int32_t format : {DL4_FORMAT_TEXT, DL4_FORMAT_DOT}) {
    Own<dl4_blob> b;
    ok(dl4_describe(g, format, b.out()));
    in_order(dl4_blob_data(b));
    EXPECT_NE(std::string(dl4_blob_data(b)).find("x1b[31m"), std::string::npos);
  }
  in_order(r.message);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
