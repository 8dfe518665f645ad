// Pass: fuses a bias that is the only reader of a product or convolution, and an activation that is the only reader of
// one of these or of an elementwise op. The fused kernel applies it slice by slice, in cache.
#include "ops/conv.hpp"
#include "ops/matched.hpp"
#include "ops/op.hpp"
#include "plan/passes.hpp"

namespace dl4::plan {
namespace {

using namespace ops;

struct Fusion {
  std::shared_ptr<const Op> op;
  std::vector<Id> src;
};

// The fusion of an op; nullptr if it can't be fused with.
const Fused *fused_of(const Step &step) {
  if (auto *product = as<MatMulOp>(step)) return &product->fused;
  if (auto *conv = as<ConvOp>(step)) return &conv->fused;
  return nullptr;
}

std::shared_ptr<const Op> fused_with(const Step &step, const Fused &fused) {
  if (auto *product = as<MatMulOp>(step)) return std::make_shared<MatMulOp>(product->how, fused);
  const auto *conv = as<ConvOp>(step);
  return std::make_shared<ConvOp>(conv->how, fused, conv->zeros);
}

// Merges step `s` into `before`, which makes `from`; the op is empty if that is impossible. Same bits, except where a
// library adds the bias in its own order.
Fusion merge(const Program &p, const Step &before, const Step &s, Id from) {
  auto *unary = as<UnaryOp>(s);
  if (auto *two = as<BinaryOp>(before); two && unary && !two->activation)
    return {std::make_shared<BinaryOp>(two->f, two->into, unary->function), before.src};
  const Fused *fused = fused_of(before);
  if (!fused || fused->activation) return {};
  if (unary) return {fused_with(before, {fused->bias, unary->function}), before.src};
  auto *sum = as<BinaryOp>(s);
  if (!sum || sum->f != Binary::add || sum->activation || fused->bias) return {};
  Id bias = s.src[0] == from ? s.src[1] : s.src[0];
  bool row = bias != from && p[bias].shape.rank() == 1 && p[bias].shape[0] == p[from].shape.last() &&
             p[s.dst[0]].shape == p[from].shape;
  if (!row) return {};
  Fusion fusion{fused_with(before, {.bias = true}), before.src};
  fusion.src.push_back(bias);
  return fusion;
}

}  // namespace

void fuse_epilogues(Program &p) {
  auto by = producers(p);
  auto used = uses(p);
  for (size_t s = 0; s < p.steps.size(); ++s) {
    Step &step = p.steps[s];
    if (step.dst.size() != 1) continue;
    for (size_t i = 0; i < step.src.size(); ++i) {
      Id from = step.src[i];
      if (from == none || used[from] != 1 || !by[from]) continue;
      const size_t maker = *by[from];
      if (p.steps[maker].dst.size() != 1) continue;
      Fusion fusion = merge(p, p.steps[maker], step, from);
      if (!fusion.op) continue;
      // The fused step takes the later position, where all its sources exist.
      step = {std::move(fusion.op), std::move(fusion.src), step.dst, p.steps[maker].scope};
      p.steps[maker].op = nullptr;
      break;
    }
  }
  std::erase_if(p.steps, [](const Step &s) { return !s.op; });
}

}  // namespace dl4::plan
