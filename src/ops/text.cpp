// lookup, token_at, hash_bins, cross_bins, count_tokens, vectorize, encode: from texts to numbers; and texts of texts.
// No gradient passes.
#include "ops/text.hpp"

#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

DType type_of(const Vocabulary &v) { return v.of_strings() ? DType::string : DType::i64; }

void want_text_or_integer(const char *op, const Operand &x) {
  if (x.dtype != DType::string && x.dtype != DType::i64)
    fail(Code::invalid_argument, op, " expects string or int64, got ", x.dtype);
}

template <class T, Literal op_name, class A>
struct TextOp : StopsGradients<T, op_name, A> {
  bool takes_strings() const final { return true; }
};

struct LookupOp final : TextOp<LookupOp, "lookup", attributes::Lookup> {
  std::vector<Operand> infer(Operands src) const override {
    want_type(op, src[0], type_of(*vocabulary));
    return {{DType::i64, src[0].shape}};
  }
};

struct TokenAtOp final : TextOp<TokenAtOp, "token_at", attributes::TokenAt> {
  std::vector<Operand> infer(Operands src) const override {
    want_type(op, src[0], DType::i64);
    return {{type_of(*vocabulary), src[0].shape}};
  }
};

struct HashBinsOp final : TextOp<HashBinsOp, "hash_bins", attributes::HashBins> {
  std::vector<Operand> infer(Operands src) const override {
    want_text_or_integer(op, src[0]);
    return {{DType::i64, src[0].shape}};
  }
};

struct CrossBinsOp final : TextOp<CrossBinsOp, "cross_bins", attributes::CrossBins> {
  std::vector<Operand> infer(Operands src) const override {
    Shape shape = src[0].shape;
    for (const Operand &x : src) {
      want_text_or_integer(op, x);
      shape = same_shape(op, shape, x.shape);
    }
    return {{DType::i64, shape}};
  }
};

void want_texts(const char *op, const Operand &x) {
  want_type(op, x, DType::string);
  if (x.shape.rank() != 2) fail(Code::shape_mismatch, op, " expects texts (B, N), got ", x.shape);
}

struct CountTokensOp final : TextOp<CountTokensOp, "count_tokens", attributes::CountTokens> {
  std::vector<Operand> infer(Operands src) const override {
    want_texts(op, src[0]);
    return {{DType::i64, {}}};
  }
};

struct VectorizeOp final : TextOp<VectorizeOp, "vectorize", attributes::Vectorize> {
  std::vector<Operand> infer(Operands src) const override {
    want_texts(op, src[0]);
    const int64_t width = depth ? depth : length >= 0 ? length : src[1].shape[0];
    return {{DType::i64, {src[0].shape[0], width}}};
  }
  bool reads(int i) const override { return i == 0; }
};

struct EncodeOp final : StopsGradients<EncodeOp, "encode", attributes::Encode> {
  std::vector<Operand> infer(Operands src) const override {
    want_type(op, src[0], DType::i64);
    const Shape &ids = src[0].shape;
    if (!each && ids.rank() < 1) fail(Code::shape_mismatch, "encode expects ids (..., N), got ", ids);
    if (src[1].present) {
      want_float("the weights of encode", src[1]);
      same_shape(op, ids, src[1].shape);
    }
    return {{dtype, (each ? ids : ids.without(-1)).joined({depth})}};
  }
};

struct TextsEqualOp final : TextOp<TextsEqualOp, "texts_equal", attributes::TextsEqual> {
  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &x : src) want_type(op, x, DType::string);
    return {{DType::boolean, broadcast(src[0].shape, src[1].shape)}};
  }
};

struct JoinTextsOp final : TextOp<JoinTextsOp, "join_texts", attributes::JoinTexts> {
  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &x : src) want_type(op, x, DType::string);
    return {{DType::string, broadcast(src[0].shape, src[1].shape)}};
  }
};

struct ChangeCaseOp final : TextOp<ChangeCaseOp, "change_case", attributes::ChangeCase> {
  std::vector<Operand> infer(Operands src) const override {
    want_type(op, src[0], DType::string);
    return {src[0]};
  }
};

struct NumbersAsTextsOp final : TextOp<NumbersAsTextsOp, "numbers_as_texts", attributes::NumbersAsTexts> {
  std::vector<Operand> infer(Operands src) const override { return {{DType::string, src[0].shape}}; }
};

struct TextsAsNumbersOp final : TextOp<TextsAsNumbersOp, "texts_as_numbers", attributes::TextsAsNumbers> {
  std::vector<Operand> infer(Operands src) const override {
    want_type(op, src[0], DType::string);
    return {{dtype, src[0].shape}};
  }
};

struct CountPiecesOp final : TextOp<CountPiecesOp, "count_pieces", attributes::CountPieces> {
  std::vector<Operand> infer(Operands src) const override {
    want_type(op, src[0], DType::string);
    return {{DType::i64, src[0].shape}};
  }
};

struct PiecesOp final : TextOp<PiecesOp, "pieces", attributes::Pieces> {
  std::vector<Operand> infer(Operands src) const override {
    want_type(op, src[0], DType::string);
    return {{DType::string, src[0].shape.joined({src[1].shape[0]})}};
  }
  bool reads(int i) const override { return i == 0; }
};

struct CountNgramsOp final : StopsGradients<CountNgramsOp, "count_ngrams", attributes::CountNgrams> {
  std::vector<Operand> infer(Operands src) const override {
    want_type(op, src[0], DType::i64);
    if (src[0].shape.rank() != 2) fail(Code::shape_mismatch, "count_ngrams expects ids (N, L), got ", src[0].shape);
    return {{DType::f32, {src[0].shape[0], ngrams->width()}}};
  }
};

}  // namespace

Id lookup(Emit &e, Id x, Tokens vocabulary) { return e.value(make<LookupOp>(std::move(vocabulary)), {x}); }

Id token_at(Emit &e, Id ids, Tokens vocabulary) { return e.value(make<TokenAtOp>(std::move(vocabulary)), {ids}); }

Id hash_bins(Emit &e, Id x, attributes::HashBins how) { return e.value(make<HashBinsOp>(std::move(how)), {x}); }

Id cross_bins(Emit &e, std::vector<Id> xs, int64_t bins) { return e.value(make<CrossBinsOp>(bins), std::move(xs)); }

Id count_tokens(Emit &e, Id texts, Tokenizer tokenizer) {
  return e.value(make<CountTokensOp>(std::move(tokenizer)), {texts});
}

Id vectorize(Emit &e, Id texts, attributes::Vectorize how, Id like) {
  return e.value(make<VectorizeOp>(std::move(how)), {texts, like});
}

Id encode(Emit &e, Id ids, attributes::Encode how, Id weights) { return e.value(make<EncodeOp>(how), {ids, weights}); }

Id texts_equal(Emit &e, Id a, Id b) { return e.value(make<TextsEqualOp>(), {a, b}); }

Id join_texts(Emit &e, Id a, Id b) { return e.value(make<JoinTextsOp>(), {a, b}); }

Id change_case(Emit &e, Id x, bool upper, bool ascii) { return e.value(make<ChangeCaseOp>(upper, ascii), {x}); }

Id numbers_as_texts(Emit &e, Id x) { return e.value(make<NumbersAsTextsOp>(), {x}); }

Id texts_as_numbers(Emit &e, Id x, DType to) { return e.value(make<TextsAsNumbersOp>(to), {x}); }

Id count_pieces(Emit &e, Id x, Splitter splitter) { return e.value(make<CountPiecesOp>(std::move(splitter)), {x}); }

Id pieces(Emit &e, Id x, Splitter splitter, Id like) { return e.value(make<PiecesOp>(std::move(splitter)), {x, like}); }

Id count_ngrams(Emit &e, Id ids, std::shared_ptr<const Ngrams> ngrams) {
  return e.value(make<CountNgramsOp>(std::move(ngrams)), {ids});
}

}  // namespace dl4::ops
