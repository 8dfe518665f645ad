#include "ops/range.hpp"

#include <algorithm>
#include <numeric>

#include "ops/flow.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

std::vector<Operand> RangeOp::infer(Operands src) const {
  if ((src[0].dtype != DType::i32 && src[0].dtype != DType::i64) || src[0].shape.rank() != 0)
    fail(Code::shape_mismatch, "range expects an integer without axes, got ", src[0].dtype, ' ', src[0].shape);
  return {{DType::i64, {free_dim}}};
}

bool is_sized_by_numbers(const Step &step) {
  if (as<RangeOp>(step)) return true;
  const auto *branch = as<BranchOp>(step);
  return branch && (branch->own_shapes || sized_by_numbers(*branch->then.body) || sized_by_numbers(*branch->otherwise.body));
}
const Step *sized_by_numbers(const Program &p) {
  const auto it = std::find_if(p.steps.begin(), p.steps.end(), is_sized_by_numbers);
  return it == p.steps.end() ? nullptr : &*it;
}

int64_t number_of_range(DType dtype, const void *number) {
  return dtype == DType::i32 ? *static_cast<const int32_t *>(number) : *static_cast<const int64_t *>(number);
}

Tensor range_of(int64_t size) {
  Tensor t = make_tensor(DType::i64, {size});
  std::iota(t.as<int64_t>(), t.as<int64_t>() + size, int64_t{0});
  return t;
}

Id range(Emit &e, Id n) { return e.value(std::make_shared<RangeOp>(), {n}); }

}  // namespace dl4::ops
