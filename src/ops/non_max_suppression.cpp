#include <algorithm>

#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {
namespace {

struct NonMaxSuppressionOp final
    : StopsGradients<NonMaxSuppressionOp, "non_max_suppression", attributes::NonMaxSuppression> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &boxes = src[0].shape, &scores = src[1].shape;
    if (src[0].dtype != DType::f32 || src[1].dtype != DType::f32 || boxes.rank() != 3 || scores.rank() != 3 ||
        (boxes[2] != 4 && boxes[2] != free_dim) || !agree(boxes[0], scores[0]) || !agree(boxes[1], scores[2]))
      fail(Code::shape_mismatch, "non_max_suppression expects float32 boxes (B, N, 4) and scores (B, C, N), got ",
           src[0].dtype, ' ', boxes, " and ", src[1].dtype, ' ', scores);
    const bool known = scores.known();
    return {{DType::i64, {known ? checked_mul(scores[0], scores[1], std::min(how.most, scores[2])) : free_dim, 3}},
            {DType::i64, {}}};
  }

 private:
  static bool agree(int64_t a, int64_t b) { return a == free_dim || b == free_dim || a == b; }
};

}  // namespace

Chosen non_max_suppression(Emit &e, Id boxes, Id scores, const Suppression &how) {
  const auto made = e.step(make<NonMaxSuppressionOp>(how), {boxes, scores});
  return {made[0], made[1]};
}

}  // namespace dl4::ops
