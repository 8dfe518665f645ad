// Writes ops on strings.
#include "base/strings.hpp"
#include "io/onnx/write/writer.hpp"
#include "ops/text.hpp"

namespace dl4::io::onnx {
namespace {

void texts_equal(Writer &w, const Listed &) { w.give(0, w.node("Equal", {w.in(0), w.in(1)})); }
void join_texts(Writer &w, const Listed &) { w.give(0, w.node("StringConcat", {w.in(0), w.in(1)})); }
void numbers_as_texts(Writer &w, const Listed &) { w.give(0, w.cast(w.in(0), DType::string)); }
void texts_as_numbers(Writer &w, const Listed &) { w.give(0, w.cast(w.in(0), w.program()[w.now().dst[0]].dtype)); }
// A constant of strings is tokens of a vocabulary at constant indices.
void token_at(Writer &w, const Listed &) {
  const Tensor &ids = w.numbers(0, "token's index");
  const auto &op = *ops::as<ops::attributes::TokenAt>(w.now());
  if (!op.vocabulary->of_strings()) w.refuse("it computes \"token_at\" of integers, which ONNX has no op for");
  std::vector<std::string_view> tokens;
  for (int64_t i = 0; i < ids.elements(); ++i) tokens.push_back(op.vocabulary->token(ids.as<int64_t>()[i]).view());
  w.give(0, w.tensor(copy_of(ids.shape, tokens, INT64_MAX)));
}
void apart(Writer &w, const Listed &) { w.refuse("it splits, counts or changes texts by other rules than ONNX's ops"); }

}  // namespace

constexpr WriteRow text_table[] = {{"token_at", token_at},
                                   {"texts_equal", texts_equal},
                                   {"join_texts", join_texts},
                                   {"numbers_as_texts", numbers_as_texts},
                                   {"texts_as_numbers", texts_as_numbers},
                                   {"change_case", apart},
                                   {"count_pieces", apart},
                                   {"pieces", apart},
                                   {"count_ngrams", apart}};
const std::span<const WriteRow> text_ops = text_table;

}  // namespace dl4::io::onnx
