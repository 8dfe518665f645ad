// Conversion of each field type from and to JSON.

#include <cmath>
#include <variant>

#include "kinds/layer.hpp"
#include "kinds/loss.hpp"
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

// Each has type, from (refuses with a phrase that says what was expected) and to. types: the name for a list of them.
template <class M>
struct Convert;

template <class List>
Json json_of(const List &list) {
  Json j = Json::array();
  for (const auto &item : list) j.push_back(Convert<typename List::value_type>::to(item));
  return j;
}

template <>
struct Convert<bool> {
  static constexpr const char *type = "bool";
  static bool from(const Json &j) {
    if (j == 0 || j == 1) return j == 1;  // accepted by Keras
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
    if (j.is_boolean()) return j.get<bool>();  // accepted by Keras
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
    std::string s = j.get<std::string>();
    if (s.find('\0') != std::string::npos) expected("a text without U+0000", j);
    return s;
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
  static Json to(const std::vector<M> &v) { return json_of(v); }
};

// One index, or a list of them; the two are kept distinct.
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
  static constexpr const char *type = "i64s", *types = "i64s";
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

template <>
struct Convert<Filling> : Convert<NestedNumbers> {
  static constexpr const char *type = "f64";
  static Filling from(const Json &j) { return {Convert<NestedNumbers>::from(j)}; }
};

// Keras's "an integer, N integers or N pairs": before and after along each axis; for a single axis, also the pair
// itself.
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
  static Json to(const std::array<std::array<int64_t, 2>, N> &v) { return N == 1 ? Pair::to(v[0]) : json_of(v); }
};

template <class C>
struct Convert<Of<C>> {
  static constexpr const char *type = "attrs";
  static constexpr const char *category = C::category;
  static Of<C> from(const Json &j) {
    if constexpr (std::is_same_v<C, Metric>) return metric_for(j);  // as in a trainer's config
    return parse<C>(j);
  }
  static Json to(const Of<C> &v) { return to_json(v.get()); }
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

// Makes their names unique.
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
  static Json to(const std::vector<InnerLayer> &list) { return json_of(list); }
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
  static Json to(const std::vector<Of<C>> &v) { return json_of(v); }
};

// null for Keras's "epoch".
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
template const Conversion &conversion<std::optional<std::vector<std::string>>>();
template const Conversion &conversion<std::optional<std::vector<int64_t>>>();
template const Conversion &conversion<std::optional<std::vector<std::optional<int64_t>>>>();
template const Conversion &conversion<std::array<int64_t, 1>>();
template const Conversion &conversion<std::array<int64_t, 2>>();
template const Conversion &conversion<std::array<int64_t, 3>>();
template const Conversion &conversion<std::vector<std::array<int64_t, 2>>>();
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
template const Conversion &conversion<Filling>();

}  // namespace dl4::kinds
