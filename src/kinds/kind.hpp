// What is registered: a kind of layer, loss, metric, optimizer, ... by name.
#pragma once

#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace dl4::kinds {

class Fields;
class Kind;

template <class C>
using Of = std::shared_ptr<const C>;

// Words in the program's text, or a copy that is kept as long as the process: so lists of them are plain data.
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

// One registered kind, a constant. The rows of a table of kinds derive from it, with columns of their own.
struct Entry {
  Words category, name, doc;
  std::unique_ptr<Kind> (*fresh)(const Entry &self);  // one with its defaults
  std::array<Words, 2> aliases{};                     // those of them that are not ""
  int version = 1;
  // A config of an older version, brought up to this one; nullptr: as it is.
  Json (*upgrade)(Json config, int from) = nullptr;
  // Of an operation of keras.ops its module behind keras.src.ops and its class, "numpy.Add", or "numpy." where that is
  // the kind's name; of a class that is not in the module of its category its path.
  Words keras_path{};
  Words onnx{};  // the op of ONNX that computes the same, without attributes

  std::string keras() const;                     // the whole of it
  std::vector<std::string> other_words() const;  // its aliases
  bool has_alias(std::string_view word) const;   // "" is none

  // From Keras's config; refuses unknown keys, wrong types and ranges, naming the key.
  std::shared_ptr<const Kind> make(const Json &config) const;
  // {"doc", "version", "attributes", ...}, as the registry serves it.
  Json describe() const;
};

class Kind {
 public:
  virtual ~Kind() = default;
  // Tells every field: key, place, range and doc. What the places of a fresh one hold are the defaults.
  virtual void fields(Fields &) {}
  // Comes after the fields are read: refuses what no field alone can tell.
  virtual void check() {}
  // What the category adds for readers of the registry.
  virtual Json more() const { return Json::object(); }

  const Entry &entry() const { return *entry_; }  // of one that make() made
  Json config() const;                            // every field, defaults included
  // The name where every field has its default; else {"class_name", "config"}.
  Json brief() const;

 private:
  friend Entry;
  const Entry *entry_ = nullptr;
};

// Built-in kinds of a category in the order of the list; refuses an unknown category.
const std::vector<const Entry *> &entries(std::string_view category);
const std::vector<std::string> &categories();
// By class name or alias, without regard to case and underscores; refuses with UNSUPPORTED what only Keras has, else
// with UNKNOWN_KIND and the nearest name.
const Entry &find(std::string_view category, std::string_view name);
// {category: {name: {"doc", "version", "attributes", ...}}}; empty strings mean all. Beside the layers stands
// "every_layer": what each of them takes beside its own.
Json describe(const std::string &category, const std::string &name);

// Keeps an entry for the life of the process, for what was made of it refers to it.
const Entry &kept(std::unique_ptr<const Entry> e);
// find() knows these from now on, each in place of one that was added under its name before. Refuses the name of a
// built-in kind, and adds none then.
void add(const std::vector<const Entry *> &kept);

// A nested kind as Keras writes it: null, a name, or {"class_name", "config"}.
std::shared_ptr<const Kind> parse(std::string_view category, const Json &j);
template <class C>
Of<C> parse(const Json &j) {
  return std::static_pointer_cast<const C>(parse(C::category, j));
}
// {"class_name", "config"}, or null.
Json to_json(const Kind *k);
// A config that was written at `version`, as this library has it. Refuses one that is newer (VERSION).
Json upgraded(const Entry &e, Json config, int64_t version);

// ---- for the files of kinds ----------------------------------------------------------------------------------------

// Entry::fresh of T; where T is of a table, from the row.
template <class T>
std::unique_ptr<Kind> fresh([[maybe_unused]] const Entry &self) {
  if constexpr (requires { typename T::Row; })
    return std::make_unique<T>(static_cast<const typename T::Row &>(self));
  else
    return std::make_unique<T>();
}

// The entry of T, which has category (from its base), name, doc, and may have aliases, version and upgrade.
template <class T>
constexpr Entry entry_for() {
  Entry e{T::category, T::name, T::doc, fresh<T>};
  if constexpr (requires { T::aliases; })
    for (size_t i = 0; i < std::size(T::aliases); ++i) e.aliases[i] = T::aliases[i];
  if constexpr (requires { T::version; }) e.version = T::version;
  if constexpr (requires { T::upgrade(Json(), 1); }) e.upgrade = T::upgrade;
  if constexpr (requires { T::keras; }) e.keras_path = T::keras;
  return e;
}

using Entries = std::vector<const Entry *>;
void list(Entries &all, const Entry &entry);

// Ends the file of a kind; its line in list.hpp names the same function.
#define DL4_KIND(T)                                                            \
  void list_##T(::dl4::kinds::Entries &all) {                                  \
    static constexpr ::dl4::kinds::Entry entry = ::dl4::kinds::entry_for<T>(); \
    ::dl4::kinds::list(all, entry);                                            \
  }
// The same for a table of constants.
#define DL4_KINDS(table, rows)                                 \
  void list_##table(::dl4::kinds::Entries &all) {              \
    for (const auto &row : rows) ::dl4::kinds::list(all, row); \
  }

}  // namespace dl4::kinds
