// range: a number becomes a size.
#pragma once

#include "ops/op.hpp"

namespace dl4::ops {

// Has no kernel: the Program is cut there (runtime/stages.hpp), or the step is folded.
struct RangeOp final : StopsGradients<RangeOp, "range"> {
  std::vector<Operand> infer(Operands src) const override;
};

// Whether it is a range, or a branch with one in its bodies.
bool is_sized_by_numbers(const Step &step);
// The first such step of a Program; null: all sizes follow from those of the inputs.
const Step *sized_by_numbers(const Program &p);
// The number, a valid size in [0, max_dim], and the indices below it.
int64_t number_of_range(DType dtype, const void *number);
inline bool is_size(int64_t n) { return n >= 0 && n <= max_dim; }
Tensor range_of(int64_t size);

}  // namespace dl4::ops
