// random_keep: dropout masks, scaled. random_normal, random_uniform: random numbers. For a part of a batch, the draw's
// number may be followed by its first row and number of rows, which then get the same numbers as in the whole batch.

#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

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
