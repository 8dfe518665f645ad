// Pass: a step that changes nothing at the shapes it got is left out, and what read its result reads its source.
#include "ops/op.hpp"
#include "plan/passes.hpp"

namespace dl4::plan {

void drop_identities(ops::Program &p) {
  std::vector<ops::Id> same(p.values.size());
  for (size_t v = 0; v < same.size(); ++v) same[v] = static_cast<ops::Id>(v);
  auto find = [&](ops::Id v) { return v == ops::none ? v : same[static_cast<size_t>(v)]; };
  std::vector<ops::Step> kept;
  for (ops::Step &step : p.steps) {
    std::vector<ops::Operand> src;
    for (ops::Id &v : step.src) {
      v = find(v);
      src.push_back(v == ops::none ? ops::absent : ops::Operand{p[v].dtype, p[v].shape});
    }
    if (step.dst.size() == 1 && step.op->is_identity(src))
      same[static_cast<size_t>(step.dst[0])] = step.src[0];
    else
      kept.push_back(std::move(step));
  }
  p.steps = std::move(kept);
  for (ops::Id &v : p.outputs) v = find(v);
  for (ops::Write &w : p.writes) w.value = find(w.value);
}

}  // namespace dl4::plan
