// Which options a session takes, by how it runs: as the table of dl4_session_create() in the header says.
#include <fstream>
#include <sstream>

#include "capi/graphs.hpp"

namespace dl4_test::DL4_FILE {
namespace {

// The words of the header's table: a row for each way to run, a column for each option.
std::vector<std::vector<std::string>> table() {
  std::ifstream header(DL4_SOURCE_DIR "/include/dl4/dl4.h");
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(header, line);) {
    const bool is_head = line.find(" training  gradients  cotangents ") != std::string::npos;
    if (!is_head && (rows.empty() || rows.size() == 5)) continue;
    std::istringstream words(line);
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    rows.emplace_back(all.end() - 6, all.end());
  }
  return rows;
}

struct Way {
  const char *name, *more;  // options besides
  Own<dl4_model> model;
};

std::vector<Way> ways() {
  std::vector<Way> all;
  const auto sequence = [] {
    auto g = graph();
    const dl4_node x = input(g, "x", {-1, -1, 4});
    return build(g, {x}, {put(g, "LSTM", "lstm", R"({"units": 3})", {x})});
  };
  all.push_back({"whole", "", sequence()});
  {
    auto g = graph();
    const dl4_node x = input(g, "x", {-1, 4}), sum = put(g, "Sum", "sum", "{}", {x});
    const dl4_node w = put(g, "Weight", "w", R"({"shape": [], "initializer": "Zeros", "learned": false})", {});
    dl4_node now = -1;
    ok(dl4_graph_add_assign(g, nullptr, w, sum, &now));
    all.push_back({"assigning", "", build(g, {x}, {now})});
  }
  {
    auto g = graph();  // as many rows as the first column has numbers above 0
    const dl4_node x = input(g, "x", {-1, 2}), above = put(g, "Greater", "above", R"({"x2": 0})", {x});
    const dl4_node count = put(g, "Sum", "count", "{}", {put(g, "Cast", "flags", R"({"to": "int32"})", {above})});
    const dl4_node places = put(g, "Range", "places", "{}", {count});
    all.push_back({"sized", "", build(g, {x}, {put(g, "Take", "rows", R"({"axis": 0})", {x, places})})});
  }
  all.push_back({"streamed", R"("streamable": true)", sequence()});
  return all;
}

TEST(SessionOptions, EachWayToRunTakesThoseOfTheTable) {
  const std::map<std::string, std::string> given{{"training", R"("training": true)"},
                                                 {"gradients", R"("gradients": ["x"])"},
                                                 {"cotangents", R"("gradients": ["x"], "cotangents": true)"},
                                                 {"states", R"("states": true)"},
                                                 {"streamable", R"("streamable": true)"},
                                                 {"weights", R"("weights": "int8")"}};
  const auto rows = table();
  const auto all = ways();
  ASSERT_EQ(rows.size(), all.size() + 1);
  for (size_t w = 0; w < all.size(); ++w)
    for (size_t o = 0; o < given.size(); ++o) {
      const std::string option = rows[0][o], more = all[w].more;
      SCOPED_TRACE(all[w].name + (" " + option));
      const std::string one = given.at(option);
      Own<dl4_session> s;
      const Refusal r = refusal(dl4_session_create(
          all[w].model,
          ("{" + more + (more.empty() || more == one ? "" : ", ") + (more == one ? "" : one) + "}").c_str(), s.out()));
      ASSERT_TRUE(rows[w + 1][o] == "yes" || rows[w + 1][o] == "no") << rows[w + 1][o];
      EXPECT_EQ(r.code, rows[w + 1][o] == "yes" ? 0 : DL4_UNSUPPORTED) << r.message;
      if (r.code != 0) {
        EXPECT_NE(r.detail.find("\"attribute\":\""), std::string::npos) << r.detail;
      }
    }
}

TEST(SessionOptions, OnlyAModelThatRunsAsAWholePredicts) {
  for (const Way &way : ways()) {
    SCOPED_TRACE(way.name);
    Own<dl4_session> s;
    ok(dl4_session_create(way.model, ("{" + std::string(way.more) + "}").c_str(), s.out()));
    auto x = std::string(way.name) == "sized"       ? tensor({2, 2}, numbers(4))
             : std::string(way.name) == "assigning" ? tensor({2, 4}, numbers(8))
                                                    : tensor({2, 3, 4}, numbers(24));
    dl4_tensor *in[] = {x};
    Own<dl4_dataset> d;
    ok(dl4_dataset_from_tensors(nullptr, in, 1, nullptr, 0, nullptr, 0, nullptr, d.out()));
    Own<dl4_tensor> y;
    EXPECT_EQ(refusal(dl4_session_predict(s, d, nullptr, y.out(), 1)).code,
              std::string(way.name) == "whole" ? 0 : DL4_UNSUPPORTED);
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
