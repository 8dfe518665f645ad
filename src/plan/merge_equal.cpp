// Pass: common subexpression elimination over op, attributes and sources.
#include <bit>
#include <map>
#include <unordered_set>

#include "ops/op.hpp"
#include "plan/passes.hpp"
#include "plan/renaming.hpp"

namespace dl4::plan {
namespace {

using namespace ops;

// Compares steps by index.
struct Same {
  const std::vector<Step> &steps;

  size_t operator()(size_t s) const {
    size_t h = hash(*steps[s].op);
    for (Id v : steps[s].src) h = std::rotl(h, 7) ^ static_cast<size_t>(v);
    return h;
  }
  bool operator()(size_t a, size_t b) const {
    return steps[a].src == steps[b].src && equal(*steps[a].op, *steps[b].op);
  }
};

// Merges small constants with the same bytes.
void merge_constants(const Program &p, Renaming &renaming) {
  std::map<std::string, Id> seen;
  for (Id v : p.ids()) {
    const Value &value = p[v];
    if (value.role != Role::constant || value.data.bytes() > 64) continue;
    std::string key = text(value.dtype, value.shape, '|');
    key.append(value.data.chars());
    renaming.replace(v, seen.emplace(std::move(key), v).first->second);
  }
}

}  // namespace

void merge_equal(Program &p) {
  Renaming renaming(p);
  merge_constants(p, renaming);
  std::vector<Step> kept;
  const Same same{kept};
  std::unordered_set<size_t, Same, Same> seen(p.steps.size(), same, same);
  for (Step &step : p.steps) {
    renaming.rename(step);
    kept.push_back(std::move(step));
    if (kept.back().op->is_volatile()) continue;
    auto [first, fresh] = seen.insert(kept.size() - 1);
    if (fresh) continue;
    for (size_t i = 0; i < kept.back().dst.size(); ++i) renaming.replace(kept.back().dst[i], kept[*first].dst[i]);
    kept.pop_back();
  }
  p.steps = std::move(kept);
  renaming.rename_results(p);
}

}  // namespace dl4::plan
