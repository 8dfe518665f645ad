// Pass: zero padding of an image that only a convolution reads becomes the convolution's padding.
#include <algorithm>

#include "ops/conv.hpp"
#include "ops/matched.hpp"
#include "plan/passes.hpp"

namespace dl4::plan {
namespace {

using namespace ops;

// The convolution of `pad`'s source, or nullptr. Excludes 1x1 windows, which may be products, and pads larger than the
// image, for which other kernels are faster.
std::shared_ptr<const Op> with_padding(const Program &p, const ConvOp &conv, const PadOp &pad, const Step &step, Id x) {
  const int axis = pad.axis - 1, spatial = static_cast<int>(conv.how.strides.size());
  const int64_t n = p[x].shape[pad.axis];
  if (conv.how.padding != Padding::valid || axis < 0 || axis >= spatial || p[step.src[1]].shape[axis] == 1) return {};
  if (n == free_dim || std::min(pad.before, pad.after) < 0) return {};
  Margins zeros = conv.zeros;
  zeros.before.resize(conv.how.strides.size(), 0), zeros.after.resize(conv.how.strides.size(), 0);
  int64_t &before = zeros.before[static_cast<size_t>(axis)], &after = zeros.after[static_cast<size_t>(axis)];
  before += pad.before, after += pad.after;
  if (std::max(before, after) > n) return {};
  return std::make_shared<ConvOp>(conv.how, conv.fused, std::move(zeros));
}

}  // namespace

void fold_padding(Program &p) {
  const auto by = producers(p);
  const auto used = uses(p);
  for (Step &step : p.steps)
    while (const auto *conv = as<ConvOp>(step)) {
      const Id from = step.src[0];
      const auto *pad = used[from] == 1 && by[from] ? as<PadOp>(p.steps[*by[from]]) : nullptr;
      if (!pad) break;
      const Id x = p.steps[*by[from]].src[0];
      auto op = with_padding(p, *conv, *pad, step, x);
      if (!op) break;
      step.op = std::move(op), step.src[0] = x;
    }
}

}  // namespace dl4::plan
