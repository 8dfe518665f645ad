// Nested plans.
#include "plan/nested.hpp"

#include <algorithm>

namespace dl4::plan {
namespace {

// Merges steps into single-slice stages where possible: starting a phase costs time.
std::vector<Stage> stages_of(const Plan &plan) {
  std::vector<Stage> stages;
  for (size_t k = 0; k < plan.steps.size(); ++k) {
    const kernels::Kernel &kernel = *plan.steps[k].kernel;
    const bool joins = kernel.slices == 1 && kernel.phases == 1;
    if (joins && !stages.empty() && stages.back().slices == 1 && stages.back().phase == 0 &&
        plan.steps[k - 1].kernel->phases == 1) {
      ++stages.back().count;
      continue;
    }
    for (int64_t phase = 0; phase < kernel.phases; ++phase) stages.push_back({k, 1, phase, kernel.slices});
  }
  return stages;
}

}  // namespace

int64_t bytes_of(const ops::Operand &o) { return checked_mul(o.shape.elements(), size_of(o.dtype)); }

Nested::Nested(const ops::Program &body, std::span<const Shape> inputs, std::span<const Known> known,
               const dispatch::Site &site, const Options &around, int threads) {
  Options options = around;
  options.cutting = site.cutting;
  options.cutting.least = site.cutting.least / 4;  // starting a phase costs less than starting a kernel
  if (threads > 0) options.cutting.threads = threads;
  options.kernels_off.assign(site.off.begin(), site.off.end());
  options.guard_bytes = 0;
  options.log = nullptr;  // listed by the enclosing plan
  options.memory_limit = INT64_MAX;
  plan = specialise(body, inputs, known, options, site.packs);
  calls_host =
      std::any_of(plan->steps.begin(), plan->steps.end(), [](const auto &s) { return s.kernel->calls_host(); });
  if (calls_host) {  // the whole plan then runs on the calling thread
    options.cutting.threads = 1;
    plan = specialise(body, inputs, known, options, site.packs);
  }
  stages = stages_of(*plan);
  for (const Stage &s : stages) slices = std::max(slices, s.slices);
  for (const PlanStep &s : plan->steps) {
    first_.push_back(arguments_);
    arguments_ += s.args.size() + 1;
  }
}

std::unique_ptr<NestedFrame> Nested::bind() const {
  auto frame = std::make_unique<NestedFrame>();
  for (const PlanStep &s : plan->steps) frame->bound.push_back(s.kernel->bind());
  frame->args.resize(static_cast<size_t>(checked_mul(slices, static_cast<int64_t>(arguments_))));
  frame->moves.reserve(arguments_);
  return frame;
}

}  // namespace dl4::plan
