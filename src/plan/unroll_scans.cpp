// Pass: replaces a scan of one step by its body.
#include "ops/ops.hpp"
#include "ops/scan.hpp"
#include "plan/passes.hpp"
#include "plan/renaming.hpp"

namespace dl4::plan {
namespace {

using namespace ops;

bool is_one_step(const Program &p, const Step &step) {
  const auto *scan = as<ScanOp>(step);
  if (!scan || scan->some_volatile) return false;
  std::vector<Operand> src;
  for (Id v : step.src) src.push_back(v == none ? absent : Operand{p[v].dtype, p[v].shape});
  return scan->time(src) == 1;
}

// Appends the body's steps to the program and replaces the scan's destinations by their results.
void write_body(Program &p, const Step &step, Renaming &renaming) {
  const ScanOp &scan = *as<ScanOp>(step);
  const Program &body = *scan.body;
  Emit e(p);
  PerValue<Id> of(body, none);
  for (Id v : body.ids())
    if (body[v].role == Role::constant) of[v] = e.constant(body[v].data);
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    e.scope = step.scope;
    of[body.inputs[i]] = is_stacked(scan.carry[i]) ? squeeze(e, step.src[i], 0) : step.src[i];
  }
  for (const Step &s : body.steps) {
    std::vector<Id> src;
    for (Id v : s.src) src.push_back(v == none ? none : of[v]);
    e.scope = s.scope.empty() ? step.scope : s.scope;
    const std::vector<Id> dst = e.step(s.op, std::move(src));
    for (size_t i = 0; i < dst.size(); ++i) of[s.dst[i]] = dst[i];
  }
  e.scope = step.scope;
  const size_t outputs = body.outputs.size();
  for (size_t j = 0; j < outputs; ++j) renaming.replace(step.dst[j], expand_dims(e, of[body.outputs[j]], 0));
  for (size_t j = outputs; j < step.dst.size(); ++j) renaming.replace(step.dst[j], of[body.outputs[j - outputs]]);
}

}  // namespace

void unroll_scans(Program &p) {
  replace_steps(p, [&](const Step &step, Renaming &renaming) {
    if (!is_one_step(p, step)) return false;
    write_body(p, step, renaming);
    return true;
  });
}

}  // namespace dl4::plan
