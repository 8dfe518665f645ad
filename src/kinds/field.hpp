// The list of a kind's fields: member, key, type, default, range and doc said once. Parsing, checking, printing, saving
// and the registry all come from it.
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "kinds/activation.hpp"
#include "kinds/kind.hpp"

namespace dl4::kinds {

// How a member's type reads and writes JSON. Each has type (its name), from (refuses with a phrase that says what was
// expected) and to.
template <class M>
struct Convert;

[[noreturn]] void expected(const std::string &what, const Json &got);
[[noreturn]] void expected_one_of(const std::vector<std::string> &words, const Json &got);

template <>
struct Convert<int64_t> {
  static constexpr const char *type = "i64";
  static int64_t from(const Json &j) {
    if (!j.is_int64()) expected("an integer", j);
    return j.get<int64_t>();
  }
  static Json to(int64_t v) { return v; }
};

template <>
struct Convert<double> {
  static constexpr const char *type = "f64";
  static double from(const Json &j) {
    if (!j.is_number()) expected("a number", j);
    double v = j.get<double>();
    if (!std::isfinite(v)) expected("a finite number", j);
    return v;
  }
  static Json to(double v) { return v; }
};

template <>
struct Convert<bool> {
  static constexpr const char *type = "bool";
  static bool from(const Json &j) {
    if (!j.is_boolean()) expected("true or false", j);
    return j.get<bool>();
  }
  static Json to(bool v) { return v; }
};

template <>
struct Convert<std::string> {
  static constexpr const char *type = "str";
  static std::string from(const Json &j) {
    if (!j.is_string()) expected("a string", j);
    return j.get<std::string>();
  }
  static Json to(const std::string &v) { return v; }
};

template <>
struct Convert<Activation> {
  static constexpr const char *type = "str";
  static constexpr const char *category = "activation";
  static Activation from(const Json &j) { return Activation::parse(j); }
  static Json to(const Activation &v) { return v.to_json(); }
};

template <class M>
struct Convert<std::vector<M>> {
  static inline const std::string type = std::string(Convert<M>::type) + "s";
  static std::vector<M> from(const Json &j) {
    if (!j.is_array()) return {Convert<M>::from(j)};
    std::vector<M> v;
    for (const Json &item : j) v.push_back(Convert<M>::from(item));
    return v;
  }
  static Json to(const std::vector<M> &v) {
    Json j = Json::array();
    for (const M &item : v) j.push_back(Convert<M>::to(item));
    return j;
  }
};

// Keras's "an integer or N integers".
template <size_t N>
struct Convert<std::array<int64_t, N>> {
  static constexpr const char *type = "i64s";
  static std::array<int64_t, N> from(const Json &j) {
    std::array<int64_t, N> v{};
    if (j.is_int64()) {
      v.fill(j.get<int64_t>());
    } else {
      if (!j.is_array() || j.size() != N) expected(text("an integer or ", N, " integers"), j);
      for (size_t i = 0; i < N; ++i) v[i] = Convert<int64_t>::from(j[i]);
    }
    return v;
  }
  static Json to(const std::array<int64_t, N> &v) {
    Json j = Json::array();
    for (int64_t item : v) j.push_back(item);
    return j;
  }
};

template <class M>
struct Convert<std::optional<M>> {
  static inline const std::string type = Convert<M>::type;
  static std::optional<M> from(const Json &j) {
    if (j.is_null()) return std::nullopt;
    return Convert<M>::from(j);
  }
  static Json to(const std::optional<M> &v) { return v ? Convert<M>::to(*v) : Json(nullptr); }
};

template <class C>
struct Convert<Of<C>> {
  static constexpr const char *type = "attrs";
  static constexpr const char *category = C::category;
  static Of<C> from(const Json &j) { return std::static_pointer_cast<const C>(parse(C::category, j)); }
  static Json to(const Of<C> &v) { return to_json(v.get()); }
};

template <class M>
struct Scalar {
  using type = M;
};
template <class M>
struct Scalar<std::optional<M>> : Scalar<M> {};
template <class M>
struct Scalar<std::vector<M>> : Scalar<M> {};
template <class M, size_t N>
struct Scalar<std::array<M, N>> : Scalar<M> {};

// Every number in v, one by one.
template <class M, class F>
void each_number(const M &v, F f) {
  if constexpr (std::is_arithmetic_v<M>)
    f(static_cast<double>(v));
  else if constexpr (requires { v.has_value(); }) {
    if (v) each_number(*v, f);
  } else if constexpr (requires { v.begin(); } && !std::is_same_v<M, std::string>) {
    for (const auto &item : v) each_number(item, f);
  }
}

template <class T, class M>
struct Field {
  M T::*member;
  FieldInfo info;

  Field required() && {
    info.required = true;
    return std::move(*this);
  }
  Field otherwise(Json v) && {
    info.fallback = std::move(v);
    return std::move(*this);
  }
  Field at_least(double v) && {
    info.minimum = limit(v);
    return std::move(*this);
  }
  Field at_most(double v) && {
    info.maximum = limit(v);
    return std::move(*this);
  }
  Field one_of(std::vector<std::string> words) && {
    info.choices = std::move(words);
    return std::move(*this);
  }
  Field doc(std::string words) && {
    info.doc = std::move(words);
    return std::move(*this);
  }

  // In the field's own numbers, as it is shown.
  static Json limit(double v) {
    if constexpr (std::is_same_v<typename Scalar<M>::type, int64_t>)
      return static_cast<int64_t>(v);
    else
      return v;
  }

  void read(T &object, const Json &j) const {
    object.*member = Convert<M>::from(j);
    if constexpr (std::is_same_v<M, std::string>) {
      bool known = info.choices.empty();
      for (const auto &word : info.choices) known |= word == object.*member;
      if (!known) expected_one_of(info.choices, j);
    }
    if constexpr (std::is_arithmetic_v<typename Scalar<M>::type> && !std::is_same_v<typename Scalar<M>::type, bool>) {
      each_number(object.*member, [&](double v) {
        if (!info.minimum.is_null() && v < info.minimum.get<double>()) expected("at least " + info.minimum.dump(), j);
        if (!info.maximum.is_null() && v > info.maximum.get<double>()) expected("at most " + info.maximum.dump(), j);
      });
    }
  }
};

// A field with its key; it must get required() or otherwise(default).
template <class T, class M>
Field<T, M> field(const char *key, M T::*member) {
  FieldInfo info;
  info.key = key;
  info.type = Convert<M>::type;
  if constexpr (requires { Convert<M>::category; }) info.category = Convert<M>::category;
  return {member, std::move(info)};
}

// Refuses a "name" that is neither a string nor null.
void need_name(const Json &name);
// `of_keras`: what Keras writes into the config of every kind may stand there too, such as `name`, and `dtype` when it
// says float32.
void refuse_unknown_keys(const Json &config, const std::vector<std::string> &keys, bool of_keras = false);
[[noreturn]] void refuse_missing(const std::string &key);

// Reads every field of T from `config`.
template <class T>
void read_fields(T &object, const Json &config, bool of_keras = false) {
  std::apply(
      [&](const auto &...f) {
        refuse_unknown_keys(config, {f.info.key...}, of_keras);
        [[maybe_unused]] auto read = [&](const auto &one) {
          const Json *given = config.find(one.info.key);
          if (!given && one.info.required) refuse_missing(one.info.key);
          try {
            one.read(object, given ? *given : one.info.fallback);
          } catch (Error &error) {
            error.with("attribute", one.info.key).in("\"" + one.info.key + "\"");
            throw;
          }
        };
        (read(f), ...);
      },
      T::fields());
}

template <class T>
Json write_fields(const T &object) {
  Json config = Json::object();
  std::apply(
      [&](const auto &...f) {
        [[maybe_unused]] auto write = [&]<class Base, class M>(const Field<Base, M> &one) {
          config[one.info.key] = Convert<M>::to(object.*(one.member));
        };
        (write(f), ...);
      },
      T::fields());
  return config;
}

// T with what the registry needs of it. T has category (from its base), name, doc, fields(), and may have aliases,
// version and upgrade, and check() for what one field alone can't tell.
template <class T>
class Registered final : public T {
 public:
  static const Entry &own_entry() {
    static const Entry entry = [] {
      Entry e;
      e.category = T::category;
      e.name = T::name;
      e.doc = T::doc;
      if constexpr (requires { T::version; }) e.version = T::version;
      if constexpr (requires { T::aliases; })
        for (const char *a : T::aliases) e.aliases.emplace_back(a);
      if constexpr (requires { T::upgrade(Json(), 1); }) e.upgrade = T::upgrade;
      if constexpr (requires { T::more(); }) e.more = T::more();
      std::apply([&](const auto &...f) { (e.fields.push_back(f.info), ...); }, T::fields());
      e.make = [](const Json &config) -> std::shared_ptr<const Kind> {
        auto kind = std::make_shared<Registered>();
        read_fields<T>(*kind, config, true);
        if constexpr (requires { kind->check(); }) kind->check();
        return kind;
      };
      return e;
    }();
    return entry;
  }
  const Entry &entry() const override { return own_entry(); }
  Json config() const override { return write_fields<T>(*this); }
};

// Ends the file of a kind; its line in list.hpp names the same function.
#define DL4_KIND(T) \
  const ::dl4::kinds::Entry &entry_of_##T() { return ::dl4::kinds::Registered<T>::own_entry(); }

}  // namespace dl4::kinds
