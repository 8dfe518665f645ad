// The registry: entries of every category, by name, and as JSON.
#include <set>
#include <unordered_map>

#include "base/fork.hpp"
#include "kinds/custom.hpp"
#include "kinds/layer.hpp"
#include "kinds/list.hpp"
#include "kinds/signatures.hpp"

namespace dl4::kinds {

#define DL4_DECLARE(T) void list_##T(Entries &all);
DL4_LIST(DL4_DECLARE)
#undef DL4_DECLARE

namespace {

// Normal form: "HardSigmoid", "hard_sigmoid" and "hardSigmoid" have the same letters.
std::string letters(std::string_view name) {
  std::string s;
  for (char c : name)
    if (c != '_') s += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return s;
}

struct Category {
  Entries entries;
  std::unordered_map<std::string, const Entry *> by_letters;
};

struct Registry {
  std::vector<std::string> names{"layer", "activation", "initializer", "regularizer", "constraint",
                                 "loss",  "metric",     "optimizer",   "schedule",    "callback"};
  std::map<std::string, Category, std::less<>> categories;

  Registry() {
    for (const std::string &name : names) categories[name];
    Entries all;
#define DL4_ADD(T) list_##T(all);
    DL4_LIST(DL4_ADD)
#undef DL4_ADD
    for (const Entry *e : all) add(*e);
    // A class name takes precedence over another kind's alias.
    for (auto &[name, category] : categories)
      for (const Entry *e : category.entries)
        for (const Words &alias : e->aliases)
          if (!alias.empty()) category.by_letters.try_emplace(letters(alias), e);
  }

  void add(const Entry &e) {
    Category &category = categories.find(e.category.view())->second;
    category.entries.push_back(&e);
    if (!category.by_letters.emplace(letters(e.name), &e).second)
      fail(Code::internal, e.category, ' ', e.name, " is listed twice");
  }
};

const Registry &registry() {
  static const Registry r;
  return r;
}

// Added entries. Never destroyed: objects made of them may exist until the process ends.
struct Added {
  Mutex mutex;
  std::vector<std::unique_ptr<const Entry>> kept;
  std::map<std::pair<std::string, std::string>, const Entry *> by_letters;  // per category
};

Added &added() {
  static Added *const a = new Added;
  return *a;
}

[[noreturn]] void refuse_unknown(std::string_view what, std::string_view name, const std::vector<std::string> &known) {
  throw Error(Code::unknown_kind, text("unknown ", what, " \"", name, '"'))
      .with("category", what)
      .with("kind", name)
      .suggest(std::string(name), known);
}

// Keras's kind whose name has the same letters.
const Signature *known_signature(std::string_view category, std::string_view name) {
  const std::string wanted = letters(name);
  for (const Signature &s : signatures())
    if (s.category == category && letters(s.name) == wanted) return &s;
  return nullptr;
}

void refuse_absent(std::string_view category, std::string_view name) {
  if (const Signature *s = known_signature(category, name))
    throw Error(Code::unsupported, text(category, ' ', s->name, " is not in this version"))
        .with("category", category)
        .with("kind", name);
}

// Names of a kind elsewhere: in Keras with its public module, in NumPy, as an op of ONNX.
Json other_names(const Entry &e, bool in_keras) {
  Json names = Json::object();
  const std::string keras = e.keras();
  const size_t dot = keras.find('.');
  const bool operation = dot != std::string::npos && !keras.starts_with("keras.");
  const std::string function = operation ? snake_case(keras.substr(dot + 1)) : "";
  if (in_keras)
    names["keras"] = text(keras_module(e.category), '.', e.name);
  else if (!keras.empty())
    names["keras"] = operation ? "keras.ops." + function : keras;
  if (!in_keras && keras.starts_with("numpy.")) names["numpy"] = "numpy." + function;
  if (!e.onnx.empty()) names["onnx"] = e.onnx.view();
  return names;
}

Json words(std::string_view text) {
  Json list = Json::array();
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    list.push_back(std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

const Category &category_of(std::string_view name) {
  auto it = registry().categories.find(name);
  if (it == registry().categories.end()) refuse_unknown("category", name, registry().names);
  return it->second;
}

// Attributes of every layer besides its own fields; read by the graph.
Json layer_wide() {
  return Json::parse(R"({"attributes": [
{"name": "name", "type": "str", "required": false, "default": null,
 "doc": "name in the graph; by default the kind's in snake_case, with a number when it is taken"},
{"name": "trainable", "type": "bool", "required": false, "default": true,
 "doc": "false: training leaves the weights as they are"},
{"name": "dtype", "type": "str", "required": false, "default": "float32", "enum": ["float32", "mixed_bfloat16"],
 "doc": "mixed_bfloat16: in training the operands of products are rounded to bfloat16"}],
"arguments": [
{"name": "training", "type": "bool", "default": null, "doc": "this call's mode; by default that of the run"}]})");
}

}  // namespace

Words::Words(const std::string &made) {
  static std::mutex mutex;
  static auto &kept = *new std::set<std::string>;  // a few: options of each kind
  const std::lock_guard lock(mutex);
  chars_ = kept.insert(made).first->c_str();
}
std::string to_string(const Words &words) { return words; }

void list(Entries &all, const Entry &entry) { all.push_back(&entry); }

std::string_view cut_name(std::string_view &names) {
  const size_t end = std::min(names.find(", "), names.size());
  const std::string_view name = names.substr(0, end);
  names.remove_prefix(std::min(end + 2, names.size()));
  return name;
}

const std::vector<std::string> &categories() { return registry().names; }

const std::vector<const Entry *> &entries(std::string_view category) { return category_of(category).entries; }

const Entry &find(std::string_view category, std::string_view name) {
  const Category &c = category_of(category);
  auto it = c.by_letters.find(letters(name));
  if (it != c.by_letters.end()) return *it->second;
  {
    std::lock_guard lock(added().mutex);
    auto other = added().by_letters.find({std::string(category), letters(name)});
    if (other != added().by_letters.end()) return *other->second;
  }
  refuse_absent(category, name);
  std::vector<std::string> known;
  for (const Entry *e : c.entries) known.push_back(e->name);
  for (const Entry *e : c.entries)
    for (std::string &alias : e->other_words()) known.push_back(std::move(alias));
  refuse_unknown(category, name, known);
}

const Entry &kept(std::unique_ptr<const Entry> e) {
  std::lock_guard lock(added().mutex);
  return *added().kept.emplace_back(std::move(e));
}

void add(const Entries &list) {
  for (const Entry *e : list)
    if (category_of(e->category).by_letters.count(letters(e->name)))
      throw Error(Code::invalid_argument, text(e->category, " \"", e->name, "\" is a built-in kind"))
          .with("category", e->category)
          .with("kind", e->name);
  std::lock_guard lock(added().mutex);
  for (const Entry *e : list) added().by_letters[{e->category, letters(e->name)}] = e;
}

const Entry *find_added(std::string_view category, std::string_view name) {
  std::lock_guard lock(added().mutex);
  const auto found = added().by_letters.find({std::string(category), letters(name)});
  return found == added().by_letters.end() ? nullptr : found->second;
}

void remove(const Entry &e) {
  std::lock_guard lock(added().mutex);
  const auto found = added().by_letters.find({e.category, letters(e.name)});
  if (found != added().by_letters.end() && found->second == &e) added().by_letters.erase(found);
}

Json describe(const std::string &category, const std::string &name) {
  Json j = Json::object();
  auto add = [&](const Entry &e) { j[e.category.view()][e.name.view()] = e.describe(); };
  if (!name.empty() && category.empty()) expected("a category with the name", Json(name));
  if (!name.empty()) {
    add(find(category, name));
    return j;
  }
  for (const std::string &c : registry().names) {
    if (!category.empty() && c != category) continue;
    j[c] = Json::object();
    for (const Entry *e : entries(c)) add(*e);
  }
  if (!category.empty()) category_of(category);
  if (category.empty() || category == "layer") j["every_layer"] = layer_wide();
  return j;
}

std::shared_ptr<const Kind> parse(std::string_view category, const Json &j) {
  if (j.is_null()) return nullptr;
  if (j.is_string()) return parse(category, Json{{"class_name", j}});
  if (!j.is_object()) expected("a name or {\"class_name\", \"config\"}", j);
  const Json *name = j.find("class_name");
  if (!name || !name->is_string()) expected(text("\"class_name\" with the name of the ", category), j);
  const Entry &e = find(category, name->get<std::string>());
  Json config = Json::object();
  int64_t version = e.version;
  for (const auto &[key, value] : j.items()) {
    if (key == "config")
      config = value;
    else if (key == "version")
      version = from_json<int64_t>(value);
    else if (key != "class_name" && key != "module" && key != "registered_name" && key != "build_config" &&
             key != "compile_config" && key != "shared_object_id")  // written by Keras
      fail(Code::invalid_argument, "unknown key \"", key, "\" beside \"class_name\" and \"config\"");
  }
  try {
    return e.make(upgraded(e, std::move(config), version));
  } catch (Error &error) {
    throw error.in(e.name);
  }
}

Json upgraded(const Entry &e, Json config, int64_t version) {
  if (version < 1) fail(Code::invalid_argument, "\"version\": expected at least 1, got ", version);
  if (version > e.version)
    fail(Code::version, e.category, ' ', e.name, " has version ", version, ", this library knows up to ", e.version);
  return version < e.version && e.upgrade ? e.upgrade(std::move(config), static_cast<int>(version)) : config;
}

Json to_json(const Kind *k) {
  if (!k) return nullptr;
  Json j{{"class_name", k->entry().name.view()}, {"config", k->config()}};
  if (k->entry().version > 1) j["version"] = k->entry().version;
  return j;
}

std::string Entry::keras() const { return text(keras_path, keras_path.view().ends_with('.') ? name : Words()); }

bool Entry::has_alias(std::string_view word) const {
  return !word.empty() && std::find(aliases.begin(), aliases.end(), word) != aliases.end();
}
std::vector<std::string> Entry::other_words() const {
  std::vector<std::string> list;
  for (const Words &alias : aliases)
    if (!alias.empty()) list.push_back(alias);
  return list;
}

std::shared_ptr<const Kind> Entry::make(const Json &config) const {
  std::shared_ptr<Kind> kind = fresh(*this);
  kind->entry_ = this;
  fields_of(*kind).read(config, true);
  kind->check();
  return kind;
}

Json Entry::describe() const {
  Json j{{"doc", doc.view()}, {"version", version}};
  if (const auto others = other_words(); !others.empty()) j["aliases"] = others;
  const std::unique_ptr<Kind> kind = fresh(*this);
  kind->entry_ = this;
  j["attributes"] = fields_of(*kind).describe();
  j.update(kind->more());
  const Signature *s = known_signature(category, name);
  if (Json names = other_names(*this, s); !names.empty()) j["names"] = std::move(names);
  // In Keras's order, including those not supported here; this library's own kinds use the order of their attributes.
  if (s) {
    j["positional"] = words(s->positional);
    if (!s->call.empty()) j["call_positional"] = words(s->call);
  } else {
    j["positional"] = Json::array();
    for (const Json &attribute : j["attributes"]) j["positional"].push_back(attribute["name"]);
  }
  return j;
}

Json Kind::config() const { return write_fields(*this); }

Json Kind::brief() const {
  const std::unique_ptr<Kind> other = entry_->fresh(*entry_);
  const Fields defaults = fields_of(*other);
  Json own = config();
  if (!defaults.any_required() && defaults.write() == own) return entry_->name.view();
  return {{"class_name", entry_->name.view()}, {"config", std::move(own)}};
}

}  // namespace dl4::kinds
