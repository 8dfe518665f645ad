// Kernels of optimizer updates.
#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/elementwise/block_update.hpp"
#include "ops/update.hpp"

namespace dl4::cpu {
namespace {

// Elements of the gradient, including row parts.
int64_t gradient_elements(const Site &site, std::span<const ops::RowPart> parts) {
  int64_t n = site.src[1].shape.elements();
  for (size_t i = 0, last = site.src.size() - 1; i < parts.size(); ++i, last -= 2)
    n = checked_add(n, site.src[last].shape.elements());
  return n;
}

template <class How>
std::unique_ptr<Kernel> update(const ops::UpdateOf<How> &op, const Site &site) {
  const auto slots = static_cast<size_t>(op.how.slots());
  const bool rests = op.how.rests() && op.how.weight_decay == 0;
  const int64_t moved = rests ? gradient_elements(site, op.parts) : site.dst[0].shape.elements();
  const double us = us_per_byte * static_cast<double>(checked_mul(moved, checked_add(12, checked_mul(slots, 8))));
  How undecayed = op.how;
  undecayed.weight_decay = 0;
  std::vector<int64_t> counts;
  for (size_t i = ops::UpdateOp::first_slot + slots; i < site.src.size(); i += 2)
    counts.push_back(site.src[i].shape[0]);
  kernels::GradientRows rows(op.parts, std::move(counts), ops::UpdateOp::first_slot + slots);
  kernels::BlockUpdate<How, ops::UpdateExcept> block{
      op.how, undecayed, rests, op.except, std::move(rows), ops::UpdateOp::first_slot, op.how.slots()};
  return sliced(
      How::name, site, site.dst[0].shape.elements(), us,
      [block = std::move(block)](int64_t begin, int64_t end, const Run &r) {
        kernels::Now now{*r.in<float>(2)};
        if constexpr (How::counts) now.t = *r.in<int64_t>(3);
        if constexpr (How::has_number) now.number = *r.in<float>(4);
        block.run(r, now, begin, end);
      },
      line_block);
}

}  // namespace

std::span<const Row> updates_kernels() {
#define DL4_ROW(How) row<ops::UpdateOf<ops::How>, update<ops::How>>(),
  static const Row rows[] = {DL4_UPDATES(DL4_ROW)};
#undef DL4_ROW
  return rows;
}

}  // namespace dl4::cpu
