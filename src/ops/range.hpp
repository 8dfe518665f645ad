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
// The number as a size, which the step refuses where it is none.
int64_t size_of_range(const Step &range, DType dtype, const void *number);
Tensor range_of(int64_t size);

}  // namespace dl4::ops
