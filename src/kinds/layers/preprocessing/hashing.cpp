// Hashing and HashedCrossing: numbers of bins without a vocabulary.
#include "base/error.hpp"
#include "kinds/layers/preprocessing/encoding.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

constexpr const char *dtype_doc = "the type of the output; null: int64 of \"int\", else float32";

DType result_type(const ResultType &given, bool integers) {
  return given.dtype.value_or(integers ? DType::i64 : DType::f32);
}

// Strings as they are, integers as int64; floats whole, as Keras hashes them.
Id hashable(Call &c, int i, bool floats) {
  const Id x = c.x(i);
  const DType t = c.e.dtype(x);
  if (t == DType::string || t == DType::i64) return x;
  if (t == DType::boolean || (t == DType::f32 && !floats))
    fail(Code::invalid_argument, "input ", i, ": expected strings or integers, got ", t);
  return ops::cast(c.e, x, DType::i64);
}

struct Hashing final : Layer {
  static constexpr const char *doc =
      "Strings or integers as numbers of bins, by FarmHash or, with a salt, SipHash: those of TensorFlow. Integers are "
      "hashed as their decimal digits.";
  int64_t num_bins = 0;
  TextOrInteger mask_value;
  Salt salt;
  enum class Mode { integer, one_hot, multi_hot, count } output_mode = Mode::integer;
  bool sparse = false;
  ResultType dtype;

  void fields(Fields &f) override {
    f("num_bins", num_bins).required("3").at_least(1).doc("how many bins there are");
    f("mask_value", mask_value).example("\"\"").doc("a value that has bin 0 to itself; null: none has");
    f("salt", salt).example("[1, 2]").doc("the key of SipHash: two integers, or one for both; null: FarmHash");
    f("output_mode", output_mode, {"int", "one_hot", "multi_hot", "count"})
        .doc("\"int\": the numbers; else as of CategoryEncoding");
    f("sparse", sparse).default_only().doc(sparse_doc);
    f("dtype", dtype).doc(dtype_doc);
  }
  void check() override {
    if (output_mode == Mode::integer && dtype.dtype == DType::f32)
      refuse_attribute("dtype", "expected int32 or int64 of output_mode \"int\", got float32");
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...), strings or integers"}},
                                      .outputs = {{"y", "(...), as vectors (..., num_bins)"}}};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    Id x = hashable(c, 0, true);
    if (output_mode == Mode::one_hot && c.shape().last() == 1) x = ops::squeeze(c.e, x, -1);
    constexpr OutputMode modes[] = {OutputMode::integer, OutputMode::one_hot, OutputMode::multi_hot, OutputMode::count};
    return {{encoded(c.e, bins(c.e, x), modes[static_cast<size_t>(output_mode)], num_bins,
                     result_type(dtype, output_mode == Mode::integer))}};
  }

 private:
  Id bins(ops::Emit &e, Id x) const {
    ops::attributes::HashBins how{num_bins, salt.words()};
    const bool texts = e.dtype(x) == DType::string, masks = !std::holds_alternative<std::monostate>(mask_value);
    if (masks && texts != std::holds_alternative<std::string>(mask_value))
      refuse_attribute("mask_value", "expected ", texts ? "a string" : "an integer", ", as the input has");
    if (masks && num_bins > 1 && texts) how.mask = std::get<std::string>(mask_value);
    if (masks && num_bins > 1 && !texts) how.mask_number = std::get<int64_t>(mask_value);
    return ops::hash_bins(e, x, std::move(how));
  }
};

struct HashedCrossing final : Layer {
  static constexpr const char *doc =
      "Two or more features as the number of a bin of their combination, by TensorFlow's hash of crosses.";
  int64_t num_bins = 0;
  enum class Mode { integer, one_hot } output_mode = Mode::integer;
  bool sparse = false;
  ResultType dtype;

  void fields(Fields &f) override {
    f("num_bins", num_bins).required("5").at_least(1).doc("how many bins there are");
    f("output_mode", output_mode, {"int", "one_hot"})
        .example(R"("one_hot")")
        .doc("\"int\": the numbers; \"one_hot\": vectors");
    f("sparse", sparse).default_only().doc(sparse_doc);
    f("dtype", dtype).doc(dtype_doc);
  }
  Arity arity() const override { return {2, any_number}; }
  Facts facts() const override {
    static constexpr PlainFacts plain{
        .inputs = {{"x1", "(B) or (B, 1), strings or integers"}, {"x2", "(B) or (B, 1), strings or integers"}},
        .outputs = {{"y", "of that shape, as vectors (B, num_bins)"}}};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    const Shape first = c.shape();
    if (first.rank() > 2 || (first.rank() == 2 && first.last() != 1))
      fail(Code::shape_mismatch, "input 0: expected shape (B) or (B, 1), got ", first);
    std::vector<Id> xs;
    for (size_t i = 0; i < c.in.size(); ++i) {
      const auto n = static_cast<int>(i);
      if (!compatible(first, c.shape(n)))
        fail(Code::shape_mismatch, "input ", n, ": expected shape ", first, " as input 0 has, got ", c.shape(n));
      xs.push_back(hashable(c, n, false));
    }
    const bool integers = output_mode == Mode::integer;
    return {{encoded(c.e, ops::cross_bins(c.e, std::move(xs), num_bins),
                     integers ? OutputMode::integer : OutputMode::one_hot, num_bins, result_type(dtype, integers))}};
  }
};

}  // namespace
DL4_KINDS(hashing, Hashing, HashedCrossing)
}  // namespace dl4::kinds
