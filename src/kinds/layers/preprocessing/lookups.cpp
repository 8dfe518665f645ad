// StringLookup and IntegerLookup: tokens as their indices in a vocabulary, and back.
#include "base/error.hpp"
#include "kinds/layers/preprocessing/lookup.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

constexpr const char *given_back = "(...); as vectors (..., size of the vocabulary); with invert tokens";

template <class Token>
struct TokenLookup : WithVocabulary {
  Lookup<Token> lookup;

  explicit TokenLookup(Token oov_token) { lookup.oov_token = std::move(oov_token); }
  void fields(Fields &f) override {
    lookup.vocabulary_fields(f);
    lookup.lookup_fields(f);
  }
  void check() override { lookup.check(); }
  std::vector<Symbol> call(Call &c) const override {
    const ops::Tokens &vocabulary = lookup.needed();
    const DType given = c.e.dtype(c.x());
    const bool wants_strings = vocabulary->of_strings() && !lookup.invert;
    if ((given == DType::string) != wants_strings)
      fail(Code::invalid_argument, "input 0: expected ", wants_strings ? "strings" : "integers", ", got ", given);
    if (!lookup.integers()) c.need_rank_from(0, 1);
    const Id x = wants_strings ? c.x() : ops::cast(c.e, c.x(), DType::i64);
    if (lookup.invert) return {{ops::token_at(c.e, x, vocabulary)}};
    return {{lookup.output(c.e, ops::lookup(c.e, x, vocabulary))}};
  }
  Tensor token_weights() const override { return lookup.weights(); }
  std::shared_ptr<Adapter> adapter(int64_t memory_limit) const override {
    return lookup.adapter(config(), nullptr, memory_limit);
  }
};

struct StringLookup final : TokenLookup<std::string> {
  static constexpr const char *doc =
      "Strings as their indices in a vocabulary, or as vectors of these; with invert indices as strings.";
  enum class Encoding { utf_8 } encoding = Encoding::utf_8;
  StringLookup() : TokenLookup("[UNK]") {}

  void fields(Fields &f) override {
    TokenLookup::fields(f);
    f("encoding", encoding, {"utf-8"}).among_others().doc("of the vocabulary");
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...), strings; with invert integers"}},
                                      .outputs = {{"y", given_back}}};
    return plain;
  }
};

struct IntegerLookup final : TokenLookup<int64_t> {
  static constexpr const char *doc =
      "Integers as their indices in a vocabulary, or as vectors of these; with invert indices as integers.";
  enum class Type { int64 } vocabulary_dtype = Type::int64;
  IntegerLookup() : TokenLookup(-1) {}

  void fields(Fields &f) override {
    TokenLookup::fields(f);
    f("vocabulary_dtype", vocabulary_dtype, {"int64"}).doc("the type of the vocabulary");
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...), integers"}}, .outputs = {{"y", given_back}}};
    return plain;
  }
};

}  // namespace
DL4_KINDS(lookups, StringLookup, IntegerLookup)
}  // namespace dl4::kinds
