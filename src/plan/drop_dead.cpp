// Pass: keep the steps that an output, a write or a check needs.
#include "ops/op.hpp"
#include "plan/passes.hpp"

namespace dl4::plan {

void drop_dead(ops::Program &p) {
  ops::PerValue<bool> live(p);
  auto mark = [&](ops::Id v) {
    if (v != ops::none) live[v] = true;
  };
  for (ops::Id v : p.outputs) mark(v);
  for (const ops::Write &w : p.writes) mark(w.value);
  std::vector<ops::Step> kept;
  for (size_t s = p.steps.size(); s-- > 0;) {
    bool needed = p.steps[s].op->is_volatile();
    for (ops::Id v : p.steps[s].dst) needed |= live[v];
    if (!needed) continue;
    for (size_t i = 0; i < p.steps[s].src.size(); ++i)
      if (p.steps[s].op->reads(static_cast<int>(i))) mark(p.steps[s].src[i]);
    kept.push_back(std::move(p.steps[s]));
  }
  p.steps.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

}  // namespace dl4::plan
