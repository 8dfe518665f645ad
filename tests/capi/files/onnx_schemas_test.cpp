// What a node may have, for every op that capi/ONNX.md lists: inputs, outputs, attributes, their types and words. A
// test says that the page is what the tables of src/io/onnx are.
#include <fstream>
#include <sstream>

#include "capi/onnx_bytes.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using namespace dl4_test::onnx_bytes;

constexpr int64_t opset = 20, newest = 28;

struct Item {
  std::string name, rest;
  char count = 0;
};
struct Listed {
  std::string op, domain;
  std::vector<Item> in, out, attributes;
};

// The items of a cell that are there in that opset.
std::vector<Item> items(const std::string &cell, int64_t version) {
  std::vector<Item> all;
  std::istringstream words(cell);
  for (std::string word; words >> word;) {
    const size_t end = std::min(word.find_first_of(":=!"), word.size());
    Item item{word.substr(0, end), word.substr(end)};
    if (const size_t at = item.name.find('@'); at != std::string::npos) {
      const std::string range = item.name.substr(at + 1);
      const size_t dash = range.find('-');
      const int64_t since = dash == 0 ? 0 : std::stoll(range.substr(0, dash));
      const int64_t until = dash == std::string::npos ? newest : std::stoll(range.substr(dash + 1));
      if (version < since || version > until) continue;
      item.name.resize(at);
    }
    if (std::string("?*+").find(item.name.back()) != std::string::npos) {
      item.count = item.name.back();
      item.name.pop_back();
    }
    all.push_back(item);
  }
  return all;
}

std::vector<Listed> page() {
  std::ifstream file(DL4_SOURCE_DIR "/capi/ONNX.md");
  std::vector<Listed> all;
  std::string domain;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## "))
      domain = line.find("`ai.onnx.ml`") != line.npos      ? "ai.onnx.ml"
               : line.find("`com.microsoft`") != line.npos ? "com.microsoft"
                                                           : "";
    std::vector<std::string> cells;  // a bar in a cell stands behind a backslash
    for (size_t i = 0; i < line.size(); ++i)
      if (line[i] == '|')
        cells.emplace_back();
      else if (!cells.empty() && line[i] != '`' && line[i] != '\\')
        cells.back() += line[i];
      else if (!cells.empty() && line[i] == '\\')
        cells.back() += line[++i];
    if (cells.size() < 5 || cells[1].find(" > ") == std::string::npos || cells[0] == " operator ") continue;
    const int64_t version = domain.empty() ? opset : newest;
    const size_t arrow = cells[1].find(" > ");
    all.push_back({cells[0].substr(1, cells[0].size() - 2), domain, items(cells[1].substr(0, arrow), version),
                   items(cells[1].substr(arrow + 3), version), items(cells[2], version)});
    if (all.back().op == "FlexAttention") all.back().domain = "ai.onnx.preview";
  }
  return all;
}

class OnnxSchemas : public testing::Test {
 protected:
  void SetUp() override {
    all = page();
    ASSERT_GT(all.size(), 200u);
  }
  // Of a node that reads and gives so many values, the last input empty.
  static void refused(const Listed &op, size_t in, size_t out, const std::string &more, const char *word,
                      bool last_empty = false) {
    std::string bytes;
    for (size_t i = 0; i < in; ++i) bytes += field(1, std::string(last_empty && i + 1 == in ? "" : "x"));
    for (size_t i = 0; i < out; ++i) bytes += field(2, i == 0 ? "y" : "y" + std::to_string(i));
    bytes += field(4, op.op) + field(7, op.domain) + more;
    SCOPED_TRACE(op.domain + ' ' + op.op);
    Refusal r;
    load(nullptr, model(field(1, bytes), opset), r);
    EXPECT_TRUE(r.code == DL4_CORRUPT_FILE || r.code == DL4_UNSUPPORTED) << r.message;
    EXPECT_NE(r.message.find(word), std::string::npos) << word << " in: " << r.message;
  }
  static bool many(const std::vector<Item> &list) {
    return !list.empty() && (list.back().count == '*' || list.back().count == '+');
  }
  static size_t required(const std::vector<Item> &list) {
    size_t n = 0;
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].count == 0 || list[i].count == '+') n = i + 1;
    return n;
  }
  std::vector<Listed> all;
};

TEST_F(OnnxSchemas, RefuseMissingAndMoreInputs) {
  for (const Listed &op : all) {
    const size_t n = required(op.in);
    const std::string missing = n == 0 ? "" : "has no input " + std::to_string(n - 1);
    if (n > 0) refused(op, n - 1, 1, "", missing.c_str());
    if (n > 0 && op.in[n - 1].count == 0) refused(op, n, 1, "", missing.c_str(), true);
    if (n > 1) refused(op, 0, 1, "", "has no input");
    if (!many(op.in)) refused(op, op.in.size() + 1, 1, "", "inputs, expected at most");
  }
}

TEST_F(OnnxSchemas, RefuseMoreAndMissingOutputs) {
  for (const Listed &op : all) {
    if (!many(op.out)) refused(op, required(op.in), op.out.size() + 1, "", "outputs, expected at most");
    if (const size_t n = required(op.out); n > 1) refused(op, required(op.in), n - 1, "", "has no output");
  }
}

TEST_F(OnnxSchemas, RefuseAttributesThatAnOpDoesNotHave) {
  size_t types = 0, words = 0;
  for (const Listed &op : all) {
    const auto with = [&](const std::string &more, const char *word) {
      refused(op, required(op.in), std::max<size_t>(required(op.out), 1), more, word);
    };
    with(integer("no_such", 1), "has the attribute \"no_such\"");
    for (const Item &a : op.attributes) {
      const bool is_float = a.rest.starts_with(":float") ? !a.rest.starts_with(":floats")
                                                         : a.rest.find('.') != a.rest.npos || a.rest.find("e-") < 3;
      with(is_float ? integer(a.name, 1) : real(a.name, 1), ("\"" + a.name + "\" is of type").c_str());
      ++types;
      if (a.rest.find('|') == std::string::npos) continue;
      const bool number = std::isdigit(static_cast<unsigned char>(a.rest[1])) != 0;
      with(number ? integer(a.name, 77) : attribute(a.name, field(4, std::string("no_such_word")), 3),
           (number ? "\"" + a.name + "\" of 77 is not supported; expected"
                   : "\"no_such_word\" is not supported; expected")
               .c_str());
      with(integer("other", 1) + attribute(a.name, field(4, std::string()), 3), "has the attribute \"other\"");
      ++words;
    }
  }
  EXPECT_GT(types, 300u);
  EXPECT_GT(words, 100u);
}

TEST(OnnxAttributes, AreRefusedByName) {
  expect_refusal(model(node("Softmax", {"x"}, integer("axis", 0) + integer("axis", 0))), DL4_CORRUPT_FILE,
                 {"attribute \"axis\" twice"});
  expect_refusal(model(node("Gelu", {"x"}, attribute("approximate", field(4, std::string("tan")), 3))), DL4_UNSUPPORTED,
                 {"\"approximate\" of \"tan\"", "expected none or tanh"});
  // From the opset on that has them.
  expect_refusal(model(node("LeakyRelu", {"x"}, integers("consumed_inputs", {0}))), DL4_UNSUPPORTED,
                 {"\"consumed_inputs\"", "opset 20"});
  expect_refusal(model(node("Cast", {"x"}, integer("to", 1) + integer("saturate", 1)), 13), DL4_UNSUPPORTED,
                 {"\"saturate\"", "opset 13"});
  Refusal r;
  load(nullptr, model(node("LeakyRelu", {"x"}, integers("consumed_inputs", {0})), 5), r);
  EXPECT_EQ(r.code, 0) << r.message;
}

// x of (1, 1, 1, n), 0 1 2 ..., along its last axis.
std::vector<float> resized(int64_t n, float scale, int64_t opset, const std::string &attributes) {
  const std::string scales = initializer<float>("scales", 1, {4}, {1, 1, 1, scale});
  const std::string node = opset < 11 ? named("Resize", {"x", "scales"}, "y", attributes)
                                      : named("Resize", {"x", "", "scales"}, "y", attributes);
  std::vector<float> x;
  for (int64_t i = 0; i < n; ++i) x.push_back(static_cast<float>(i));
  return run<float, float>(
      model_of(node + scales, port(11, "x", 1, {1, 1, 1, n}) + port(12, "y", 1, {1, 1, 1, -1}), opset), {1, 1, 1, n},
      x);
}
std::string word(const char *name, const char *value) { return attribute(name, field(4, std::string(value)), 3); }

// What ONNX Runtime gives.
TEST(OnnxResize, ComputesPlacesInFloat32) {
  const std::string nearest = word("mode", "nearest");
  const auto for_nn = word("coordinate_transformation_mode", "tf_half_pixel_for_nn");
  const auto asymmetric = word("coordinate_transformation_mode", "asymmetric");
  EXPECT_EQ(resized(5, 2.3f, 11, nearest + for_nn + word("nearest_mode", "floor")),
            (std::vector<float>{0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4}));
  const auto linear = resized(5, 2.3f, 12, word("mode", "linear") + for_nn);
  EXPECT_NEAR(linear[0], 0.21739131, 1e-6);
  EXPECT_NEAR(linear[7], 3.2608697, 1e-6);
  EXPECT_EQ(linear[10], 4);
  expect_refusal(model(node("Resize", {"x", "", "x"}, for_nn), 13), DL4_UNSUPPORTED,
                 {"\"tf_half_pixel_for_nn\" is not supported", "half_pixel"});
  // 6 times 10/3 is 20, though 10/3 is less in float32.
  EXPECT_EQ(resized(6, 10.f / 3, 13, nearest + asymmetric + word("nearest_mode", "floor")),
            (std::vector<float>{0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5}));
  EXPECT_EQ(resized(30, 0.1f, 13, nearest + asymmetric + word("nearest_mode", "floor")),
            (std::vector<float>{0, 10, 20}));
  // 1 / (2/7) is a half, though 2/7 is more in float32.
  EXPECT_EQ(resized(7, 2.f / 7, 13, nearest + asymmetric + word("nearest_mode", "round_prefer_ceil")),
            (std::vector<float>{0, 4}));
  EXPECT_EQ(resized(7, 2.f / 7, 13, nearest + asymmetric + word("nearest_mode", "round_prefer_floor")),
            (std::vector<float>{0, 3}));
}

TEST(OnnxResize, RoundsUpWhereItShrinksBeforeOpset11) {
  EXPECT_EQ(resized(4, 0.6f, 10, ""), (std::vector<float>{0, 2}));
  EXPECT_EQ(resized(3, 2.5f, 10, ""), (std::vector<float>{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(resized(4, 1.2f, 10, ""), (std::vector<float>{0, 1, 2, 3}));
}

TEST(OnnxPad, FillsIntegersOfEverySize) {
  for (int64_t type : {2, 3, 6, 7}) {
    const std::string v = type == 7   ? initializer<int64_t>("v", 7, {}, {77})
                          : type == 6 ? initializer<int32_t>("v", 6, {}, {77})
                                      : initializer<uint8_t>("v", type, {}, {77});
    const std::string nodes = named("Cast", {"x"}, "i", integer("to", type)) + named("Pad", {"i", "p", "v"}, "o") +
                              named("Cast", {"o"}, "y", integer("to", 1)) +
                              initializer<int64_t>("p", 7, {4}, {0, 1, 0, -1}) + v;
    EXPECT_EQ((run<float, float>(model(nodes), {1, 4}, {1, 2, 3, 100})), (std::vector<float>{77, 1, 2, 3})) << type;
  }
  const std::string flags = named("Cast", {"x"}, "i", integer("to", 9)) + named("Pad", {"i", "p", "v"}, "o") +
                            named("Cast", {"o"}, "y", integer("to", 1)) +
                            initializer<int64_t>("p", 7, {4}, {0, 1, 0, 0}) + initializer<uint8_t>("v", 9, {}, {1});
  EXPECT_EQ((run<float, float>(model(flags), {1, 4}, {0, 2, 0, 1})), (std::vector<float>{1, 0, 1, 0, 1}));
}

// Ops of ONNX's experiments.
TEST(OnnxExperiments, AreRead) {
  const auto image = [](const std::string &op, const std::string &attributes) {
    return run<float, float>(
        model_of(node(op, {"x"}, attributes), port(11, "x", 1, {1, 2, 2, 2}) + port(12, "y", 1, {1, 2, -1, -1}), 6),
        {1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  };
  const std::string bias = attribute(
      "bias", varint(7 << 3 | 5) + std::string("\0\0\x80\x3f", 4) + varint(7 << 3 | 5) + std::string("\0\0\0\x40", 4),
      6);
  EXPECT_EQ(image("ImageScaler", real("scale", 2) + bias), (std::vector<float>{3, 5, 7, 9, 12, 14, 16, 18}));
  EXPECT_EQ(image("Affine", real("alpha", 2) + real("beta", 1)), (std::vector<float>{3, 5, 7, 9, 11, 13, 15, 17}));
  EXPECT_EQ(image("Crop", integers("border", {1, 0, 0, 1})), (std::vector<float>{2, 6}));
  EXPECT_EQ(image("Crop", integers("border", {0, 1, 0, 0}) + integers("scale", {1, 1})), (std::vector<float>{3, 7}));
  expect_refusal(model_of(node("Crop", {"x"}, integers("border", {2, 0, 0, 0})),
                          port(11, "x", 1, {1, 2, 2, 2}) + port(12, "y", 1, {}), 6),
                 DL4_CORRUPT_FILE, {"cuts 0 places from place 2 on out of 2"});
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
