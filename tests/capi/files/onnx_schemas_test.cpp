// What a node may have, for every op that capi/ONNX.md lists: inputs, outputs, attributes, their types and words. A
// test says that the page is what the tables of src/io/onnx are.
#include <fstream>
#include <sstream>

#include "capi/onnx_bytes.hpp"

namespace {

using namespace dl4_test;
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

}  // namespace
