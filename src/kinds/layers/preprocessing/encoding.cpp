// CategoryEncoding, and the encoding of tokens as it is for it and for other layers.
#include "kinds/layers/preprocessing/encoding.hpp"

#include <numeric>

#include "base/error.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

// Axis 1 as the last one, for Keras counts along it where there are more than two.
ops::Id counted_last(ops::Emit &e, ops::Id x) {
  const int rank = e.rank(x);
  std::vector<int> perm;
  for (int i = 0; i < rank; ++i)
    if (i != 1) perm.push_back(i);
  perm.push_back(1);
  return ops::transpose(e, x, perm);
}

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

struct CategoryEncoding final : LayerOf<CategoryEncoding> {
  static constexpr const char *doc =
      "Integers below num_tokens as vectors. An integer past them is left out; one below 0 is an error of the run.";
  int64_t num_tokens = 0;
  enum class Mode { multi_hot, one_hot, count, binary } output_mode = Mode::multi_hot;
  bool sparse = false;

  void fields(Fields &f) override {
    f("num_tokens", num_tokens, "size of the vectors").required("4").within(1, max_dim);
    f("output_mode", output_mode, {"multi_hot", "one_hot", "count", "binary"},
      "\"multi_hot\" (also \"binary\"): 1 for each integer of the last axis; \"one_hot\": a vector for each "
      "integer, in the place of a last axis of 1; \"count\": how often each is there");
    f("sparse", sparse, sparse_doc).default_only();
  }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(..., N), integers"}},
      .outputs = {{"y", "(..., num_tokens); for each integer (..., N, num_tokens)"}},
      .arguments = {{"count_weights", "tensor", "what each integer counts, of the shape of x, float32: of \"count\""}}};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    Id weights = ops::none;
    if (const auto given = c.symbols("count_weights"); !given.empty()) {
      if (output_mode != Mode::count) fail(Code::invalid_argument, "\"count_weights\" is for output_mode \"count\"");
      weights = ops::cast(c.e, given[0].value, DType::f32);
    }
    constexpr OutputMode modes[] = {OutputMode::multi_hot, OutputMode::one_hot, OutputMode::count,
                                    OutputMode::multi_hot};
    return {{encoded(c.e, ops::cast(c.e, c.x(), DType::i64), modes[static_cast<size_t>(output_mode)], num_tokens,
                     DType::f32, weights)}};
  }
};

}  // namespace

OutputMode without_old(OutputMode mode) {
  if (mode == OutputMode::binary) return OutputMode::multi_hot;
  return mode == OutputMode::old_tf_idf ? OutputMode::tf_idf : mode;
}

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

DL4_KINDS(encoding, CategoryEncoding)

}  // namespace dl4::kinds
