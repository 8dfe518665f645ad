// SetLengths: masks for sequences of different lengths in one batch.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct SetLengths : Layer {
  static constexpr const char *name = "SetLengths";
  static constexpr const char *doc =
      "The first input with a mask of lengths, in place of the one it carries: the first n steps of a sample are "
      "valid, n being its number in the second input. None are where it is 0 or less, all where it is T or more.";

  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(B, T, ...)"}, {"lengths", "(B), int32 or int64"}},
                                      .outputs = {{"x", "(B, T, ...)"}},
                                      .mask = "(B, T), by the lengths"};
    return plain;
  }
  Arity arity() const override { return {2, 2}; }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    c.need_rank(1, 1);
    const DType given = c.e.dtype(c.x(1));
    if (given != DType::i32 && given != DType::i64)
      fail(Code::invalid_argument, "input 1: expected int32 or int64, got ", given);
    if (!compatible(c.shape(1), c.shape().first(1)))
      fail(Code::shape_mismatch, "input 1: expected shape ", c.shape().first(1), ", got ", c.shape(1));
    const ops::Id lengths = ops::expand_dims(c.e, ops::cast(c.e, c.x(1), DType::i64), 1);
    return {{c.x(), ops::binary(c.e, ops::Binary::less, ops::indices(c.e, c.x(), 1), lengths)}};
  }
};

}  // namespace
DL4_KIND(SetLengths)
}  // namespace dl4::kinds
