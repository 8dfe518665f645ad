// Values that a pass replaces by others.
#pragma once

#include <numeric>
#include <vector>

#include "ops/program.hpp"

namespace dl4::plan {

// Steps are renamed in their order, so that a replacement is never replaced itself.
class Renaming {
 public:
  explicit Renaming(const ops::Program &p) : now_(p.values.size()) { std::iota(now_.begin(), now_.end(), ops::Id{0}); }

  void replace(ops::Id v, ops::Id by) { now_[static_cast<size_t>(v)] = by; }
  void rename(ops::Step &step) const {
    for (ops::Id &v : step.src) v = now(v);
  }
  // What is read when all steps are done.
  void rename_results(ops::Program &p) const {
    for (ops::Id &v : p.outputs) v = now(v);
    for (ops::Write &w : p.writes) w.value = now(w.value);
  }

 private:
  ops::Id now(ops::Id v) const { return v == ops::none ? v : now_[static_cast<size_t>(v)]; }

  std::vector<ops::Id> now_;  // by value
};

}  // namespace dl4::plan
