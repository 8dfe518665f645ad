// Follows rows through the ops of recurrent cells.
#include "plan/rows_apart.hpp"

#include <algorithm>
#include <array>

#include "ops/attributes.hpp"
#include "ops/elementwise.hpp"
#include "ops/matched.hpp"

namespace dl4::plan {
namespace {

using namespace ops;

// An element of each destination follows from elements of the same row of each source that has as many axes.
bool is_by_row(const Step &step) {
  const std::array<std::type_index, 4> others{typeid(attributes::UnaryGrad), typeid(attributes::Select),
                                              typeid(attributes::GruCell), typeid(attributes::GruCellGrad)};
  return as<UnaryOp>(step) || as<BinaryOp>(step) ||
         std::ranges::find(others, step.op->description().type) != others.end();
}

}  // namespace

bool are_rows_apart(const Program &body, const std::vector<bool> &rows) {
  std::vector<bool> has_rows(body.values.size());
  const auto has = [&](Id v) { return v != none && has_rows[static_cast<size_t>(v)]; };
  for (size_t i = 0; i < rows.size(); ++i) has_rows[static_cast<size_t>(body.inputs[i])] = rows[i];
  for (const Step &step : body.steps) {
    if (std::ranges::none_of(step.src, has)) continue;
    const int rank = body[step.dst[0]].shape.rank();
    const auto fits = [&](Id v) {
      return v == none || (has(v) ? body[v].shape.rank() == rank : body[v].shape.rank() < rank);
    };
    bool apart = is_by_row(step) && std::ranges::all_of(step.src, fits);
    if (const auto *product = as<MatMulOp>(step))
      apart = has(step.src[0]) && std::none_of(step.src.begin() + 1, step.src.end(), has) &&
              body[step.src[1]].shape.rank() == 2 && !product->how.transpose_a;
    if (!apart) return false;
    for (Id v : step.dst)
      if (v != none) has_rows[static_cast<size_t>(v)] = true;
  }
  return std::ranges::all_of(body.outputs, has);
}

}  // namespace dl4::plan
