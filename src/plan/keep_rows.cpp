// Pass: the gradient of a table of which a run uses few rows is passed to the update as rows, without a dense table.
#include <algorithm>

#include "ops/matched.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/update.hpp"
#include "plan/passes.hpp"

namespace dl4::plan {
namespace {

using namespace ops;

// A scatter_add that only the pack reads, into more rows than it adds.
bool keeps_rows(const Program &p, const Step &scatter) {
  const Shape &table = p[scatter.dst[0]].shape;
  return as<ScatterAddOp>(scatter) && table.rank() == 2 && table[1] > 0 &&
         p[scatter.src[1]].shape.elements() < table[0];
}

}  // namespace

void keep_rows(Program &p) {
  auto by = producers(p);
  auto used = uses(p);
  auto made_for_one = [&](Id v) {
    const Step *s = maker(p, by, v);
    return s && used[v] == 1 ? s : nullptr;
  };
  for (size_t s = 0, end = p.steps.size(); s < end; ++s) {
    const auto *rule = dynamic_cast<const UpdateOp *>(p.steps[s].op.get());
    if (!rule) continue;
    const Step update = p.steps[s];  // a copy: emitting reallocates the list
    const Step *packing = made_for_one(update.src[1]);
    if (!packing || !as<PackOp>(*packing) || packing->src.empty()) continue;
    const Step pack = *packing;
    const std::vector<int64_t> &begins = as<PackOp>(pack)->offsets;

    Emit e(p);
    e.scope = update.scope;
    std::vector<RowPart> rows;
    std::vector<Id> parts, src = update.src;
    std::vector<int64_t> offsets;
    int64_t total = p[pack.dst[0]].shape[0], missing = 0;
    for (size_t i = 0; i < pack.src.size(); ++i) {
      const int64_t begin = begins[i], end_of_part = i + 1 < begins.size() ? begins[i + 1] : total;
      const Step *made = made_for_one(pack.src[i]);
      if (!made || !keeps_rows(p, *made)) {
        parts.push_back(pack.src[i]);
        offsets.push_back(begin - missing);
        continue;
      }
      const Step scatter = *made;
      const Shape &table = p[scatter.dst[0]].shape;
      rows.push_back({begin, end_of_part, table[0], table[1]});
      missing += end_of_part - begin;
      RowSums sums = row_sums(e, scatter.src[0], scatter.src[1], scatter.src[2]);
      src.insert(src.end(), {sums.ids, sums.rows});
    }
    if (rows.empty()) continue;
    src[1] = ops::pack(e, std::move(parts), std::move(offsets), total - missing);
    p.steps[s] = {rule->with_rows(std::move(rows)), std::move(src), update.dst, update.scope};
    // Moves the emitted steps before the update.
    auto at = [&](size_t i) { return p.steps.begin() + static_cast<std::ptrdiff_t>(i); };
    std::rotate(at(s), at(end), p.steps.end());
    return;  // a Program has at most one such update
  }
}

}  // namespace dl4::plan
