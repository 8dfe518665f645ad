// The fields of an object, declared once with key, place, range and documentation. Parsing, checking, printing, saving
// and the registry use this list.
#pragma once

#include <limits>
#include <map>

#include "base/shape.hpp"
#include "kinds/kind.hpp"

namespace dl4::kinds {

// A number, or nested lists of numbers, like a NumPy array.
struct NestedNumbers {
  Shape shape;
  std::vector<double> values;
};

// Usually a number, else numbers that broadcast.
struct Filling : NestedNumbers {};

// Conversion of a type from and to JSON.
struct Conversion {
  const char *type;                      // its name
  const char *category;                  // of a nested kind, else nullptr
  void (*read)(const Json &, void *to);  // refuses with a phrase that says what was expected
  Json (*write)(const void *from);
};
// Defined for bool, int32_t, int64_t, double, std::string, Activation, Of<category>, InnerLayer, Numbers and lists of
// some; std::optional also accepts null (conversions.cpp).
template <class M>
const Conversion &conversion();

template <class M>
M from_json(const Json &j) {
  M v{};
  conversion<M>().read(j, &v);
  return v;
}

// Keras's dictionary of numbers.
using Numbers = std::map<std::string, double>;

// Refuses an attribute: "key": why.
[[noreturn]] void refuse_by(Code code, std::string_view key, const std::string &why);
template <class... A>
[[noreturn]] void refuse_attribute(std::string_view key, const A &...why) {
  refuse_by(Code::invalid_argument, key, text(why...));
}
template <class... A>
[[noreturn]] void unsupported_attribute(std::string_view key, const A &...why) {
  refuse_by(Code::unsupported, key, text(why...));
}

[[noreturn]] void expected(std::string_view what, const Json &got);
[[noreturn]] void expected_one_of(const std::vector<std::string> &words, const Json &got);

class Field {
 public:
  Field(const char *key, void *place, const Conversion &conversion, const char *doc)
      : key_(key), place_(place), as_(&conversion), doc_(doc) {}

  // There is no default. The example, a valid value in JSON, is for readers of the registry.
  Field &required(std::string_view example = {}) {
    required_ = true;
    return this->example(example);
  }
  // For a minimal config: a value that makes the kind do more than its default.
  Field &example(std::string_view json) {
    example_ = json;
    return *this;
  }
  Field &at_least(double v) {
    least_ = v;
    return *this;
  }
  Field &at_most(double v) {
    most_ = v;
    return *this;
  }
  Field &within(double least, double most) { return at_least(least).at_most(most); }
  // For enums: the value that null means. It is written as null if it has no word.
  template <class E>
  Field &null_means(E v) {
    null_ = static_cast<int>(v);
    return *this;
  }
  // For enums: Keras has more words than those.
  Field &among_others() {
    among_others_ = true;
    return *this;
  }
  // Keras accepts other values; this library refuses them.
  Field &default_only() {
    default_only_ = true;
    return *this;
  }

 private:
  friend class Fields;

  Json limit(double v) const;
  void read(const Json &j) const;
  void convert(const Json &j) const;
  void convert_choice(const Json &j) const;
  void check_range(const Json &j) const;
  Json write() const;
  Json describe() const;

  const char *key_;
  void *place_;
  const Conversion *as_;
  const char *doc_;
  std::string_view example_{};
  bool required_ = false, among_others_ = false, default_only_ = false;
  double least_ = -std::numeric_limits<double>::infinity(), most_ = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices_{};
  int null_ = -1;
};

// The fields of an object, which must outlive this list.
class Fields {
 public:
  template <class M>
  Field &operator()(const char *key, M &place, const char *doc) {
    return add(key, &place, conversion<M>(), doc);
  }
  // An enum; its words are those of E's enumerators, from 0.
  template <class E>
  requires std::is_enum_v<E> Field &operator()(const char *key, E &place, std::initializer_list<const char *> words,
                                               const char *doc) {
    return (*this)(key, place, std::span(words.begin(), words.size()), doc);
  }
  template <class E>
  requires std::is_enum_v<E> Field &operator()(const char *key, E &place, std::span<const char *const> words,
                                               const char *doc) {
    static_assert(std::is_same_v<std::underlying_type_t<E>, int>);
    return choice(key, &place, words, doc);
  }
  void drop(const std::string &key);

  // Reads into the places. `of_keras` also accepts what Keras writes into the config of every kind, such as `name`, and
  // `dtype` if it is float32.
  void read(const Json &config, bool of_keras = false) const;
  Json write() const;
  Json describe() const;  // as a list; the current values of the places are the defaults
  bool any_required() const;

 private:
  Field &add(const char *key, void *place, const Conversion &conversion, const char *doc);
  Field &choice(const char *key, void *place, std::span<const char *const> words, const char *doc);
  std::vector<std::string> keys() const;

  std::vector<Field> list_;
};

// The fields of a T with fields(Fields &), which only takes addresses.
template <class T>
Fields fields_of(const T &object) {
  Fields f;
  const_cast<T &>(object).fields(f);
  return f;
}
template <class T>
void read_fields(T &object, const Json &config) {
  fields_of(object).read(config);
}
// The fields of a default T, as the registry lists attributes.
template <class T>
Json describe_fields() {
  T object;
  return fields_of(object).describe();
}
template <class T>
Json write_fields(const T &object) {
  return fields_of(object).write();
}

// Refuses a "name" that is neither a string nor null, or that contains NUL.
void need_name(const Json &name);
// Whether a layer's "dtype" is that policy, by name or as Keras writes policies.
inline constexpr const char *mixed_bfloat16 = "mixed_bfloat16";
bool is_mixed_bfloat16(const Json &dtype);
void refuse_unknown_keys(const Json &config, const std::vector<std::string> &keys, bool of_keras = false);

}  // namespace dl4::kinds
