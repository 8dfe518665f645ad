// Values that no attribute expects, and every attribute of every kind to give them to, by the registry.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "net.hpp"

namespace dl4_test {

using nlohmann::json;

class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}
  size_t below(size_t n) { return n ? static_cast<size_t>(bits_() % n) : 0; }
  bool one_in(size_t n) { return below(n) == 0; }
  template <class T>
  const T &of(const std::vector<T> &list) {
    return list[below(list.size())];
  }

 private:
  std::mt19937_64 bits_;
};

// Where a value goes: an attribute of a kind, an argument of its call, an option of a function.
struct Slot {
  std::string key, type, category;  // category of the kind that it asks for, if it does
  bool argument = false;
};

struct Target {
  std::string category, name;
  json base = json::object();  // what makes it work
  std::vector<std::string> inputs;
  std::vector<Slot> slots;
  bool trains = true;  // the registry does not say that training it is refused
};

inline Target target_of(const std::string &category, const std::string &name, const json &entry) {
  Target t{category, name, json::object(), {}, {}};
  t.trains = entry.value("doc", "").find("Training such a model is refused") == std::string::npos;
  for (const json &a : entry.at("attributes")) {
    t.slots.push_back({a.at("name"), a.at("type"), a.value("category", ""), false});
    if (a.contains("example")) t.base[t.slots.back().key] = a.at("example");
  }
  for (const json &a : entry.value("arguments", json::array()))
    t.slots.push_back({a.at("name"), a.at("type"), "", true});
  if (name == "MelSpectrogram") t.base["fft_length"] = 4;  // of sounds as short as any input
  if (name == "Stack") t.base["axis"] = 1;                 // by default the batch is no longer first
  if (name == "GlobalAttention" || name == "LocalAttention") {
    t.inputs = {"(B, T, F)", "(B, T, F)"};
    return t;
  }
  if (name == "Dot") t.inputs = {"(B, F, F)", "(B, F, F)"};
  if (name == "Take") t.inputs = {"(B, T, F)", "(B, T) integers"};
  if (name == "SetLengths") t.inputs = {"(B, T, F)", "(B) integers"};
  if (!t.inputs.empty()) return t;
  for (const json &i : entry.value("inputs", json::array()))
    if (const std::string given = i.value("if", ""), input = i.at("name"); given.empty() || given == input + " null") {
      t.inputs.push_back(i.at("shape"));
      if (input.size() > 3 && input.substr(input.size() - 3) == "...") t.inputs.push_back(i.at("shape"));
    }
  return t;
}

// Every kind with its slots, then the functions that take options.
inline std::vector<Target> all_targets() {
  Own<dl4_blob> b;
  ok(dl4_registry_json(nullptr, nullptr, b.out()));
  const json registry = json::parse(dl4_blob_data(b));
  std::vector<Target> all;
  for (const auto &[category, kinds] : registry.items()) {
    if (category == "every_layer") continue;
    for (const auto &[name, entry] : kinds.items()) {
      all.push_back(target_of(category, name, entry));
      if (category != "layer") continue;
      const Target wide = target_of("", "", registry.at("every_layer"));
      all.back().slots.insert(all.back().slots.end(), wide.slots.begin(), wide.slots.end());
    }
  }
  ok(dl4_api_description(b.out()));
  const json described = json::parse(dl4_blob_data(b));
  for (const json &f : described.at("functions")) {
    if (!f.contains("options") || f.at("name") == "dl4_model_load" || f.at("name") == "dl4_model_save") continue;
    Target t{"function", f.at("name"), json::object(), {}, {}};
    for (const json &o : f.at("options")) t.slots.push_back({o.at("name"), o.at("type"), o.value("category", "")});
    if (t.slots.empty()) t.slots.push_back({"none", "bool", ""});
    all.push_back(std::move(t));
  }
  return all;
}

// ---- Values ---------------------------------------------------------------------------------------------------------

inline json deep(size_t levels) {
  json j = 1;
  for (; levels; --levels) j = levels % 2 ? json{{"config", j}} : json::array({j});
  return j;
}

// The first is null.
inline const std::vector<json> &hostile_values() {
  static const std::vector<json> all = [] {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<json> v = {nullptr, true, false};
    for (int64_t i :
         std::initializer_list<int64_t>{0, 1, -1, 2, 3, 7, 1000, 65536, 1 << 30, INT32_MAX, 1ll << 31, 1ll << 32,
                                        1ll << 53, (1ll << 53) + 1, 1ll << 62, INT64_MAX, INT64_MIN, INT32_MIN})
      v.emplace_back(i);
    v.emplace_back(UINT64_MAX);
    for (double d : {0.5, -0.5, 1.0, 2.0, -0.0, 1e-300, 1e-45, 1e-7, 1e8, 3.5e38, 1e308, -1e308, infinity, -infinity,
                     std::nan("")})
      v.emplace_back(d);
    for (const char *s : {"", "none", "same", "valid", "causal", "linear", "float64", "Dense", "L2", "\xc3\x9c",
                          "\xff\xfe", "a/b", "\n"})
      v.emplace_back(s);
    v.emplace_back(std::string(5000, 'a'));
    const int64_t huge = 1ll << 62, big = 1ll << 31;
    for (const std::vector<int64_t> &list : std::initializer_list<std::vector<int64_t>>{{0},
                                                                                        {1},
                                                                                        {2, 2},
                                                                                        {1, 2},
                                                                                        {2, 1},
                                                                                        {-1},
                                                                                        {-1, -1},
                                                                                        {0, 1},
                                                                                        {huge, huge},
                                                                                        {1, huge},
                                                                                        {big, 1},
                                                                                        {1, 2, 3},
                                                                                        {-2},
                                                                                        {INT64_MIN, INT64_MAX},
                                                                                        std::vector<int64_t>(9, 1),
                                                                                        std::vector<int64_t>(10000, 1)})
      v.emplace_back(list);
    v.emplace_back(json::array());
    for (const char *text : {"[null]", "[[null]]", "[1, [2]]", "[1.5, -0.0]", "[\"a\"]", "[\"relu\", null]", "[{}]",
                             "{}", "{\"class_name\": null}", "{\"class_name\": \"Nothing\"}", "{\"config\": {}}"})
      v.push_back(json::parse(text));
    v.push_back(deep(60));
    v.push_back(deep(70));
    v.push_back({std::nan(""), infinity});
    v.push_back({{"class_name", "Dense"}, {"config", nullptr}});
    v.push_back({{"class_name", "L2"}, {"config", json::array()}, {"version", 1ll << 53}});
    return v;
  }();
  return all;
}

// A value for a slot: any, one of the type that is asked for, or a kind of that category with a hostile slot of its
// own.
inline json hostile(Random &random, const Slot &slot, const std::vector<Target> &targets, int levels = 2) {
  if (slot.argument && slot.type != "bool" && !random.one_in(4)) {
    std::vector<int> nodes(random.below(4));
    for (int &n : nodes) n = random.one_in(8) ? 99 : static_cast<int>(random.below(4)) - 1;
    return {{"nodes", nodes}};
  }
  if (!slot.category.empty() && levels > 0 && !random.one_in(3)) {
    std::vector<const Target *> fitting;
    for (const Target &t : targets)
      if (t.category == slot.category || random.one_in(40)) fitting.push_back(&t);
    const Target &kind = *random.of(fitting);
    json config = kind.base;
    for (size_t n = random.below(3); n && !kind.slots.empty(); --n) {
      const Slot &inner = random.of(kind.slots);
      config[inner.key] = hostile(random, inner, targets, levels - 1);
    }
    json one = {{"class_name", kind.name}, {"config", config}};
    if (slot.type != "attrss") return one;
    json list = json::array({one});
    while (random.one_in(2)) list.push_back(hostile(random, {"", "attrs", slot.category}, targets, levels - 1));
    return list;
  }
  const json *value = nullptr;
  // Two of three have the right type.
  const bool any = random.one_in(3);
  for (int tries = 0; tries < 100; ++tries) {
    value = &random.of(hostile_values());
    const json &one = value->is_array() && !value->empty() ? value->front() : *value;
    if (any || (slot.type[0] == 'i' && one.is_number_integer()) || (slot.type[0] == 'f' && one.is_number()) ||
        (slot.type[0] == 'b' && one.is_boolean()) || (slot.type[0] == 's' && one.is_string()))
      break;
  }
  return *value;
}

// ---- Into bags ------------------------------------------------------------------------------------------------------

// True if taken; a refusal has words, in UTF-8, and is never the library's own fault.
inline bool taken(dl4_error *e) {
  if (!e) return true;
  const Refusal r = refusal(e);
  EXPECT_NE(r.code, DL4_INTERNAL) << r.message;
  EXPECT_FALSE(r.message.empty()) << r.code;
  EXPECT_NO_THROW(json(r.message).dump()) << r.message;
  EXPECT_TRUE(json::accept(r.detail)) << r.detail;
  return false;
}

// As options; NaN is null.
inline std::string text(const json &object) { return object.dump(-1, ' ', false, json::error_handler_t::replace); }

// The arguments of a call. A list under "nodes" is one of nodes; `refs` is nothing if one is refused.
struct Arguments {
  explicit Arguments(const json &object) {
    json plain_ones = json::object();
    ok(dl4_refs_create(refs.out()));
    for (const auto &[key, value] : object.items()) {
      if (!value.is_object() || !value.contains("nodes")) {
        plain_ones[key] = value;
        continue;
      }
      const auto list = value["nodes"].get<std::vector<dl4_node>>();
      if (!taken(dl4_refs_set_nodes(refs, key.c_str(), list.data(), static_cast<int64_t>(list.size())))) {
        refs = {};
        return;
      }
    }
    plain = text(plain_ones);
  }
  std::string plain;
  Own<dl4_refs> refs;
};

}  // namespace dl4_test
