// TextVectorization: texts as sequences of indices of their tokens, or as vectors of how often each is in them.
#include <numeric>
#include <variant>

#include "base/error.hpp"
#include "kinds/layers/preprocessing/lookup.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

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
    f("standardize", standardize, {"lower_and_strip_punctuation", "lower", "strip_punctuation"})
        .null_means(Standardize::nothing)
        .among_others()
        .doc(
            "\"lower\": A to Z become a to z, no other letters; \"strip_punctuation\": the 32 marks of ASCII that are "
            "neither letters, digits nor spaces go; null: nothing");
    f("split", split, {"whitespace", "character"})
        .null_means(Split::none)
        .among_others()
        .doc(
            "\"whitespace\": at the spaces, tabs and line ends of ASCII; \"character\": each character of UTF-8, "
            "U+FFFD "
            "for bytes that are none; null: each text is a token");
    f("ngrams", ngrams)
        .doc(
            "an integer: runs of 1 to so many tokens, joined by spaces; integers: runs of these; null: "
            "the tokens");
    f("output_sequence_length", output_sequence_length)
        .example("4")
        .at_least(0)
        .at_most(max_dim)
        .doc(
            "of \"int\" the length of all sequences, cut off or filled up with 0; null: that of the longest of a "
            "batch");
    f("ragged", ragged).default_only().doc("only false: there are no ragged tensors");
    f("encoding", encoding, {"utf-8"}).among_others().doc("of the texts and the vocabulary");
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
DL4_KINDS(text_vectorization, TextVectorization)
}  // namespace dl4::kinds
