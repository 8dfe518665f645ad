// StringLookup and IntegerLookup: tokens as their indices in a vocabulary, and back.
#include "base/error.hpp"
#include "kinds/layers/preprocessing/lookup.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

constexpr const char *given_back = "(...); as vectors (..., size of the vocabulary); with invert tokens";

template <class Token>
std::vector<Symbol> looked_up(const Lookup<Token> &lookup, Call &c) {
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

struct StringLookup final : WithVocabulary {
  static constexpr const char *name = "StringLookup";
  static constexpr const char *doc =
      "Strings as their indices in a vocabulary, or as vectors of these; with invert indices as strings.";
  Lookup<std::string> lookup;
  enum class Encoding { utf_8 } encoding = Encoding::utf_8;
  StringLookup() { lookup.oov_token = "[UNK]"; }

  void fields(Fields &f) override {
    lookup.vocabulary_fields(f);
    lookup.lookup_fields(f);
    f("encoding", encoding, {"utf-8"}).among_others().doc("of the vocabulary");
  }
  void check() override { lookup.check(); }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...), strings; with invert integers"}},
                                      .outputs = {{"y", given_back}}};
    return plain;
  }
  std::vector<Symbol> call(Call &c) const override { return looked_up(lookup, c); }
  Tensor token_weights() const override { return lookup.weights(); }
  std::shared_ptr<Adapter> adapter(int64_t memory_limit) const override {
    return lookup.adapter(config(), nullptr, memory_limit);
  }
};

struct IntegerLookup final : WithVocabulary {
  static constexpr const char *name = "IntegerLookup";
  static constexpr const char *doc =
      "Integers as their indices in a vocabulary, or as vectors of these; with invert indices as integers.";
  Lookup<int64_t> lookup;
  enum class Type { int64 } vocabulary_dtype = Type::int64;
  IntegerLookup() { lookup.oov_token = -1; }

  void fields(Fields &f) override {
    lookup.vocabulary_fields(f);
    lookup.lookup_fields(f);
    f("vocabulary_dtype", vocabulary_dtype, {"int64"}).doc("the type of the vocabulary");
  }
  void check() override { lookup.check(); }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...), integers"}}, .outputs = {{"y", given_back}}};
    return plain;
  }
  std::vector<Symbol> call(Call &c) const override { return looked_up(lookup, c); }
  Tensor token_weights() const override { return lookup.weights(); }
  std::shared_ptr<Adapter> adapter(int64_t memory_limit) const override {
    return lookup.adapter(config(), nullptr, memory_limit);
  }
};

}  // namespace
DL4_KIND(StringLookup)
DL4_KIND(IntegerLookup)
}  // namespace dl4::kinds
