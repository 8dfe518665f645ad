// CategoryEncoding.
#include "base/error.hpp"
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

}  // namespace
DL4_KINDS(category_encoding, CategoryEncoding)
}  // namespace dl4::kinds
