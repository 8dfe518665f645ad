// Writes ops on strings.
// Writes segment ops by ScatterND and GatherND.
#include <limits>

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

namespace {

Name below_zero(Writer &w, Name ids) { return w.node("Less", {ids, w.ints({0}, true)}); }

// An extra row receives rows without segment; an id out of range is still an error.
void segment(Writer &w, const char *reduction, double nothing) {
  if (w.shape(1).rank() != 1) w.refuse("it computes segments of a batch, which ONNX has no op for");
  const Name rows = w.dims(w.in(2), 0, 1), ids = w.cast(w.in(1), DType::i64);
  const Name past = w.cast(w.node("GreaterOrEqual", {ids, rows}), DType::i64);
  const Name place = w.node("Where", {below_zero(w, ids), rows, w.node("Add", {ids, past})});
  const Name more = w.node("Add", {rows, w.ints({1})});
  const Name size = w.node("Concat", {more, w.dims(w.in(0), 1, w.shape(0).rank())}, {{"axis", 0}});
  const Name empty = w.node("Expand", {w.real(nothing), size});
  const Name y =
      w.node("ScatterND", {empty, w.node("Unsqueeze", {place, w.ints({1})}), w.in(0)}, {{"reduction", reduction}});
  w.give(0, w.node("Slice", {y, w.ints({0}), rows, w.ints({0})}));
}

void segment_sum(Writer &w, const Listed &) { segment(w, "add", 0); }
void segment_max(Writer &w, const Listed &) {
  segment(w, "max", -static_cast<double>(std::numeric_limits<float>::max()));
}

void segment_gather(Writer &w, const Listed &) {
  const int64_t ids_rank = w.shape(1).rank(), rank = w.shape(0).rank();
  const Name ids = w.cast(w.in(1), DType::i64), none = below_zero(w, ids);
  const Name place = w.node("Unsqueeze", {w.node("Max", {ids, w.ints({0}, true)}), w.ints({ids_rank})});
  const Name y = w.node("GatherND", {w.in(0), place}, {{"batch_dims", ids_rank - 1}});
  Ints behind;
  for (int64_t i = ids_rank; i < rank; ++i) behind.push_back(i);
  w.give(0, w.node("Where", {behind.empty() ? none : w.node("Unsqueeze", {none, w.ints(behind)}), w.real(0), y}));
}

}  // namespace

constexpr WriteRow segment_table[] = {
    {"segment_sum", segment_sum}, {"segment_max", segment_max}, {"segment_gather", segment_gather}};
const std::span<const WriteRow> segment_ops = segment_table;

}  // namespace dl4::io::onnx
