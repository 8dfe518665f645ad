// CategoryEncoding and Discretization.
#include <algorithm>

#include "base/error.hpp"
#include "kinds/layers/preprocessing/discretization.hpp"
#include "kinds/layers/preprocessing/encoding.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct CategoryEncoding final : Layer {
  static constexpr const char *doc =
      "Integers below num_tokens as vectors. An integer past them is left out; one below 0 is an error of the run.";
  int64_t num_tokens = 0;
  enum class Mode { multi_hot, one_hot, count, binary } output_mode = Mode::multi_hot;
  bool sparse = false;

  void fields(Fields &f) override {
    f("num_tokens", num_tokens).required("4").at_least(1).at_most(max_dim).doc("size of the vectors");
    f("output_mode", output_mode, {"multi_hot", "one_hot", "count", "binary"})
        .doc(
            "\"multi_hot\" (also \"binary\"): 1 for each integer of the last axis; \"one_hot\": a vector for each "
            "integer, in the place of a last axis of 1; \"count\": how often each is there");
    f("sparse", sparse).default_only().doc(sparse_doc);
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{
        .inputs = {{"x", "(..., N), integers"}},
        .outputs = {{"y", "(..., num_tokens); for each integer (..., N, num_tokens)"}},
        .arguments = {
            {"count_weights", "tensor", "what each integer counts, of the shape of x, float32: of \"count\""}}};
    return plain;
  }

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

struct Discretization final : Layer {
  static constexpr const char *doc =
      "Numbers as the numbers of the bins in which they lie: how many of the boundaries are not above them. NaN is in "
      "the last bin.";
  std::optional<std::vector<double>> bin_boundaries;
  std::optional<int64_t> num_bins;
  double epsilon = 0.01;
  enum class Mode { integer, one_hot, multi_hot, count } output_mode = Mode::integer;
  bool sparse = false;

  void fields(Fields &f) override {
    f("bin_boundaries", bin_boundaries)
        .example("[0.5, 1.5]")
        .doc("where one bin ends and the next begins, ascending; null: what is learned from data");
    f("num_bins", num_bins).at_least(1).at_most(1 << 20).doc("how many bins are learned from data");
    f("epsilon", epsilon)
        .at_least(1e-6)
        .at_most(1)
        .doc("the error of the boundaries that are learned, as a part of the data");
    f("output_mode", output_mode, {"int", "one_hot", "multi_hot", "count"})
        .doc("\"int\": the numbers, int32; else as of CategoryEncoding");
    f("sparse", sparse).default_only().doc(sparse_doc);
  }
  void check() override {
    if (!bin_boundaries) return;
    if (bin_boundaries->empty()) refuse_attribute("bin_boundaries", "expected at least one boundary, got none");
    if (!std::is_sorted(bin_boundaries->begin(), bin_boundaries->end()))
      refuse_attribute("bin_boundaries", "expected ascending boundaries");
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...), as vectors (..., bins)"}}};
    return plain;
  }

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
    return bins_from_data(config(), *num_bins, epsilon);
  }
};

}  // namespace
DL4_KINDS(category_encoding, CategoryEncoding, Discretization)
}  // namespace dl4::kinds
