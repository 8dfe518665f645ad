// Pass: removes steps that change nothing at the given shapes; readers of the result read the source instead.
#include <algorithm>

#include "ops/attributes.hpp"
#include "ops/matched.hpp"
#include "ops/ops.hpp"
#include "plan/passes.hpp"
#include "plan/renaming.hpp"

namespace dl4::plan {
namespace {

// An op that only redirects gradients.
bool is_straight_through(const ops::Program &, const ops::Step &step) {
  return ops::as<ops::attributes::StraightThrough>(step) != nullptr;
}

// A broadcast, or the sum that undoes one, to the shape that the value already has.
bool changes_nothing(const ops::Program &p, const ops::Step &step) {
  if (is_straight_through(p, step)) return true;
  if (!ops::as<ops::BroadcastOp>(step) && !ops::as<ops::SumLikeOp>(step)) return false;
  return p[step.src[0]].shape == p[step.src[1]].shape;
}

// A permutation that only moves axes of size 1 keeps the elements' order.
bool only_reshapes(const ops::Program &p, const ops::Step &step) {
  const auto *transpose = ops::as<ops::attributes::Transpose>(step);
  if (!transpose) return false;
  int last = -1;
  for (int axis : transpose->perm) {
    if (p[step.src[0]].shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

void drop(ops::Program &p, bool (*is_for_nothing)(const ops::Program &, const ops::Step &)) {
  replace_steps(p, [&](const ops::Step &step, Renaming &renaming) {
    if (!is_for_nothing(p, step)) return false;
    renaming.replace(step.dst[0], step.src[0]);
    return true;
  });
}

}  // namespace

void drop_identities(ops::Program &p) {
  drop(p, changes_nothing);
  replace_steps(p, [&](const ops::Step &step, Renaming &renaming) {
    if (!only_reshapes(p, step)) return false;
    ops::Emit e(p);
    e.scope = step.scope;
    renaming.replace(step.dst[0], ops::reshape(e, step.src[0], 0, p[step.dst[0]].shape));
    return true;
  });
}

void drop_straight_through(ops::Program &p) {
  if (std::none_of(p.steps.begin(), p.steps.end(), [&](const ops::Step &s) { return is_straight_through(p, s); }))
    return;
  drop(p, is_straight_through);
  drop_unread(p);
}

}  // namespace dl4::plan
