// Pass: a step that changes nothing at the shapes it got is left out, and what read its result reads its source.
#include "ops/broadcast.hpp"
#include "plan/passes.hpp"
#include "plan/renaming.hpp"

namespace dl4::plan {
namespace {

// A broadcast, or the sum that undoes one, to the shape that is there already.
bool changes_nothing(const ops::Program &p, const ops::Step &step) {
  if (!ops::as<ops::BroadcastOp>(step) && !ops::as<ops::SumLikeOp>(step)) return false;
  return p[step.src[0]].shape == p[step.src[1]].shape;
}

}  // namespace

void drop_identities(ops::Program &p) {
  Renaming renaming(p);
  std::vector<ops::Step> kept;
  for (ops::Step &step : p.steps) {
    renaming.rename(step);
    if (changes_nothing(p, step))
      renaming.replace(step.dst[0], step.src[0]);
    else
      kept.push_back(std::move(step));
  }
  p.steps = std::move(kept);
  renaming.rename_results(p);
}

}  // namespace dl4::plan
