// fill: a constant, in a shape taken from another value. band_mask: marks keys near a query, aligned top left if the
// lengths differ.
// range: indices below a number. random_keep: dropout masks, scaled. random_normal, random_uniform: random numbers. For
// a part of a batch, the draw's number may be followed by its first row and number of rows, which then get the same
// numbers as in the whole batch.
#include <algorithm>
#include <numeric>

#include "ops/attributes.hpp"
#include "ops/flow.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/range.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct FillOp final : StopsGradients<FillOp, "fill", attributes::Fill> {
  std::vector<Operand> infer(Operands src) const override {
    if (keep < 0 || keep > src[0].shape.rank())
      fail(Code::invalid_argument, "fill can't keep ", keep, " axes of ", src[0].shape);
    return {{dtype, src[0].shape.first(keep).joined(tail)}};
  }
  bool reads(int) const override { return false; }
};

struct BandMaskOp final : StopsGradients<BandMaskOp, "band_mask", attributes::BandMask> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &s = src[0].shape;
    if (s.rank() < 2) fail(Code::shape_mismatch, "band_mask expects scores (..., T, S), got ", s);
    return {{DType::boolean, s.last(2)}};
  }
  bool reads(int) const override { return false; }
};

// The shape of both: the first `keep` axes of source 1, then the tail.
std::vector<Operand> drawn(const char *op, Operands src, int keep, const Shape &tail) {
  want_type(text("the draw of ", op).c_str(), src[0], DType::i64);
  const Shape &like = src[1].shape;
  if (keep < 0 || keep > like.rank()) fail(Code::invalid_argument, op, " can't keep ", keep, " axes of ", like);
  return {{DType::f32, like.first(keep).joined(tail)}};
}

struct RandomKeepOp final : StopsGradients<RandomKeepOp, "random_keep", attributes::RandomKeep> {
  std::vector<Operand> infer(Operands src) const override {
    if (!(rate >= 0 && rate < 1))
      fail(Code::invalid_argument, "dropout: rate is ", number(rate), ", expected 0 <= rate < 1");
    return drawn(op, src, keep, tail);
  }
  bool reads(int src) const override { return src == 0; }
};

struct RandomNormalOp final : StopsGradients<RandomNormalOp, "random_normal", attributes::RandomNormal> {
  std::vector<Operand> infer(Operands src) const override { return drawn(op, src, keep, tail); }
  bool reads(int src) const override { return src == 0; }
};

struct RandomUniformOp final : StopsGradients<RandomUniformOp, "random_uniform", attributes::RandomUniform> {
  std::vector<Operand> infer(Operands src) const override { return drawn(op, src, keep, tail); }
  bool reads(int src) const override { return src == 0; }
};

}  // namespace

Id fill(Emit &e, DType dtype, double v, Id like, int keep, const Shape &tail) {
  return e.value(make<FillOp>(dtype, v, keep, tail), {like});
}

Id band_mask(Emit &e, Id scores, int64_t before, int64_t after) {
  return e.value(make<BandMaskOp>(before, after), {scores});
}

std::vector<Operand> RangeOp::infer(Operands src) const {
  if ((src[0].dtype != DType::i32 && src[0].dtype != DType::i64) || src[0].shape.rank() != 0)
    fail(Code::shape_mismatch, "range expects an integer without axes, got ", src[0].dtype, ' ', src[0].shape);
  return {{DType::i64, {free_dim}}};
}

bool is_sized_by_numbers(const Step &step) {
  if (as<RangeOp>(step)) return true;
  const auto *branch = as<BranchOp>(step);
  return branch &&
         (branch->own_shapes || sized_by_numbers(*branch->then.body) || sized_by_numbers(*branch->otherwise.body));
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

Id random_keep(Emit &e, double rate, uint64_t seed, Id draw, Id like, int keep, const Shape &tail) {
  return e.value(make<RandomKeepOp>(rate, seed, keep, tail), {draw, like});
}
Id random_normal(Emit &e, uint64_t seed, Id draw, Id like, int keep, const Shape &tail) {
  return e.value(make<RandomNormalOp>(seed, keep, tail), {draw, like});
}
Id random_uniform(Emit &e, uint64_t seed, Id draw, Id like, int keep, const Shape &tail) {
  return e.value(make<RandomUniformOp>(seed, keep, tail), {draw, like});
}

}  // namespace dl4::ops
