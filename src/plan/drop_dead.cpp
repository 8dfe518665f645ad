// Pass: removes steps that no output, write or check needs.
#include <algorithm>

#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "plan/passes.hpp"

namespace dl4::plan {
namespace {

// Finds the values that are needed, from the end of the Program backwards.
struct Live {
  explicit Live(const ops::Program &p) : values(p) {
    for (ops::Id v : p.outputs) mark(v);
    for (const ops::Write &w : p.writes) mark(w.value);
  }
  void mark(ops::Id v) {
    if (v != ops::none) values[v] = true;
  }
  bool has(const ops::Step &step) const {
    return std::any_of(step.dst.begin(), step.dst.end(), [&](ops::Id v) { return values[v]; });
  }
  void mark_sources(const ops::Step &step, bool shapes = false) {
    for (size_t i = 0; i < step.src.size(); ++i)
      if (shapes || step.op->reads(static_cast<int>(i))) mark(step.src[i]);
  }
  ops::PerValue<bool> values;
};

// shapes: keeps what is read for its shape alone.
void drop(ops::Program &p, bool shapes) {
  Live live(p);
  std::vector<ops::Step> kept;
  for (size_t s = p.steps.size(); s-- > 0;) {
    if (!p.steps[s].op->is_volatile() && !live.has(p.steps[s])) continue;
    live.mark_sources(p.steps[s], shapes);
    kept.push_back(std::move(p.steps[s]));
  }
  p.steps.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

}  // namespace

void drop_dead(ops::Program &p) { drop(p, false); }
void drop_unread(ops::Program &p) { drop(p, true); }

void leave_unread_sums(ops::Program &p) {
  Live live(p);
  for (size_t s = p.steps.size(); s-- > 0;)
    if (live.has(p.steps[s]))
      live.mark_sources(p.steps[s]);
    else if (all_reduced(p, p.steps[s]) >= 0)
      leave_workers(p.steps[s]);
}

}  // namespace dl4::plan
