// Values that a pass replaces by others.
#pragma once

#include "ops/program.hpp"

namespace dl4::plan {

// Steps are renamed in their order, so that a replacement is never replaced itself.
class Renaming {
 public:
  explicit Renaming(const ops::Program &p) : now_(p) {
    for (ops::Id v : now_.ids()) now_[v] = v;
  }

  void replace(ops::Id v, ops::Id by) { now_[v] = by; }
  void rename(ops::Step &step) const {
    for (ops::Id &v : step.src) v = now(v);
  }
  // What is read when all steps are done.
  void rename_results(ops::Program &p) const {
    for (ops::Id &v : p.outputs) v = now(v);
    for (ops::Write &w : p.writes) w.value = now(w.value);
  }

 private:
  ops::Id now(ops::Id v) const { return v == ops::none ? v : now_[v]; }

  ops::PerValue<ops::Id> now_;
};

}  // namespace dl4::plan
