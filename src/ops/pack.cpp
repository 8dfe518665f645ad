// pack: many values in one flat block, with zeros between.
#include "ops/pack.hpp"
#include "ops/op.hpp"

#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
std::vector<Operand> PackOp::infer(Operands src) const {
  for (size_t i = 0; i < src.size(); ++i) {
    if (src[i].dtype != src[0].dtype)
      fail(Code::invalid_argument, "pack expects equal dtypes, got ", src[0].dtype, " and ", src[i].dtype);
    int64_t n = src[i].shape.known() ? src[i].shape.elements() : 0;
    int64_t end = i + 1 < src.size() ? offsets[i + 1] : total;
    if (offsets[i] < 0 || checked_add(offsets[i], n) > end)
      fail(Code::shape_mismatch, "pack: part ", i, " ", src[i].shape, " at ", offsets[i], " runs past ", end);
  }
  return {{src.empty() ? DType::f32 : src[0].dtype, {total}}};
}

void PackOp::gradient(Gradient &g) const {
  for (int i = 0; g.has(i); ++i)
    if (g.wants(i)) g.set(i, view(g.e, g.diff_dst(), offsets[static_cast<size_t>(i)], g.e.shape(g.src(i))));
}

Id pack(Emit &e, std::vector<Id> parts, std::vector<int64_t> offsets, int64_t total) {
  if (parts.size() != offsets.size())
    fail(Code::invalid_argument, "pack: ", parts.size(), " parts and ", offsets.size(), " offsets");
  int64_t size = parts.empty() ? 4 : size_of(e.dtype(parts[0]));
  return e.value(std::make_shared<PackOp>(std::move(offsets), total, size), std::move(parts));
}

}  // namespace dl4::ops
