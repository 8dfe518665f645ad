// update: one pass over a flat block of weights and its slots.
// pack: many values in one flat block, with zeros between.
#include "ops/update.hpp"

#include "ops/matched.hpp"

namespace dl4::ops {

template <class How>
std::vector<Operand> UpdateOf<How>::infer(Operands src) const {
  const auto slots = static_cast<size_t>(how.slots());
  const size_t given = src.size() - first_slot - 2 * parts.size();  // bounded: of a step's sources
  if (given != slots)
    fail(Code::invalid_argument, How::name, " keeps ", slots, " values beside each weight, got ", given);
  Operand block = src[0];
  want_float(How::name, block);
  for (size_t i = first_slot; i < first_slot + slots; ++i) {
    want_float(How::name, src[i]);
    block.shape = same_shape(How::name, block.shape, src[i].shape);
  }
  want_gradient(How::name, src, parts, first_slot + slots);
  want_number(text("the learning rate of ", How::name).c_str(), src[2], DType::f32);
  if (How::counts) want_number(text("the step of ", How::name).c_str(), src[3], DType::i64);
  if (How::has_number) want_number(text("the number of ", How::name).c_str(), src[4], DType::f32);
  return std::vector<Operand>(1 + slots, block);
}

template <class How>
std::vector<Id> update(Emit &e, const How &how, const UpdateFrom &from) {
  std::vector<Id> src{from.w, from.g, from.lr, How::counts ? from.t : none, How::has_number ? from.number : none};
  src.insert(src.end(), from.slots.begin(), from.slots.end());
  return e.step(std::make_shared<UpdateOf<How>>(how, from.except), std::move(src));
}

#define DL4_UPDATE(How)          \
  template struct UpdateOf<How>; \
  template std::vector<Id> update(Emit &, const How &, const UpdateFrom &);
DL4_UPDATES(DL4_UPDATE)
#undef DL4_UPDATE

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
