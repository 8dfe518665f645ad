// Pass: a bias row or an activation that alone reads a product or convolution is done by it, slice by slice in cache.
#include "ops/op.hpp"
#include "plan/passes.hpp"

namespace dl4::plan {
namespace {

using namespace ops;

struct Fusion {
  std::shared_ptr<const Op> op;
  std::vector<Id> src;
};

// The step `s` merged into `before`, which made `from`; an empty op when it does not merge.
Fusion merge(const Program &p, const Step &before, const Step &s, Id from) {
  kernels::Unary f;
  std::array<float, 3> param{};
  if (s.op->is_unary(&f, &param)) return {before.op->with_activation(f, param), before.src};
  if (!s.op->is_add()) return {};
  Id bias = s.src[0] == from ? s.src[1] : s.src[0];
  bool row = bias != from && p[bias].shape.rank() == 1 && p[bias].shape[0] == p[from].shape.last() &&
             p[s.dst[0]].shape == p[from].shape;
  if (!row) return {};
  Fusion fused{before.op->with_bias(), before.src};
  fused.src.push_back(bias);
  return fused;
}

}  // namespace

void fuse_epilogues(Program &p) {
  auto by = producers(p);
  auto used = uses(p);
  std::vector<bool> gone(p.steps.size(), false);
  for (size_t s = 0; s < p.steps.size(); ++s) {
    Step &step = p.steps[s];
    if (step.dst.size() != 1) continue;
    for (size_t i = 0; i < step.src.size(); ++i) {
      Id from = step.src[i];
      if (from == none || used[static_cast<size_t>(from)] != 1 || by[static_cast<size_t>(from)] < 0) continue;
      auto maker = static_cast<size_t>(by[static_cast<size_t>(from)]);
      if (p.steps[maker].dst.size() != 1) continue;
      Fusion fused = merge(p, p.steps[maker], step, from);
      if (!fused.op) continue;
      // The fused step stands where the later one stood: only there are all its sources made.
      step = {std::move(fused.op), std::move(fused.src), step.dst, p.steps[maker].scope};
      gone[maker] = true;
      break;
    }
  }
  std::vector<Step> kept;
  for (size_t s = 0; s < p.steps.size(); ++s)
    if (!gone[s]) kept.push_back(std::move(p.steps[s]));
  p.steps = std::move(kept);
}

}  // namespace dl4::plan
