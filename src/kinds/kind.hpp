// Registered kinds: layers, losses, metrics, optimizers and so on, by name.
#pragma once

#include <iterator>

#include "base/json.hpp"

namespace dl4::kinds {

class Fields;
class Kind;

template <class C>
using Of = std::shared_ptr<const C>;

// Static strings, or copies that live as long as the process, so that lists of them are plain data.
class Words {
 public:
  constexpr Words(const char *literal = "") : chars_(literal) {}
  Words(const std::string &made);

  constexpr std::string_view view() const { return chars_; }
  constexpr bool empty() const { return *chars_ == 0; }
  operator std::string_view() const { return chars_; }
  const char *c_str() const { return chars_; }
  operator std::string() const { return chars_; }
  friend bool operator==(const Words &a, std::string_view b) { return a.view() == b; }

 private:
  const char *chars_;
};
std::string to_string(const Words &words);

// A registered kind, constant. Rows of tables derive from it and add columns.
struct Entry {
  Words category, name, doc;
  std::unique_ptr<Kind> (*fresh)(const Entry &self);  // makes one with default attributes
  std::array<Words, 2> aliases{};                     // unused ones are ""
  int version = 1;
  // Converts the config of an older version; nullptr: unchanged.
  Json (*upgrade)(Json config, int from) = nullptr;
  // For an operation of keras.ops: its module below keras.src.ops and its class, "numpy.Add", or "numpy." if the class
  // is the kind's name. For a class outside its category's module: its path.
  Words keras_path{};
  Words onnx{};  // the equivalent op of ONNX without attributes

  std::string keras() const;                     // the full path
  std::vector<std::string> other_words() const;  // aliases
  bool has_alias(std::string_view word) const;   // "" is no alias

  // From Keras's config; refuses unknown keys, wrong types and values out of range, naming the key.
  std::shared_ptr<const Kind> make(const Json &config) const;
  // {"doc", "version", "attributes", ...}, as in the registry's JSON.
  Json describe() const;
};

class Kind {
 public:
  virtual ~Kind() = default;
  // Declares every field: key, place, range and documentation. The values of a default object are the defaults.
  virtual void fields(Fields &) {}
  // Called after the fields are read: checks that involve several fields.
  virtual void check() {}
  // Additional registry information of the category.
  virtual Json more() const { return Json::object(); }

  const Entry &entry() const { return *entry_; }  // for objects made by make()
  Json config() const;                            // all fields, including defaults
  // The name if every field has its default, else {"class_name", "config"}.
  Json brief() const;

 private:
  friend Entry;
  const Entry *entry_ = nullptr;
};

// A category's built-in kinds in list order; refuses unknown categories.
const std::vector<const Entry *> &entries(std::string_view category);
const std::vector<std::string> &categories();
// By class name or alias, ignoring case and underscores. Refuses what only Keras has with UNSUPPORTED, other names with
// UNKNOWN_KIND and the nearest name.
const Entry &find(std::string_view category, std::string_view name);
// {category: {name: {"doc", "version", "attributes", ...}}}; empty strings mean all. The category of layers also has
// "every_layer": attributes that all layers take.
Json describe(const std::string &category, const std::string &name);

// Keeps an entry for the life of the process, since objects made of it refer to it.
const Entry &kept(std::unique_ptr<const Entry> e);
// Registers the entries, replacing added ones of the same names. Refuses names of built-in kinds, and then adds none.
void add(const std::vector<const Entry *> &kept);

// A nested kind in Keras's format: null, a name, or {"class_name", "config"}.
std::shared_ptr<const Kind> parse(std::string_view category, const Json &j);
template <class C>
Of<C> parse(const Json &j) {
  return std::static_pointer_cast<const C>(parse(C::category, j));
}
// {"class_name", "config"}, or null.
Json to_json(const Kind *k);
// Converts a config written at `version` to the current one. Refuses newer versions (VERSION).
Json upgraded(const Entry &e, Json config, int64_t version);

// ---- for implementations of kinds ---------------------------------------------------------------------------------

// Entry::fresh for T; for a T with a table, initialised from its row.
template <class T>
std::unique_ptr<Kind> fresh([[maybe_unused]] const Entry &self) {
  if constexpr (requires { typename T::Row; })
    return std::make_unique<T>(static_cast<const typename T::Row &>(self));
  else
    return std::make_unique<T>();
}

// The entry of T, which has category (from its base), doc, and optionally another name than its class, aliases, version
// and upgrade.
template <class T>
Entry entry_for(std::string_view class_name) {
  Entry e{T::category, std::string(class_name), T::doc, fresh<T>};
  if constexpr (requires { T::name; }) e.name = T::name;
  if constexpr (requires { T::aliases; })
    for (size_t i = 0; i < std::size(T::aliases); ++i) e.aliases[i] = T::aliases[i];
  if constexpr (requires { T::version; }) e.version = T::version;
  if constexpr (requires { T::upgrade(Json(), 1); }) e.upgrade = T::upgrade;
  if constexpr (requires { T::keras; }) e.keras_path = T::keras;
  return e;
}

// The entry of a row of T's table.
template <class T>
constexpr Entry row_of(Words name, Words doc, Words alias = "", Words keras_path = "", Words onnx = "") {
  return {T::category, name, doc, fresh<T>, {alias}, 1, nullptr, keras_path, onnx};
}

using Entries = std::vector<const Entry *>;
void list(Entries &all, const Entry &entry);
// The metric that is the mean of a loss (metric.hpp).
void list_mean(Entries &all, const Entry &loss);
// Removes the first of "A, B, C" and returns it.
std::string_view cut_name(std::string_view &names);

template <class T>
void list(Entries &all, std::string_view class_name) {
  static const Entry entry = entry_for<T>(class_name);
  list(all, entry);
  if constexpr (requires { T::has_mean; })
    if (T::has_mean) list_mean(all, entry);
}
template <class... Tables>
void list_rows(Entries &all, const Tables &...tables) {
  const auto rows = [&](const auto &table) {
    for (const auto &row : table) list(all, row);
  };
  (rows(tables), ...);
}
template <class... T>
void list_all(Entries &all, std::string_view class_names) {
  (list<T>(all, cut_name(class_names)), ...);
}

// Ends a file of kinds, the line of which in list.hpp names the same function.
#define DL4_KINDS(file, ...) \
  void list_##file(::dl4::kinds::Entries &all) { ::dl4::kinds::list_all<__VA_ARGS__>(all, #__VA_ARGS__); }
// The same for tables of rows.
#define DL4_TABLE(table, ...) \
  void list_##table(::dl4::kinds::Entries &all) { ::dl4::kinds::list_rows(all, __VA_ARGS__); }

}  // namespace dl4::kinds
