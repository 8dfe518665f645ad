// The backward LSTM: gradients of the gates, from which products compute those of the weights.
#include "ops/attributes.hpp"
#include "ops/lstm.hpp"
#include "ops/op.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct LstmGradOp final : NotDifferentiable<LstmGradOp, "lstm_grad", attributes::LstmGrad> {
  int overwrites(int dst) const override { return dst == 0 ? lstm_grad_src::gates : -1; }

  std::vector<Operand> infer(Operands src) const override {
    const Shape &gates = src[lstm_grad_src::gates].shape;
    Shape state{gates[0], src[lstm_grad_src::recurrent_kernel].shape[0]};
    return {{DType::f32, gates}, {DType::f32, state}, {DType::f32, state}};
  }
};

}  // namespace

LstmDiffs lstm_grad(Emit &e, const std::array<Id, lstm_grad_src::count> &src, bool go_backwards) {
  auto dst = e.step(make<LstmGradOp>(go_backwards), {src.begin(), src.end()});
  return {dst[0], dst[1], dst[2]};
}

}  // namespace dl4::ops
