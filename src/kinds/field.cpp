// How fields read and write JSON, and what they refuse, in the user's words.
#include "kinds/field.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <variant>

#include "base/error.hpp"
#include "kinds/activation.hpp"
#include "kinds/callback.hpp"
#include "kinds/constraint.hpp"
#include "kinds/initializer.hpp"
#include "kinds/inner_layer.hpp"
#include "kinds/loss.hpp"
#include "kinds/metric.hpp"
#include "kinds/nested_numbers.hpp"
#include "kinds/optimizer.hpp"
#include "kinds/regularizer.hpp"
#include "kinds/schedule.hpp"

namespace dl4::kinds {
namespace {

// Each has type, from (refuses with a phrase that says what was expected) and to; types is the name of a list of them.
template <class M>
struct Convert;

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
struct Convert<int64_t> {
  static constexpr const char *type = "i64", *types = "i64s";
  static int64_t from(const Json &j) {
    if (!j.is_int64()) expected("an integer", j);
    return j.get<int64_t>();
  }
  static Json to(int64_t v) { return v; }
};

template <>
struct Convert<int32_t> {
  static constexpr const char *type = "i64";
  static int32_t from(const Json &j) {
    int64_t v = Convert<int64_t>::from(j);
    if (v < INT32_MIN || v > INT32_MAX) expected(text("an integer of ", INT32_MIN, " to ", INT32_MAX), j);
    return static_cast<int32_t>(v);
  }
  static Json to(int32_t v) { return v; }
};

template <>
struct Convert<double> {
  static constexpr const char *type = "f64", *types = "f64s";
  static double from(const Json &j) {
    if (!j.is_number()) expected("a number", j);
    double v = j.get<double>();
    if (!std::isfinite(v)) expected("a finite number", j);
    return v;
  }
  static Json to(double v) { return v; }
};

template <>
struct Convert<std::string> {
  static constexpr const char *type = "str", *types = "strs";
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
struct Convert<std::optional<M>> : Convert<M> {
  static std::optional<M> from(const Json &j) {
    if (j.is_null()) return std::nullopt;
    return Convert<M>::from(j);
  }
  static Json to(const std::optional<M> &v) { return v ? Convert<M>::to(*v) : Json(nullptr); }
};

template <class M>
struct Convert<std::vector<M>> {
  static constexpr const char *type = Convert<M>::types;
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

// One index or a list of them, told apart.
template <>
struct Convert<std::variant<int64_t, std::vector<int64_t>>> {
  using Value = std::variant<int64_t, std::vector<int64_t>>;
  static constexpr const char *type = "i64s";
  static Value from(const Json &j) {
    if (j.is_int64()) return j.get<int64_t>();
    return Convert<std::vector<int64_t>>::from(j);
  }
  static Json to(const Value &v) {
    if (auto *list = std::get_if<1>(&v)) return Convert<std::vector<int64_t>>::to(*list);
    return std::get<0>(v);
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
  static Json to(const std::array<int64_t, N> &v) { return v; }
};

template <>
struct Convert<Numbers> {
  static constexpr const char *type = "attrs";
  static Numbers from(const Json &j) {
    if (!j.is_object()) expected("numbers by key", j);
    Numbers v;
    for (const auto &[key, number] : j.items())
      if (!number.is_null()) v[std::string(key)] = Convert<double>::from(number);
    return v;
  }
  static Json to(const Numbers &v) {
    Json j = Json::object();
    for (const auto &[key, number] : v) j[key] = number;
    return j;
  }
};

template <>
struct Convert<NestedNumbers> {
  static constexpr const char *type = "f64s";
  static NestedNumbers from(const Json &j) {
    NestedNumbers v;
    std::vector<int64_t> dims;
    const Json *first = &j;
    for (; first->is_array() && dims.size() < max_rank; first = &(*first)[0]) {
      dims.push_back(static_cast<int64_t>(first->size()));
      if (first->empty()) break;
    }
    v.shape = Shape(dims);
    append(j, v, 0);
    return v;
  }
  static Json to(const NestedNumbers &v) {
    size_t at = 0;
    return nested(v, 0, at);
  }

 private:
  static void append(const Json &j, NestedNumbers &v, int axis) {
    if (axis == v.shape.rank()) return v.values.push_back(Convert<double>::from(j));
    if (!j.is_array() || static_cast<int64_t>(j.size()) != v.shape[axis]) expected("lists of equal lengths", j);
    for (const Json &item : j) append(item, v, axis + 1);
  }
  static Json nested(const NestedNumbers &v, int axis, size_t &at) {
    if (axis == v.shape.rank()) return v.values[at++];
    Json j = Json::array();
    for (int64_t i = 0; i < v.shape[axis]; ++i) j.push_back(nested(v, axis + 1, at));
    return j;
  }
};

// Keras's "an integer, N integers or N pairs": before and after along each axis; of one axis the pair itself.
template <size_t N>
struct Convert<std::array<std::array<int64_t, 2>, N>> {
  static constexpr const char *type = "i64s";
  using Pair = Convert<std::array<int64_t, 2>>;
  static std::array<std::array<int64_t, 2>, N> from(const Json &j) {
    std::array<std::array<int64_t, 2>, N> v{};
    if (N == 1 || j.is_int64()) {
      v.fill(Pair::from(j));
    } else {
      if (!j.is_array() || j.size() != N) expected(text("an integer, ", N, " integers or ", N, " pairs of them"), j);
      for (size_t i = 0; i < N; ++i) v[i] = Pair::from(j[i]);
    }
    return v;
  }
  static Json to(const std::array<std::array<int64_t, 2>, N> &v) {
    if (N == 1) return Pair::to(v[0]);
    Json j = Json::array();
    for (const auto &pair : v) j.push_back(Pair::to(pair));
    return j;
  }
};

template <class C>
struct Convert<Of<C>> {
  static constexpr const char *type = "attrs";
  static constexpr const char *category = C::category;
  static Of<C> from(const Json &j) { return parse<C>(j); }
  static Json to(const Of<C> &v) { return to_json(v.get()); }
};

// As a trainer takes it: "accuracy" chooses by the shapes.
template <>
struct Convert<Of<Metric>> {
  static constexpr const char *type = "attrs";
  static constexpr const char *category = Metric::category;
  static Of<Metric> from(const Json &j) { return metric_for(j); }
  static Json to(const Of<Metric> &v) { return to_json(v.get()); }
};

template <>
struct Convert<Json> {
  static constexpr const char *type = "json";
  static Json from(const Json &j) { return j; }
  static Json to(const Json &v) { return v; }
};

template <>
struct Convert<InnerLayer> {
  static constexpr const char *type = "layer";
  static constexpr const char *category = Layer::category;
  static InnerLayer from(const Json &j) { return InnerLayer::parse(j); }
  static Json to(const InnerLayer &v) { return v.to_json(); }
};

// Of different names.
template <>
struct Convert<std::vector<InnerLayer>> {
  static constexpr const char *type = "layers";
  static constexpr const char *category = Layer::category;
  static std::vector<InnerLayer> from(const Json &j) {
    if (!j.is_array()) expected("a list of layers", j);
    std::vector<InnerLayer> list;
    for (const Json &item : j) {
      list.push_back(InnerLayer::parse(item));
      if (!list.back()) expected("a layer", item);
    }
    number_names(list);
    return list;
  }
  static Json to(const std::vector<InnerLayer> &list) {
    Json j = Json::array();
    for (const InnerLayer &layer : list) j.push_back(layer.to_json());
    return j;
  }
};

// A list of kinds.
template <class C>
struct Convert<std::vector<Of<C>>> {
  static constexpr const char *type = "attrss";
  static constexpr const char *category = C::category;
  static std::vector<Of<C>> from(const Json &j) {
    if (!j.is_array() && !j.is_null()) expected("a list", j);
    std::vector<Of<C>> v;
    for (const Json &item : j) {
      v.push_back(parse<C>(item));
      if (!v.back()) expected(text("a ", C::category), item);
    }
    return v;
  }
  static Json to(const std::vector<Of<C>> &v) {
    Json j = Json::array();
    for (const Of<C> &item : v) j.push_back(to_json(item.get()));
    return j;
  }
};

// Keras's "epoch" is null.
template <>
struct Convert<SaveEvery> {
  static constexpr const char *type = "i64";
  static SaveEvery from(const Json &j) {
    if (j.is_null() || j == "epoch") return {};
    if (!j.is_int64() || j.get<int64_t>() < 1) expected("\"epoch\" or a number of batches of at least 1", j);
    return {j.get<int64_t>()};
  }
  static Json to(const SaveEvery &v) { return v.batches ? Json(v.batches) : Json(); }
};

// A number or a schedule.
template <>
struct Convert<Rate> {
  static constexpr const char *type = "f64";
  static constexpr const char *category = Schedule::category;
  static Rate from(const Json &j) {
    if (j.is_number()) return {Convert<double>::from(j)};
    if (!j.is_object()) expected("a number or a schedule", j);
    return {0, parse<Schedule>(j)};
  }
  static Json to(const Rate &v) { return v.schedule ? to_json(v.schedule.get()) : Json(v.value); }
};

constexpr Conversion choice_conversion{"str", nullptr, nullptr, nullptr};

// Keras writes a dtype as its name or as a policy of that name.
bool is_float32(const Json &j) {
  if (j.is_null() || j == "float32") return true;
  const Json *config = j.find("config"), *name = config ? config->find("name") : nullptr;
  return name && *name == "float32";
}

[[noreturn]] void refuse_missing(const std::string &key) {
  throw Error(Code::invalid_argument, text("attribute \"", key, "\" is missing")).with("attribute", key);
}

// f of every number in j.
template <class F>
void each_number(const Json &j, F f) {
  if (j.is_number()) f(j.get<double>());
  for (const Json &item : j) each_number(item, f);
}

// A default as short as one would write it: a kind by its name, a list of equal numbers as one of them.
Json in_short(const char *category, const Json &v) {
  if (category && v.is_object()) return parse(category, v)->brief();
  bool equal = v.is_array() && !v.empty();
  for (const Json &item : v) equal = equal && item == v[0];
  return equal ? v[0] : v;
}

}  // namespace

template <class M>
const Conversion &conversion() {
  constexpr auto category = [] {
    if constexpr (requires { Convert<M>::category; })
      return Convert<M>::category;
    else
      return nullptr;
  };
  static constexpr Conversion c{
      Convert<M>::type,
      category(),
      [](const Json &j, void *to) { *static_cast<M *>(to) = Convert<M>::from(j); },
      [](const void *from) { return Convert<M>::to(*static_cast<const M *>(from)); },
  };
  return c;
}

template const Conversion &conversion<bool>();
template const Conversion &conversion<int32_t>();
template const Conversion &conversion<int64_t>();
template const Conversion &conversion<double>();
template const Conversion &conversion<std::string>();
template const Conversion &conversion<std::optional<int64_t>>();
template const Conversion &conversion<std::optional<double>>();
template const Conversion &conversion<std::optional<std::string>>();
template const Conversion &conversion<std::vector<int64_t>>();
template const Conversion &conversion<std::vector<double>>();
template const Conversion &conversion<std::optional<std::vector<double>>>();
template const Conversion &conversion<std::vector<std::string>>();
template const Conversion &conversion<std::optional<std::vector<int64_t>>>();
template const Conversion &conversion<std::optional<std::vector<std::optional<int64_t>>>>();
template const Conversion &conversion<std::array<int64_t, 1>>();
template const Conversion &conversion<std::array<int64_t, 2>>();
template const Conversion &conversion<std::array<int64_t, 3>>();
template const Conversion &conversion<std::optional<std::array<int64_t, 1>>>();
template const Conversion &conversion<std::optional<std::array<int64_t, 2>>>();
template const Conversion &conversion<std::optional<std::array<int64_t, 3>>>();
template const Conversion &conversion<std::array<std::array<int64_t, 2>, 1>>();
template const Conversion &conversion<std::array<std::array<int64_t, 2>, 2>>();
template const Conversion &conversion<std::array<std::array<int64_t, 2>, 3>>();
template const Conversion &conversion<std::optional<std::variant<int64_t, std::vector<int64_t>>>>();
template const Conversion &conversion<std::vector<std::optional<int64_t>>>();
template const Conversion &conversion<Activation>();
template const Conversion &conversion<Rate>();
template const Conversion &conversion<Of<Schedule>>();
template const Conversion &conversion<std::vector<Of<Callback>>>();
template const Conversion &conversion<SaveEvery>();
template const Conversion &conversion<Of<Initializer>>();
template const Conversion &conversion<Of<Regularizer>>();
template const Conversion &conversion<Of<Constraint>>();
template const Conversion &conversion<Of<Optimizer>>();
template const Conversion &conversion<Of<Loss>>();
template const Conversion &conversion<Of<Metric>>();
template const Conversion &conversion<std::optional<bool>>();
template const Conversion &conversion<Json>();
template const Conversion &conversion<InnerLayer>();
template const Conversion &conversion<std::vector<InnerLayer>>();
template const Conversion &conversion<std::optional<Numbers>>();
template const Conversion &conversion<std::optional<NestedNumbers>>();

void expected(const std::string &what, const Json &got) {
  fail(Code::invalid_argument, "expected ", what, ", got ", got.shown());
}

void expected_one_of(const std::vector<std::string> &words, const Json &got) {
  std::string list;
  for (const auto &word : words) list += (list.empty() ? "\"" : ", \"") + word + '"';
  Error error(Code::invalid_argument, text("expected one of ", list, ", got ", got.shown()));
  if (got.is_string()) error.suggest(got.get<std::string>(), words);
  throw error;
}

// In the field's own numbers, as it is shown.
Json Field::limit(double v) const {
  if (as_->type[0] == 'i') return static_cast<int64_t>(v);
  return v;
}

void Field::read(const Json &j) const {
  const Json supported = default_only_ ? write() : Json();
  convert(j);
  if (default_only_ && !(write() == supported))
    fail(Code::unsupported, "only ", supported.dump(), " is supported, got ", j.shown());
}

void Field::convert(const Json &j) const {
  if (as_ == &choice_conversion) return convert_choice(j);
  as_->read(j, place_);
  // A kind in the place of a number sees to its own.
  if ((least_ > -HUGE_VAL || most_ < HUGE_VAL) && !(as_->category && j.is_object())) check_range(j);
}

void Field::convert_choice(const Json &j) const {
  auto it = choices_.begin();
  while (it != choices_.end() && !(j == *it)) ++it;
  int v = static_cast<int>(it - choices_.begin());
  if (j.is_null() && null_ >= 0)
    v = null_;
  else if (it == choices_.end() && among_others_ && j.is_string())
    throw Error(Code::unsupported, text(j.shown(), " is not supported"));
  else if (it == choices_.end())
    expected_one_of(choices_, j);
  std::memcpy(place_, &v, sizeof v);
}

void Field::check_range(const Json &j) const {
  each_number(as_->write(place_), [&](double v) {
    if (v < least_) expected("at least " + limit(least_).dump(), j);
    if (v > most_) expected("at most " + limit(most_).dump(), j);
  });
}

Json Field::write() const {
  if (as_ != &choice_conversion) return as_->write(place_);
  int v = 0;
  std::memcpy(&v, place_, sizeof v);
  if (static_cast<size_t>(v) >= choices_.size()) return nullptr;
  return choices_[static_cast<size_t>(v)];
}

Json Field::describe() const {
  Json j{{"name", key_}, {"type", as_->type}, {"required", required_}};
  if (!required_) j["default"] = in_short(as_->category, write());
  if (least_ > -HUGE_VAL) j["min"] = limit(least_);
  if (most_ < HUGE_VAL) j["max"] = limit(most_);
  if (!choices_.empty()) j["enum"] = choices_;
  if (as_->category) j["category"] = as_->category;
  if (default_only_) j["default_only"] = true;
  j["doc"] = doc_;
  return j;
}

Field &Fields::choice(const char *key, void *place, std::initializer_list<const char *> words) {
  Field &f = list_.emplace_back(key, place, choice_conversion);
  f.choices_.assign(words.begin(), words.end());
  return f;
}

void Fields::drop(const std::string &key) {
  std::erase_if(list_, [&](const Field &f) { return f.key_ == key; });
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> all;
  for (const Field &f : list_) all.emplace_back(f.key_);
  return all;
}

void Fields::read(const Json &config, bool of_keras) const {
  refuse_unknown_keys(config, keys(), of_keras);
  for (const Field &f : list_) {
    const Json *given = config.find(f.key_);
    if (!given && f.required_) refuse_missing(f.key_);
    if (!given) continue;
    try {
      f.read(*given);
    } catch (Error &error) {
      error.with("attribute", f.key_).in(text('"', f.key_, '"'));
      throw;
    }
  }
}

Json Fields::write() const {
  Json config = Json::object();
  for (const Field &f : list_) config[f.key_] = f.write();
  return config;
}

Json Fields::describe() const {
  Json list = Json::array();
  for (const Field &f : list_) list.push_back(f.describe());
  return list;
}

bool Fields::any_required() const {
  return std::any_of(list_.begin(), list_.end(), [](const Field &f) { return f.required_; });
}

void need_name(const Json &name) {
  if (!name.is_string() && !name.is_null())
    throw Error(Code::invalid_argument, text("\"name\": expected a string, got ", name.shown()))
        .with("attribute", "name");
}

void refuse_unknown_keys(const Json &config, const std::vector<std::string> &keys, bool of_keras) {
  if (config.is_null()) return;
  if (!config.is_object()) expected("an object of attributes", config);
  for (const auto &[key, value] : config.items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    if (of_keras && key == "name") {
      need_name(value);
      continue;
    }
    if (of_keras && key == "dtype") {
      if (is_float32(value)) continue;
      throw Error(Code::unsupported, text("\"dtype\": only float32 is supported, got ", value.shown()))
          .with("attribute", std::string(key));
    }
    // Keras writes them for every Dense and Embedding; null means that they are not used.
    if (of_keras && value.is_null() && (key == "quantization_config" || key == "lora_rank" || key == "lora_alpha"))
      continue;
    throw Error(Code::invalid_argument, text("unknown attribute \"", key, '"'))
        .with("attribute", std::string(key))
        .suggest(std::string(key), keys);
  }
}

}  // namespace dl4::kinds
