// lookup, token_at, hash_bins, cross_bins, count_tokens, vectorize, encode: from texts to numbers; and texts of texts.
// No gradient passes.
#include "ops/text.hpp"

#include "ops/op.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

DType type_of(const Vocabulary &v) { return v.of_strings() ? DType::string : DType::i64; }

void want_text_or_integer(const char *op, const Operand &x) {
  if (x.dtype != DType::string && x.dtype != DType::i64)
    fail(Code::invalid_argument, op, " expects string or int64, got ", x.dtype);
}

template <class T, class A>
struct TextOp : StopsGradients<T, A> {
  using StopsGradients<T, A>::StopsGradients;
  bool takes_strings() const final { return true; }
};

struct LookupOp final : TextOp<LookupOp, attributes::Lookup> {
  using TextOp::TextOp;
  std::string_view name() const override { return "lookup"; }
  std::vector<Operand> infer(Operands src) const override {
    want_type("lookup", src[0], type_of(*vocabulary));
    return {{DType::i64, src[0].shape}};
  }
};

struct TokenAtOp final : TextOp<TokenAtOp, attributes::TokenAt> {
  using TextOp::TextOp;
  std::string_view name() const override { return "token_at"; }
  std::vector<Operand> infer(Operands src) const override {
    want_type("token_at", src[0], DType::i64);
    return {{type_of(*vocabulary), src[0].shape}};
  }
};

struct HashBinsOp final : TextOp<HashBinsOp, attributes::HashBins> {
  using TextOp::TextOp;
  std::string_view name() const override { return "hash_bins"; }
  std::vector<Operand> infer(Operands src) const override {
    want_text_or_integer("hash_bins", src[0]);
    return {{DType::i64, src[0].shape}};
  }
};

struct CrossBinsOp final : TextOp<CrossBinsOp, attributes::CrossBins> {
  using TextOp::TextOp;
  std::string_view name() const override { return "cross_bins"; }
  std::vector<Operand> infer(Operands src) const override {
    Shape shape = src[0].shape;
    for (const Operand &x : src) {
      want_text_or_integer("cross_bins", x);
      shape = same_shape("cross_bins", shape, x.shape);
    }
    return {{DType::i64, shape}};
  }
};

void want_texts(const char *op, const Operand &x) {
  want_type(op, x, DType::string);
  if (x.shape.rank() != 2) fail(Code::shape_mismatch, op, " expects texts (B, N), got ", x.shape);
}

struct CountTokensOp final : TextOp<CountTokensOp, attributes::CountTokens> {
  using TextOp::TextOp;
  std::string_view name() const override { return "count_tokens"; }
  std::vector<Operand> infer(Operands src) const override {
    want_texts("count_tokens", src[0]);
    return {{DType::i64, {}}};
  }
};

struct VectorizeOp final : TextOp<VectorizeOp, attributes::Vectorize> {
  using TextOp::TextOp;
  std::string_view name() const override { return "vectorize"; }
  std::vector<Operand> infer(Operands src) const override {
    want_texts("vectorize", src[0]);
    const int64_t width = depth ? depth : length >= 0 ? length : src[1].shape[0];
    return {{DType::i64, {src[0].shape[0], width}}};
  }
  bool reads(int i) const override { return i == 0; }
};

struct EncodeOp final : StopsGradients<EncodeOp, attributes::Encode> {
  using StopsGradients::StopsGradients;
  std::string_view name() const override { return "encode"; }
  std::vector<Operand> infer(Operands src) const override {
    want_type("encode", src[0], DType::i64);
    const Shape &ids = src[0].shape;
    if (!each && ids.rank() < 1) fail(Code::shape_mismatch, "encode expects ids (..., N), got ", ids);
    if (src[1].present) {
      want_float("the weights of encode", src[1]);
      same_shape("encode", ids, src[1].shape);
    }
    return {{dtype, (each ? ids : ids.without(-1)).joined({depth})}};
  }
};

struct TextsEqualOp final : TextOp<TextsEqualOp, attributes::TextsEqual> {
  using TextOp::TextOp;
  std::string_view name() const override { return "texts_equal"; }
  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &x : src) want_type("texts_equal", x, DType::string);
    return {{DType::boolean, broadcast(src[0].shape, src[1].shape)}};
  }
};

struct JoinTextsOp final : TextOp<JoinTextsOp, attributes::JoinTexts> {
  using TextOp::TextOp;
  std::string_view name() const override { return "join_texts"; }
  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &x : src) want_type("join_texts", x, DType::string);
    return {{DType::string, broadcast(src[0].shape, src[1].shape)}};
  }
};

struct ChangeCaseOp final : TextOp<ChangeCaseOp, attributes::ChangeCase> {
  using TextOp::TextOp;
  std::string_view name() const override { return "change_case"; }
  std::vector<Operand> infer(Operands src) const override {
    want_type("change_case", src[0], DType::string);
    return {src[0]};
  }
};

struct NumbersAsTextsOp final : TextOp<NumbersAsTextsOp, attributes::NumbersAsTexts> {
  using TextOp::TextOp;
  std::string_view name() const override { return "numbers_as_texts"; }
  std::vector<Operand> infer(Operands src) const override { return {{DType::string, src[0].shape}}; }
};

struct TextsAsNumbersOp final : TextOp<TextsAsNumbersOp, attributes::TextsAsNumbers> {
  using TextOp::TextOp;
  std::string_view name() const override { return "texts_as_numbers"; }
  std::vector<Operand> infer(Operands src) const override {
    want_type("texts_as_numbers", src[0], DType::string);
    return {{dtype, src[0].shape}};
  }
};

struct CountPiecesOp final : TextOp<CountPiecesOp, attributes::CountPieces> {
  using TextOp::TextOp;
  std::string_view name() const override { return "count_pieces"; }
  std::vector<Operand> infer(Operands src) const override {
    want_type("count_pieces", src[0], DType::string);
    return {{DType::i64, src[0].shape}};
  }
};

struct PiecesOp final : TextOp<PiecesOp, attributes::Pieces> {
  using TextOp::TextOp;
  std::string_view name() const override { return "pieces"; }
  std::vector<Operand> infer(Operands src) const override {
    want_type("pieces", src[0], DType::string);
    return {{DType::string, src[0].shape.joined({src[1].shape[0]})}};
  }
  bool reads(int i) const override { return i == 0; }
};

struct CountNgramsOp final : StopsGradients<CountNgramsOp, attributes::CountNgrams> {
  using StopsGradients::StopsGradients;
  std::string_view name() const override { return "count_ngrams"; }
  std::vector<Operand> infer(Operands src) const override {
    want_type("count_ngrams", src[0], DType::i64);
    if (src[0].shape.rank() != 2) fail(Code::shape_mismatch, "count_ngrams expects ids (N, L), got ", src[0].shape);
    return {{DType::f32, {src[0].shape[0], ngrams->width()}}};
  }
};

}  // namespace

Id lookup(Emit &e, Id x, Tokens vocabulary) { return e.value(std::make_shared<LookupOp>(std::move(vocabulary)), {x}); }

Id token_at(Emit &e, Id ids, Tokens vocabulary) {
  return e.value(std::make_shared<TokenAtOp>(std::move(vocabulary)), {ids});
}

Id hash_bins(Emit &e, Id x, attributes::HashBins how) {
  return e.value(std::make_shared<HashBinsOp>(std::move(how)), {x});
}

Id cross_bins(Emit &e, std::vector<Id> xs, int64_t bins) {
  return e.value(std::make_shared<CrossBinsOp>(bins), std::move(xs));
}

Id count_tokens(Emit &e, Id texts, Tokenizer tokenizer) {
  return e.value(std::make_shared<CountTokensOp>(std::move(tokenizer)), {texts});
}

Id vectorize(Emit &e, Id texts, attributes::Vectorize how, Id like) {
  return e.value(std::make_shared<VectorizeOp>(std::move(how)), {texts, like});
}

Id encode(Emit &e, Id ids, attributes::Encode how, Id weights) {
  return e.value(std::make_shared<EncodeOp>(how), {ids, weights});
}

Id texts_equal(Emit &e, Id a, Id b) { return e.value(std::make_shared<TextsEqualOp>(), {a, b}); }

Id join_texts(Emit &e, Id a, Id b) { return e.value(std::make_shared<JoinTextsOp>(), {a, b}); }

Id change_case(Emit &e, Id x, bool upper, bool ascii) {
  return e.value(std::make_shared<ChangeCaseOp>(upper, ascii), {x});
}

Id numbers_as_texts(Emit &e, Id x) { return e.value(std::make_shared<NumbersAsTextsOp>(), {x}); }

Id texts_as_numbers(Emit &e, Id x, DType to) { return e.value(std::make_shared<TextsAsNumbersOp>(to), {x}); }

Id count_pieces(Emit &e, Id x, Splitter splitter) {
  return e.value(std::make_shared<CountPiecesOp>(std::move(splitter)), {x});
}

Id pieces(Emit &e, Id x, Splitter splitter, Id like) {
  return e.value(std::make_shared<PiecesOp>(std::move(splitter)), {x, like});
}

Id count_ngrams(Emit &e, Id ids, std::shared_ptr<const Ngrams> ngrams) {
  return e.value(std::make_shared<CountNgramsOp>(std::move(ngrams)), {ids});
}

}  // namespace dl4::ops
