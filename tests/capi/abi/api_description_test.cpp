// The JSON description of the ABI says what the header says, and what the library serves and exports.
#include <dl4/dl4.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

namespace DL4_FILE {
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
  const std::regex labels("\n (May be NULL|Keeps|Takes|Threads|Blocks|Errors): ");
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

// What the header lets be NULL in every function: its rule NULL.
bool is_null_everywhere(const std::string &function, const Json &p) {
  const std::string name = p["name"], type = p["type"], count = p.value("count", "");
  const std::set<std::string> always{"context", "options", "config", "call", "user", "release", "count", "error"};
  return always.count(name) || (name == "refs" && type.rfind("const ", 0) == 0) ||
         (name == "cancel" && function.rfind("dl4_cancel_", 0) != 0) ||
         (name == "object" && (function == "dl4_retain" || function == "dl4_release")) ||
         (name == "name" && function.rfind("dl4_graph_", 0) == 0) || (!count.empty() && count != "bytes");
}

TEST(ApiDescription, SaysWhatMayBeNullAsTheHeaderDoes) {
  const auto declared = functions();
  for (size_t i = 0; i < declared.size(); ++i) {
    const std::string nullable = labelled(declared[i].comment, "May be NULL");
    for (const Json &p : description()["functions"][i]["parameters"]) {
      const std::regex word("(^|, )" + p["name"].get<std::string>() + "( \\(|,|\\.|$)");
      const bool pointer = p["type"].get<std::string>().back() == '*';
      const bool listed = std::regex_search(nullable, word), everywhere = is_null_everywhere(declared[i].name, p);
      EXPECT_EQ(p.value("nullable", false), listed || everywhere) << declared[i].name << " " << p["name"];
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

const Json &served() {
  static const Json json = [] {
    dl4_blob *blob = nullptr;
    EXPECT_EQ(dl4_api_description(&blob), nullptr);
    Json j = Json::parse(dl4_blob_data(blob));
    dl4_release(blob);
    return j;
  }();
  return json;
}

TEST(ApiDescription, IsWhatTheLibraryServesWithTheOptionsOfCalls) {
  Json without = served();
  for (Json &f : without["functions"]) f.erase("options");
  ASSERT_EQ(without.size(), description().size());
  for (const auto &[key, wanted] : description().items()) {
    const Json &got = without[key];
    ASSERT_EQ(got.size(), wanted.size()) << key;
    if (wanted.is_array()) {
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(got[i], wanted[i]) << key << ' ' << i;
    } else {
      EXPECT_EQ(got, wanted) << key;
    }
  }
}

// The options that the header tells of are those that are parsed: the same names, types and defaults.
TEST(ApiDescription, HasTheOptionsOfTheHeader) {
  const auto declared = functions();
  const std::map<std::string, std::string> types = {{"int", "i64"},    {"float", "f64"},    {"bool", "bool"},
                                                    {"string", "str"}, {"strings", "strs"}, {"floats", "f64s"},
                                                    {"ints", "i64s"}};
  size_t told = 0;
  for (size_t i = 0; i < declared.size(); ++i) {
    const Json &f = served()["functions"][i];
    const auto &parameters = declared[i].parameters;
    const bool takes =
        std::any_of(parameters.begin(), parameters.end(), [](const auto &p) { return p.first == "options"; });
    ASSERT_EQ(f.contains("options"), takes) << declared[i].name;
    if (!takes) continue;
    for (const Json &o : f["options"]) {
      EXPECT_FALSE(o.at("doc").get<std::string>().empty()) << declared[i].name << o;
      EXPECT_EQ(o.at("required").get<bool>(), !o.contains("default")) << declared[i].name << o;
    }
    const auto at = declared[i].comment.find("\n Options:\n");
    if (at == std::string::npos) continue;
    const std::string comment = declared[i].comment.substr(at);
    std::map<std::string, std::string> listed, parsed;
    const std::regex line(
        "\n   ([a-z_0-9]+) +(int|ints|float|floats|bool|string|strings|object|kind|list|kind or list) ");
    for (std::sregex_iterator m(comment.begin(), comment.end(), line), end; m != end; ++m)
      listed[(*m)[1]] = types.count((*m)[2]) ? types.at((*m)[2]) : "attrs";
    for (const Json &o : f["options"]) {
      const std::string type = o["type"];
      parsed[o["name"]] = type == "attrss" || type == "json" ? "attrs" : type;
    }
    EXPECT_EQ(parsed, listed) << declared[i].name;
    told += listed.size();
  }
  EXPECT_GT(told, 25u);
}

TEST(ApiDescription, SaysWhatIsTextWhatBlocksAndWhatACallbackMay) {
  std::map<std::string, Json> by_name;
  for (const Json &f : description()["functions"]) {
    by_name[f["name"]] = f;
    for (const Json &p : f["parameters"])
      if (p["type"] == "const char *" || p["type"] == "dl4_blob **") {
        EXPECT_TRUE(p.contains("content")) << f["name"] << p;
      }
    if (f["returns"] == "const char *") {
      EXPECT_TRUE(f.contains("content")) << f["name"];
    }
    auto takes = [&](const Json &name) {
      return std::any_of(f["parameters"].begin(), f["parameters"].end(),
                         [&](const Json &p) { return p["name"] == name; });
    };
    for (const Json &reason : f.value("reasons", Json::object()))
      for (const Json &name : reason.value("parameters", Json::array())) EXPECT_TRUE(takes(name)) << f["name"] << name;
  }
  for (const char *name : {"dl4_session_run", "dl4_trainer_fit", "dl4_model_save", "dl4_measure"})
    EXPECT_TRUE(by_name[name]["blocks"]) << name;
  EXPECT_FALSE(by_name["dl4_port_count"]["blocks"]);
  for (const char *name : {"dl4_trainer_set_number", "dl4_trainer_get_number", "dl4_cancel_trigger", "dl4_session_run",
                           "dl4_model_set_weight"})
    EXPECT_EQ(by_name[name]["in_callback"], "any") << name;
  for (const char *name : {"dl4_trainer_step", "dl4_model_set_trainable"})
    EXPECT_EQ(by_name[name]["in_callback"], "others") << name;
  EXPECT_EQ(by_name["dl4_model_save_bytes"]["parameters"].back()["content"], "bytes");
  EXPECT_EQ(by_name["dl4_registry_json"]["parameters"].back()["content"], "json");
  EXPECT_EQ(by_name["dl4_model_set_weight"]["reasons"]["DL4_SHAPE_MISMATCH"]["parameters"], Json::array({"value"}));
}

TEST(ApiDescription, EveryFunctionIsInTheLibrary) {
  for (const Json &f : description()["functions"]) {
    EXPECT_NE(dlsym(RTLD_DEFAULT, f["name"].get<std::string>().c_str()), nullptr) << f["name"];
  }
}

}  // namespace
}  // namespace DL4_FILE
