// CategoryEncoding, and the encoding of tokens as it is for it and for other layers.
// Discretization, and its boundaries from data as of keras.src.layers.preprocessing.discretization: summaries of
// quantiles that are merged from batch to batch.
#include "kinds/layers/preprocessing/lookup.hpp"

#include <cmath>
#include <numeric>

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

namespace {

// Numbers in ascending order, and how many of the data each stands for.
struct Summary {
  std::vector<float> edges, weights;
  size_t size() const { return edges.size(); }
};

// numpy.interp of ascending xs.
double interpolated(double x, const std::vector<double> &xs, const std::vector<double> &ys) {
  if (x <= xs.front()) return ys.front();
  if (x >= xs.back()) return ys.back();
  const size_t i = static_cast<size_t>(std::upper_bound(xs.begin(), xs.end(), x) - xs.begin()) - 1;
  const double slope = (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i]);
  return slope * (x - xs[i]) + ys[i];
}

Summary compressed(const Summary &s, double epsilon) {
  if (static_cast<double>(s.size()) * epsilon < 1) return s;
  std::vector<double> sums(s.size()), shares(s.size()), edges(s.edges.begin(), s.edges.end());
  float sum = 0;  // Keras's arrays are of float32
  for (size_t i = 0; i < s.size(); ++i) sums[i] = sum += s.weights[i];
  for (size_t i = 0; i < s.size(); ++i) shares[i] = static_cast<float>(sums[i]) / sum;
  const auto n = static_cast<size_t>(std::ceil(1.0 / epsilon));
  Summary made;
  double before = 0;
  for (size_t i = 0; i < n; ++i) {
    const double part = epsilon + static_cast<double>(i) * epsilon, here = interpolated(part, shares, sums);
    made.edges.push_back(static_cast<float>(interpolated(part, shares, edges)));
    made.weights.push_back(static_cast<float>(here - before));
    before = here;
  }
  return made;
}

class Bins final : public Adapter {
 public:
  Bins(Json config, int64_t num_bins, double epsilon)
      : config_(std::move(config)), num_bins_(num_bins), epsilon_(epsilon) {}

  void add(const Tensor &batch) override {
    std::vector<float> values = floats(batch);
    if (values.empty()) return;
    std::sort(values.begin(), values.end(),
              [](float a, float b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
    const double step = std::max(static_cast<double>(values.size()) / (1.0 / epsilon_), 1.0);
    Summary merged;
    for (size_t i = static_cast<size_t>(step - 1); i < values.size(); i += static_cast<size_t>(step)) {
      merged.edges.push_back(values[i]);
      merged.weights.push_back(static_cast<float>(step));
    }
    merge(merged, summary_);
    summary_ = compressed(merged, epsilon_);
  }
  Json config() const override {
    if (summary_.size() == 0) fail(Code::invalid_argument, "expected numbers to learn from, got none");
    const Summary last = compressed(summary_, 1.0 / static_cast<double>(num_bins_));
    Json config = config_;
    config["bin_boundaries"] = std::vector<double>(last.edges.begin(), last.edges.end() - (last.size() ? 1 : 0));
    return config;
  }

 private:
  static std::vector<float> floats(const Tensor &t) {
    std::vector<float> values;
    const auto n = static_cast<size_t>(t.elements());
    auto take = [&](const auto *from) { values.assign(from, from + n); };
    switch (t.dtype) {
      case DType::f32:
        take(t.as<float>());
        break;
      case DType::f64:
        take(t.as<double>());
        break;
      case DType::i32:
        take(t.as<int32_t>());
        break;
      case DType::i64:
        take(t.as<int64_t>());
        break;
      case DType::u8:
      case DType::boolean:
        take(t.as<uint8_t>());
        break;
      case DType::string:
        fail(Code::shape_mismatch, "expected numbers to learn boundaries from, got strings");
    }
    return values;
  }
  static void merge(Summary &to, const Summary &more) {
    to.edges.insert(to.edges.end(), more.edges.begin(), more.edges.end());
    to.weights.insert(to.weights.end(), more.weights.begin(), more.weights.end());
    std::vector<size_t> order(to.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return to.edges[a] < to.edges[b]; });
    Summary sorted;
    for (size_t i : order) sorted.edges.push_back(to.edges[i]), sorted.weights.push_back(to.weights[i]);
    to = std::move(sorted);
  }

  const Json config_;
  const int64_t num_bins_;
  const double epsilon_;
  Summary summary_;
};

struct Discretization final : LayerOf<Discretization> {
  static constexpr const char *doc =
      "Numbers as the numbers of the bins in which they lie: how many of the boundaries are not above them. NaN is in "
      "the last bin.";
  std::optional<std::vector<double>> bin_boundaries;
  std::optional<int64_t> num_bins;
  double epsilon = 0.01;
  enum class Mode { integer, one_hot, multi_hot, count } output_mode = Mode::integer;
  bool sparse = false;

  void fields(Fields &f) override {
    f("bin_boundaries", bin_boundaries,
      "where one bin ends and the next begins, ascending; null: what is learned from data")
        .example("[0.5, 1.5]");
    f("num_bins", num_bins, "how many bins are learned from data").within(1, 1 << 20);
    f("epsilon", epsilon, "the error of the boundaries that are learned, as a part of the data").within(1e-6, 1);
    f("output_mode", output_mode, {"int", "one_hot", "multi_hot", "count"},
      "\"int\": the numbers, int32; else as of CategoryEncoding");
    f("sparse", sparse, sparse_doc).default_only();
  }
  void check() override {
    if (!bin_boundaries) return;
    if (bin_boundaries->empty()) refuse_attribute("bin_boundaries", "expected at least one boundary, got none");
    if (!std::is_sorted(bin_boundaries->begin(), bin_boundaries->end()))
      refuse_attribute("bin_boundaries", "expected ascending boundaries");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...), as vectors (..., bins)"}}};

  std::vector<Symbol> call(Call &c) const override {
    if (!bin_boundaries)
      refuse_attribute("bin_boundaries", num_bins
                                             ? "expected boundaries, got null: they are learned from data first, as "
                                               "adapt() does"
                                             : "expected boundaries, or \"num_bins\" to learn them, got null");
    c.need_rank_from(0, 1);
    ops::Emit &e = c.e;
    const auto n = static_cast<int64_t>(bin_boundaries->size());
    Tensor t = make_tensor(DType::f32, {n});
    std::transform(bin_boundaries->begin(), bin_boundaries->end(), t.as<float>(),
                   [](double v) { return static_cast<float>(v); });
    const Id x = ops::expand_dims(e, ops::cast(e, c.x(), DType::f32), c.shape().rank());
    const Id below = ops::binary(e, ops::Binary::less, x, e.constant(std::move(t)));
    const Id above = ops::reduce(e, ops::Reduce::sum, ops::cast(e, below, DType::f32), {-1});
    const Id bin = ops::cast(e, ops::sub(e, e.scalar(static_cast<double>(n)), above), DType::i64);
    constexpr OutputMode modes[] = {OutputMode::integer, OutputMode::one_hot, OutputMode::multi_hot, OutputMode::count};
    const DType type = output_mode == Mode::integer ? DType::i32 : DType::f32;
    return {{encoded(e, bin, modes[static_cast<size_t>(output_mode)], n + 1, type)}};
  }
  std::shared_ptr<Adapter> adapter(int64_t) const override {
    if (bin_boundaries && !num_bins)
      refuse_attribute("bin_boundaries",
                       "expected null and \"num_bins\", for boundaries that are given are not learned");
    if (!num_bins) refuse_attribute("num_bins", "expected a number of bins, got null");
    return std::make_shared<Bins>(config(), *num_bins, epsilon);
  }
};

}  // namespace

DL4_KINDS(discretization, Discretization)

}  // namespace dl4::kinds
