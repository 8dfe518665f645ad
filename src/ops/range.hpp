// range: where a number becomes a size.
#pragma once

#include "ops/op.hpp"

namespace dl4::ops {

// No kernel: a Program with it is cut there (runtime/stages.hpp), or folded.
struct RangeOp final : StopsGradients<RangeOp> {
  using StopsGradients::StopsGradients;
  std::string_view name() const override { return "range"; }
  std::vector<Operand> infer(Operands src) const override;
};

// Is it a range, or a branch with one in its bodies?
bool is_sized_by_numbers(const Step &step);
// The first such step of a Program; null: all of its sizes come from those of its inputs.
const Step *sized_by_numbers(const Program &p);
// That number, which is a size where it is in [0, max_dim], and the places below it.
int64_t number_of_range(DType dtype, const void *number);
inline bool is_size(int64_t n) { return n >= 0 && n <= max_dim; }
Tensor range_of(int64_t size);

}  // namespace dl4::ops
