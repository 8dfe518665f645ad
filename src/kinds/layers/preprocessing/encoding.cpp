// Encoding of indices, and the types of attributes that only layers of categories have.
#include "kinds/layers/preprocessing/encoding.hpp"

#include <numeric>

#include "base/error.hpp"

namespace dl4::kinds {

OutputMode without_old(OutputMode mode) {
  if (mode == OutputMode::binary) return OutputMode::multi_hot;
  return mode == OutputMode::old_tf_idf ? OutputMode::tf_idf : mode;
}

namespace {

// Axis 1 as the last one, for Keras counts along it where there are more than two.
ops::Id counted_last(ops::Emit &e, ops::Id x) {
  const int rank = e.rank(x);
  std::vector<int> perm;
  for (int i = 0; i < rank; ++i)
    if (i != 1) perm.push_back(i);
  perm.push_back(1);
  return ops::transpose(e, x, perm);
}

}  // namespace

ops::Id encoded(ops::Emit &e, ops::Id indices, OutputMode mode, int64_t depth, DType dtype, ops::Id weights) {
  if (mode == OutputMode::integer) return ops::cast(e, indices, dtype);
  if (depth > max_dim) fail(Code::unsupported, "expected vectors of at most ", max_dim, " numbers, got ", depth);
  ops::attributes::Encode how{depth, false, mode != OutputMode::count};
  how.dtype = dtype;
  const Shape shape = e.shape(indices);
  if (mode == OutputMode::one_hot) {
    how.each = shape.rank() < 2 || shape.last() != 1;
    return ops::encode(e, indices, how);
  }
  if (shape.rank() > 2) {
    const ops::Id turned = weights == ops::none ? ops::none : counted_last(e, weights);
    return ops::encode(e, counted_last(e, indices), how, turned);
  }
  how.outside = ops::attributes::Outside::negative_refused;
  return ops::encode(e, indices, how, weights);
}

std::optional<std::array<uint64_t, 2>> Salt::words() const {
  if (!key) return std::nullopt;
  return std::array{static_cast<uint64_t>((*key)[0]), static_cast<uint64_t>((*key)[1])};
}

namespace {

Salt salt_from(const Json &j) {
  if (j.is_null()) return {};
  if (j.is_int64()) return {std::array{j.get<int64_t>(), j.get<int64_t>()}};
  if (!j.is_array() || j.size() != 2 || !j[0].is_int64() || !j[1].is_int64()) expected("an integer, or two of them", j);
  return {std::array{j[0].get<int64_t>(), j[1].get<int64_t>()}};
}

TextOrInteger text_or_integer_from(const Json &j) {
  if (j.is_null()) return {};
  if (j.is_int64()) return j.get<int64_t>();
  if (!j.is_string()) expected("a string or an integer", j);
  return j.get<std::string>();
}
Json json_of(const TextOrInteger &v) {
  if (const auto *s = std::get_if<std::string>(&v)) return *s;
  if (const auto *n = std::get_if<int64_t>(&v)) return *n;
  return nullptr;
}

ResultType result_type_from(const Json &given) {
  const Json *config = given.find("config");
  const Json j = config ? config->value("name", nullptr) : given;
  if (j.is_null()) return {};
  if (j.is_string())
    for (DType t : {DType::f32, DType::i32, DType::i64})
      if (j == to_string(t)) return {t};
  expected("\"float32\", \"int32\" or \"int64\"", given);
}

template <class M, M (*from)(const Json &), Json (*to)(const M &)>
constexpr Conversion made(const char *type) {
  return {type, nullptr, [](const Json &j, void *place) { *static_cast<M *>(place) = from(j); },
          [](const void *place) { return to(*static_cast<const M *>(place)); }};
}
Json json_of_salt(const Salt &s) { return s.key ? Json(*s.key) : Json(); }
Json json_of_type(const ResultType &t) { return t.dtype ? Json(to_string(*t.dtype)) : Json(); }

}  // namespace

template <>
const Conversion &conversion<Salt>() {
  static constexpr Conversion c = made<Salt, salt_from, json_of_salt>("i64s");
  return c;
}
template <>
const Conversion &conversion<TextOrInteger>() {
  static constexpr Conversion c = made<TextOrInteger, text_or_integer_from, json_of>("json");
  return c;
}
template <>
const Conversion &conversion<ResultType>() {
  static constexpr Conversion c = made<ResultType, result_type_from, json_of_type>("str");
  return c;
}

}  // namespace dl4::kinds
