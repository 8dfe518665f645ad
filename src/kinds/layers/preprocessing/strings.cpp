// Layers of strings: their parts and forms, hashes of them, and texts as indices of words.
#include <numeric>

#include "kinds/layers/preprocessing/lookup.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct StringConcat final : LayerOf<StringConcat> {
  static constexpr const char *doc =
      "Each string of the first input with that of the second behind it; their shapes broadcast.";
  static constexpr PlainFacts plain{.inputs = {{"x1", "(...), strings"}, {"x2", "(...), strings"}},
                                    .outputs = {{"y", "(...), strings"}}};
  Arity arity() const override { return {2, 2}; }
  std::vector<Symbol> call(Call &c) const override {
    c.need_strings(0), c.need_strings(1);
    return {{ops::join_texts(c.e, c.x(0), c.x(1))}};
  }
};

struct StringCase final : LayerOf<StringCase> {
  static constexpr const char *doc =
      "Strings in small letters or capitals, each letter for itself. A letter whose other case is several letters, or "
      "of a script other than Latin, Greek, Cyrillic and Armenian that has case, is an error of the run, as are bytes "
      "that are no UTF-8.";
  enum class To { lower, upper } to = To::lower;
  bool ascii = false;

  void fields(Fields &f) override {
    f("to", to, {"lower", "upper"}, "which letters");
    f("ascii", ascii, "A to Z alone: all other bytes stay");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...), strings"}}, .outputs = {{"y", "(...), strings"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_strings(0);
    return {{ops::change_case(c.e, c.x(), to == To::upper, ascii)}};
  }
};

struct StringSplit final : LayerOf<StringSplit> {
  static constexpr const char *doc =
      "Strings cut into pieces along a new last axis, as long as the most pieces that one has; and how many each has. "
      "That size is known once a run has computed it: a session runs such a model, training and streams refuse it.";
  std::string delimiter, pad;
  std::optional<std::string> expression;
  int64_t maxsplit = -1, min_length = 1;

  void fields(Fields &f) override {
    f("delimiter", delimiter, "what lies between pieces; \"\": any run of spaces, tabs and line ends of ASCII");
    f("maxsplit", maxsplit, "how often a string is cut at most; below 0: any number of times");
    f("expression", expression,
      "instead of a delimiter a regular expression, whose matches are the pieces: a class ([a-z_], [^,;], \\w, "
      "\\d, \\s) or a character, once or several times, with or without + behind it; or . for any character")
        .example("\"[a-z]+\"");
    f("min_length", min_length, "with an expression: shorter pieces are left out").within(1, max_dim);
    f("pad", pad, "fills up the rows of strings with fewer pieces than others");
  }
  void check() override {
    if (expression && !delimiter.empty()) refuse_attribute("delimiter", "expected \"\" with an \"expression\"");
    if (expression && maxsplit >= 0) refuse_attribute("maxsplit", "expected -1 with an \"expression\"");
    if (!expression && min_length > 1) refuse_attribute("min_length", "expected 1 without an \"expression\"");
    splitter();
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...), strings"}},
                                    .outputs = {{"pieces", "(..., most pieces), strings"}, {"count", "(...), int64"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_strings(0);
    ops::Emit &e = c.e;
    const Id count = ops::count_pieces(e, c.x(), splitter());
    std::vector<int> axes;
    for (int i = 0; i < c.shape().rank(); ++i) axes.push_back(i);
    const Id most = axes.empty() ? count : ops::reduce(e, ops::Reduce::max, count, axes);
    const Id n = ops::binary(e, ops::Binary::max, most, e.scalar(0, DType::i64));  // of no strings
    return {{ops::pieces(e, c.x(), splitter(), ops::range(e, n))}, {count}};
  }

 private:
  Splitter splitter() const {
    if (!expression) return Splitter::at(delimiter, maxsplit, pad);
    try {
      return Splitter::by(*expression, min_length, pad);
    } catch (Error &error) {
      error.in("\"expression\"").with("attribute", "expression");
      throw;
    }
  }
};

struct NgramCounts final : LayerOf<NgramCounts> {
  static constexpr const char *doc =
      "How often each of the given sequences of integers occurs in a row of the input, as float32.";
  std::vector<int64_t> ngrams, lengths, columns;
  int64_t max_skip_count = 0;
  std::optional<int64_t> width;
  std::shared_ptr<const Ngrams> made;

  void fields(Fields &f) override {
    f("ngrams", ngrams, "the integers of all sequences, one sequence after the other").required("[3, 7, 3]");
    f("lengths", lengths, "how many integers each sequence has").required("[1, 2]");
    f("columns", columns, "in which column each sequence is counted").required("[0, 1]");
    f("width", width, "how many columns there are at least; null: the last that is named").within(1, max_dim);
    f("max_skip_count", max_skip_count,
      "how many integers may lie between two neighbours, as many between all of a sequence")
        .within(0, max_dim);
  }
  void check() override {
    made = std::make_shared<const Ngrams>(ngrams, lengths, columns, max_skip_count, width.value_or(0));
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, N), integers"}}, .outputs = {{"y", "(B, columns)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 2);
    return {{ops::count_ngrams(c.e, ops::cast(c.e, c.x(), DType::i64), made)}};
  }
};

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

struct Hashing final : LayerOf<Hashing> {
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
    f("num_bins", num_bins, "how many bins there are").required("3").at_least(1);
    f("mask_value", mask_value, "a value that has bin 0 to itself; null: none has").example("\"\"");
    f("salt", salt, "the key of SipHash: two integers, or one for both; null: FarmHash").example("[1, 2]");
    f("output_mode", output_mode, {"int", "one_hot", "multi_hot", "count"},
      "\"int\": the numbers; else as of CategoryEncoding");
    f("sparse", sparse, sparse_doc).default_only();
    f("dtype", dtype, dtype_doc);
  }
  void check() override {
    if (output_mode == Mode::integer && dtype.dtype == DType::f32)
      refuse_attribute("dtype", "expected int32 or int64 of output_mode \"int\", got float32");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...), strings or integers"}},
                                    .outputs = {{"y", "(...), as vectors (..., num_bins)"}}};

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

struct HashedCrossing final : LayerOf<HashedCrossing> {
  static constexpr const char *doc =
      "Two or more features as the number of a bin of their combination, by TensorFlow's hash of crosses.";
  int64_t num_bins = 0;
  enum class Mode { integer, one_hot } output_mode = Mode::integer;
  bool sparse = false;
  ResultType dtype;

  void fields(Fields &f) override {
    f("num_bins", num_bins, "how many bins there are").required("5").at_least(1);
    f("output_mode", output_mode, {"int", "one_hot"}, "\"int\": the numbers; \"one_hot\": vectors")
        .example(R"("one_hot")");
    f("sparse", sparse, sparse_doc).default_only();
    f("dtype", dtype, dtype_doc);
  }
  Arity arity() const override { return {2, any_number}; }
  static constexpr PlainFacts plain{
      .inputs = {{"x1", "(B) or (B, 1), strings or integers"}, {"x2", "(B) or (B, 1), strings or integers"}},
      .outputs = {{"y", "of that shape, as vectors (B, num_bins)"}}};

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

constexpr int64_t widest = 256;  // of n-grams

struct TextVectorization final : WithVocabulary {
  static constexpr const char *doc =
      "Texts as sequences of indices of their tokens, or as vectors of how often each is in them. A text is "
      "standardized, split into tokens, which may be joined to n-grams, and looked up in a vocabulary.";
  Lookup<std::string> lookup;
  enum class Standardize { both, lower, strip, nothing } standardize = Standardize::both;
  Split split = Split::whitespace;
  std::optional<std::variant<int64_t, std::vector<int64_t>>> ngrams;
  std::optional<int64_t> output_sequence_length;
  bool ragged = false;
  enum class Encoding { utf_8 } encoding = Encoding::utf_8;
  TextVectorization() {
    lookup.oov_token = "[UNK]";
    lookup.mask_token = "";
  }

  void fields(Fields &f) override {
    lookup.vocabulary_fields(f);
    f("standardize", standardize, {"lower_and_strip_punctuation", "lower", "strip_punctuation"},
      "\"lower\": A to Z become a to z, no other letters; \"strip_punctuation\": the 32 marks of ASCII that are "
      "neither letters, digits nor spaces go; null: nothing")
        .null_means(Standardize::nothing)
        .among_others();
    f("split", split, {"whitespace", "character"},
      "\"whitespace\": at the spaces, tabs and line ends of ASCII; \"character\": each character of UTF-8, "
      "U+FFFD "
      "for bytes that are none; null: each text is a token")
        .null_means(Split::none)
        .among_others();
    f("ngrams", ngrams,
      "an integer: runs of 1 to so many tokens, joined by spaces; integers: runs of these; null: "
      "the tokens");
    f("output_sequence_length", output_sequence_length,
      "of \"int\" the length of all sequences, cut off or filled up with 0; null: that of the longest of a "
      "batch")
        .example("4")
        .within(0, max_dim);
    f("ragged", ragged, "only false: there are no ragged tensors").default_only();
    f("encoding", encoding, {"utf-8"}, "of the texts and the vocabulary").among_others();
  }
  void check() override {
    if (output_sequence_length && !lookup.integers())
      refuse_attribute("output_sequence_length", "expected null without output_mode \"int\"");
    if (without_old(lookup.output_mode) == OutputMode::one_hot)
      unsupported_attribute("output_mode", "expected \"int\", \"multi_hot\", \"count\" or \"tf_idf\", got \"one_hot\"");
    for (int64_t n : widths())
      if (n < 1 || n > widest) refuse_attribute("ngrams", "expected 1 to ", widest, ", got ", n);
    lookup.check();
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{
        .inputs = {{"x", "(B) or (B, 1), strings; without a split (B, N) too"}},
        .outputs = {{"y", "(B, output_sequence_length), as vectors (B, size of the vocabulary)"}}};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    const ops::Tokens &vocabulary = lookup.needed();
    ops::Emit &e = c.e;
    c.need_strings(0);
    const Id x = rows(c);
    ops::attributes::Vectorize how{tokenizer(), vocabulary};
    if (!lookup.integers()) {
      how.depth = lookup.depth();
      const OutputMode mode = without_old(lookup.output_mode);
      how.binary = mode == OutputMode::multi_hot;
      const Id y = ops::vectorize(e, x, std::move(how));
      return {{mode == OutputMode::tf_idf ? lookup.weighted(e, y) : y}};
    }
    if (output_sequence_length) {
      how.length = *output_sequence_length;
      return {{ops::vectorize(e, x, std::move(how))}};
    }
    const bool as_many = split == Split::none && !ngrams;  // tokens as texts
    const Id like = as_many ? ops::indices(e, x, 1) : ops::range(e, ops::count_tokens(e, x, tokenizer()));
    const Id y = ops::vectorize(e, x, std::move(how), like);
    return {{as_many && c.shape().rank() == 1 ? ops::squeeze(e, y, 1) : y}};
  }
  Tensor token_weights() const override { return lookup.weights(); }
  std::shared_ptr<Adapter> adapter(int64_t memory_limit) const override {
    const Tokenizer t = tokenizer();
    return lookup.adapter(config(), &t, memory_limit);
  }

 private:
  // Texts (B, N), of which a split makes one row of tokens each.
  Id rows(Call &c) const {
    const Shape shape = c.shape();
    const bool column = shape.rank() == 2 && (shape.last() == 1 || split == Split::none);
    if (column) return c.x();
    // Without a split, Keras takes a batch without another axis for one row.
    const bool plain = lookup.integers() && !ngrams && !output_sequence_length;
    if (shape.rank() == 1 && (split != Split::none || plain)) return ops::expand_dims(c.e, c.x(), 1);
    fail(Code::shape_mismatch, "input 0: expected texts of shape ", split == Split::none ? "(B, N)" : "(B) or (B, 1)",
         ", got ", shape);
  }
  std::vector<int64_t> widths() const {
    if (!ngrams) return {};
    if (const auto *list = std::get_if<1>(&*ngrams)) return *list;
    const int64_t most = std::get<0>(*ngrams);
    if (most < 1 || most > widest) return {most};  // which is refused
    std::vector<int64_t> all(static_cast<size_t>(most));
    std::iota(all.begin(), all.end(), 1);
    return all;
  }
  Tokenizer tokenizer() const {
    const bool both = standardize == Standardize::both;
    return {both || standardize == Standardize::lower, both || standardize == Standardize::strip, split, widths()};
  }
};

}  // namespace

DL4_KINDS(strings, StringConcat, StringCase, StringSplit, NgramCounts, Hashing, HashedCrossing, TextVectorization)

}  // namespace dl4::kinds
