// The JSON description of the ABI says what the header says, and what the library serves and exports.
#include <dl4/dl4.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

namespace {

using Json = nlohmann::ordered_json;

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const Json &description() {
  static const Json json = Json::parse(read(DL4_SOURCE_DIR "/capi/dl4-api.json"));
  return json;
}

std::string replaced(const std::string &s, const char *pattern, const char *with) {
  return std::regex_replace(s, std::regex(pattern), with);
}

std::string one_line(const std::string &s) { return replaced(replaced(s, "\\s+", " "), "^ | $", ""); }

// "const int64_t *dims" -> {"dims", "const int64_t *"}
std::pair<std::string, std::string> declarator(const std::string &declared) {
  const std::string s = one_line(declared);
  const auto name = s.find_last_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") + 1;
  return {s.substr(name), one_line(s.substr(0, name))};
}

struct Declaration {
  std::string name, returns, comment;
  std::vector<std::pair<std::string, std::string>> parameters;
};

std::vector<std::pair<std::string, std::string>> parameters(const std::string &list) {
  std::vector<std::pair<std::string, std::string>> found;
  std::stringstream parts(one_line(list));
  for (std::string part; std::getline(parts, part, ',');) {
    if (one_line(part) != "void") found.push_back(declarator(part));
  }
  return found;
}

// The comment that ends right before `position`, without its stars.
std::string comment_before(const std::string &text, size_t position) {
  const auto begin = text.rfind("/*", position);
  return replaced(text.substr(begin + 2, text.rfind("*/", position) - begin - 2), "\n ?\\*", "\n");
}

// Declarations in the order of the header: "DL4_API ... ;" or "typedef R (*name)(...);".
std::vector<Declaration> declarations(const std::string &text, const std::string &start, const std::regex &shape) {
  std::vector<Declaration> found;
  for (size_t at = text.find("\n" + start); at != std::string::npos; at = text.find("\n" + start, at + 1)) {
    const std::string whole = one_line(text.substr(at, text.find(';', at) - at));
    std::smatch m;
    if (!std::regex_match(whole, m, shape)) continue;
    found.push_back({m[2], one_line(m[1]), comment_before(text, at), parameters(m[3])});
  }
  return found;
}

std::string header() {
  const std::string text = read(DL4_SOURCE_DIR "/include/dl4/dl4.h");
  return text.substr(text.find("#ifndef DL4_DL4_H"));
}

std::vector<Declaration> functions() {
  return declarations(header(), "DL4_API ", std::regex("DL4_API (?:DL4_CHECKED )?(.*?)(dl4_[a-z0-9_]+)\\((.*)\\)"));
}

// What stands after a label such as "May be NULL:" in a comment, up to the next label or the end.
std::string labelled(const std::string &comment, const std::string &label) {
  const auto at = comment.find("\n " + label + ": ");
  if (at == std::string::npos) return "";
  const auto begin = at + label.size() + 4;
  std::smatch next;
  const std::string rest = comment.substr(begin);
  const std::regex labels("\n (May be NULL|Keeps|Takes|Threads|Errors): ");
  return one_line(rest.substr(0, std::regex_search(rest, next, labels) ? size_t(next.position()) : rest.size()));
}

void expect_parameters(const Json &entry, const Declaration &declared) {
  ASSERT_EQ(entry["parameters"].size(), declared.parameters.size()) << declared.name;
  for (size_t i = 0; i < declared.parameters.size(); ++i) {
    EXPECT_EQ(entry["parameters"][i]["name"], declared.parameters[i].first) << declared.name;
    EXPECT_EQ(entry["parameters"][i]["type"], declared.parameters[i].second) << declared.name;
  }
}

TEST(ApiDescription, HasTheFunctionsOfTheHeader) {
  const auto declared = functions();
  const Json &described = description()["functions"];
  ASSERT_GT(declared.size(), 80u);
  ASSERT_EQ(described.size(), declared.size());
  for (size_t i = 0; i < declared.size(); ++i) {
    const Declaration &d = declared[i];
    ASSERT_EQ(described[i]["name"], d.name);
    EXPECT_EQ(described[i]["returns"], d.returns) << d.name;
    expect_parameters(described[i], d);
    const std::string doc = described[i]["doc"];
    EXPECT_FALSE(doc.empty()) << d.name;
    EXPECT_EQ(one_line(d.comment).rfind(doc, 0), 0u) << d.name << ": \"" << doc << "\" does not begin its comment";
    EXPECT_TRUE(described[i]["since"].is_string() && described[i]["threads"] != "") << d.name;
  }
}

TEST(ApiDescription, SaysWhatMayBeNullAsTheHeaderDoes) {
  const auto declared = functions();
  for (size_t i = 0; i < declared.size(); ++i) {
    const std::string nullable = labelled(declared[i].comment, "May be NULL");
    for (const Json &p : description()["functions"][i]["parameters"]) {
      const std::regex word("(^|, )" + p["name"].get<std::string>() + "( \\(|,|\\.|$)");
      EXPECT_EQ(p.value("nullable", false), std::regex_search(nullable, word)) << declared[i].name << " " << p["name"];
      const bool pointer = p["type"].get<std::string>().back() == '*';
      EXPECT_TRUE(!pointer || p.contains("ownership")) << declared[i].name << " " << p["name"];
    }
  }
}

TEST(ApiDescription, HasTheErrorsOfTheHeader) {
  const auto declared = functions();
  for (size_t i = 0; i < declared.size(); ++i) {
    const std::string errors = labelled(declared[i].comment, "Errors");
    std::vector<std::string> codes;
    const std::regex code("DL4_[A-Z_]+");
    for (std::sregex_iterator m(errors.begin(), errors.end(), code), end; m != end; ++m) codes.push_back(m->str());
    EXPECT_EQ(description()["functions"][i]["errors"].get<std::vector<std::string>>(), codes) << declared[i].name;
  }
}

TEST(ApiDescription, HasTheCallbacksOfTheHeader) {
  const auto declared = declarations(header(), "typedef ", std::regex("typedef (.*?)\\(\\*(dl4_[a-z_]+)\\)\\((.*)\\)"));
  const Json &described = description()["callbacks"];
  ASSERT_EQ(described.size(), declared.size());
  for (size_t i = 0; i < declared.size(); ++i) {
    EXPECT_EQ(described[i]["name"], declared[i].name);
    EXPECT_EQ(described[i]["returns"], declared[i].returns) << declared[i].name;
    expect_parameters(described[i], declared[i]);
  }
}

TEST(ApiDescription, HasTheConstantsOfTheHeader) {
  std::vector<std::pair<std::string, int>> declared, described;
  const std::string text = header();
  const std::regex constant("(DL4_[A-Z0-9_]+) = ([0-9]+)");
  for (std::sregex_iterator m(text.begin(), text.end(), constant), end; m != end; ++m) {
    declared.emplace_back((*m)[1], std::stoi((*m)[2]));
  }
  for (const Json &c : description()["constants"]) described.emplace_back(c["name"], c["value"].get<int>());
  EXPECT_EQ(described, declared);
}

TEST(ApiDescription, OnlyAllowedTypesCrossTheBorder) {
  std::set<std::string> words = {"int32_t", "int64_t", "double", "char", "void", "const"};
  for (const char *group : {"objects", "ids", "callbacks"}) {
    for (const Json &o : description()[group]) words.insert(o["name"].get<std::string>());
  }
  for (const char *group : {"functions", "callbacks"}) {
    for (const Json &f : description()[group]) {
      std::string types = f["returns"];
      for (const Json &p : f["parameters"]) types += " " + p["type"].get<std::string>();
      std::stringstream parts(replaced(types, "\\*", " "));
      for (std::string word; parts >> word;) EXPECT_TRUE(words.count(word)) << f["name"] << ": " << word;
    }
  }
}

TEST(ApiDescription, IsWhatTheLibraryServes) {
  dl4_blob *blob = nullptr;
  ASSERT_EQ(dl4_api_description(&blob), nullptr);
  const std::string served(dl4_blob_data(blob), size_t(dl4_blob_size(blob)));
  EXPECT_TRUE(served == read(DL4_SOURCE_DIR "/capi/dl4-api.json"));
  dl4_release(blob);
}

TEST(ApiDescription, EveryFunctionIsInTheLibrary) {
  for (const Json &f : description()["functions"]) {
    EXPECT_NE(dlsym(RTLD_DEFAULT, f["name"].get<std::string>().c_str()), nullptr) << f["name"];
  }
}

}  // namespace
