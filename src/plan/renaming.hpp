// Replacement of values by a pass.
#pragma once

#include "ops/program.hpp"

namespace dl4::plan {

// Steps are renamed in order, so a replacement is never itself replaced.
class Renaming {
 public:
  explicit Renaming(const ops::Program &p) : now_(p) {
    for (ops::Id v : now_.ids()) now_[v] = v;
  }

  void replace(ops::Id v, ops::Id by) { now_[v] = by; }
  void rename(ops::Step &step) const {
    for (ops::Id &v : step.src) v = now(v);
  }
  // Renames outputs and writes; called after all steps.
  void rename_results(ops::Program &p) const {
    for (ops::Id &v : p.outputs) v = now(v);
    for (ops::Write &w : p.writes) w.value = now(w.value);
  }

 private:
  ops::Id now(ops::Id v) const { return v == ops::none ? v : now_[v]; }

  ops::PerValue<ops::Id> now_;
};

// Renames each step in order. Where instead(step, renaming) returns true, the step is removed in favour of what the
// function added.
template <class F>
void replace_steps(ops::Program &p, F instead) {
  Renaming renaming(p);
  std::vector<ops::Step> steps = std::move(p.steps);
  p.steps.clear();
  for (ops::Step &step : steps) {
    renaming.rename(step);
    if (!instead(step, renaming)) p.steps.push_back(std::move(step));
  }
  renaming.rename_results(p);
}

}  // namespace dl4::plan
