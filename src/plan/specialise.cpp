// From a Program to a Plan: shapes, passes, memory, kernels.
#include <algorithm>

#include "base/float_mode.hpp"
#include "base/take.hpp"
#include "ops/matched.hpp"
#include "plan/loop.hpp"
#include "plan/passes.hpp"
#include "plan/placement.hpp"
#include "plan/plan.hpp"

namespace dl4::plan {
namespace {

using namespace ops;

// Known values: constants, those given, and views of both.
PerValue<Known> known_values(const Program &p, std::span<const Known> others) {
  PerValue<Known> known(p);
  for (Id v : p.ids())
    if (p[v].role == Role::constant) known[v] = {v, p[v].data, ""};
  for (const Known &k : others) known[k.value] = k;
  for (const Step &step : p.steps) {
    if (!step.op->is_view()) continue;
    const Known &from = known[step.src[0]];
    if (!from.data.data) continue;
    const Value &to = p[step.dst[0]];
    Bytes data(from.data.data, from.data.data.get() + step.op->view_offset());
    std::string key = from.key.empty() ? "" : text(from.key, '+', step.op->view_offset(), to.shape);
    known[step.dst[0]] = {step.dst[0], {to.dtype, to.shape, std::move(data)}, std::move(key)};
  }
  return known;
}

Site site_of(const Program &p, const Step &step, const Placement &placement, const PerValue<Known> &known,
             const Options &options, Packs *packs) {
  Site site = dispatch::site(p, step);
  for (size_t i = 0; i < step.src.size(); ++i) {
    if (step.src[i] == none) continue;
    const Known &k = known[step.src[i]];
    if (k.data.data) site.constant[i] = &k.data;
    site.constant_key[i] = k.key;
  }
  for (size_t i = 0; i < step.dst.size(); ++i) site.dst[i].present = placement.is_wanted(step.dst[i]);
  site.cutting = options.cutting;
  site.off = options.kernels_off;
  site.packs = packs;
  site.weights = options.weights;
  site.math = options.math;
  return site;
}

std::string step_line(const PlanStep &step) {
  return text(step.text, "  by ", step.kernel->name,
              step.choices.empty() ? "" : text(" (", dispatch::told(step.choices), ')'), " in ", step.kernel->slices,
              step.kernel->slices == 1 ? " slice" : " slices",
              step.kernel->phases == 1 ? "" : text(" of ", step.kernel->phases, " phases"));
}

// Logs the plan, at debug level with each step.
void tell(const Log &log, const Plan &plan, const Stopwatch &watch) {
  if (!log.takes(Log::info)) return;
  std::string shapes;
  for (const Operand &o : plan.inputs) shapes += text(shapes.empty() ? "" : " ", o.shape);
  log.write(Log::info, "plan for ", shapes.empty() ? "no input" : shapes, ": ", plan.steps.size(), " steps, arena of ",
            plan.arena_bytes, " bytes, made in ", watch.told());
  if (!log.takes(Log::debug)) return;
  for (const PlanStep &s : plan.steps) {
    log.write(Log::debug, "  ", s.scope.empty() ? "" : s.scope + ": ", step_line(s));
    const std::string inner = inner_plan(*s.kernel);
    for (std::string_view rest = inner; !rest.empty();) log.write(Log::debug, "  ", take(rest, '\n'));
  }
}

}  // namespace

std::unique_ptr<const Plan> specialise(const Program &program, std::span<const Shape> inputs,
                                       std::span<const Tensor *const> states, const Options &options, Packs *packs) {
  std::vector<Known> known;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i]) known.push_back({program.states[i], *states[i], text("state ", i)});
  return specialise(program, inputs, known, options, packs);
}

std::unique_ptr<const Plan> specialise(const Program &program, std::span<const Shape> inputs,
                                       std::span<const Known> others, const Options &options, Packs *packs) {
  const Stopwatch watch;
  FlushToZero flush;                          // folding and packing must round as a run does
  kernels::SingleThreaded single;             // oneDNN books scratch for the threads it finds when a primitive is made
  const auto held = backend::while_making();  // shared by all steps
  auto plan = std::make_unique<Plan>();
  if (const Step *range = sized_by_numbers(program))
    fail(Code::unsupported, who(range->scope), ": its size is computed by the run, which only sessions support");
  plan->program = resolve(program, inputs);
  Program &p = plan->program;
  run_passes(p, options.passes_off, options.check);

  Placement placement(p, options.passes_off);
  const PerValue<Known> known = known_values(p, others);
  std::vector<int64_t> scratch;
  for (const Step &step : p.steps) {
    if (options.cancel && options.cancel->load(std::memory_order_relaxed))
      fail(Code::cancelled, "cancelled while the plan was made, before step ", plan->steps.size() + 1, " of ",
           p.steps.size());
    PlanStep s;
    s.number = static_cast<int32_t>(plan->steps.size());
    s.scope = step.scope;
    s.text = to_string(p, step);
    if (!step.op->is_view()) {
      try {
        Site site = site_of(p, step, placement, known, options, packs);
        site.choices = &s.choices;
        s.kernel = make_kernel(step, site, options);
      } catch (Error &error) {
        ops::blame(error, step.scope);
        throw;
      }
    }
    scratch.push_back(s.kernel && s.kernel->slices > 0 ? s.kernel->scratch : 0);
    plan->steps.push_back(std::move(s));
  }
  std::erase_if(plan->steps, [](const PlanStep &s) { return !s.kernel || s.kernel->slices == 0; });
  // Guards require separate buffers for each step.
  if (options.guard_bytes == 0 && std::ranges::find(options.passes_off, "join_rows") == options.passes_off.end())
    join_rows(p, plan->steps);
  for (const PlanStep &s : plan->steps) {
    for (int32_t of = s.first; of >= 0 && of < s.number; ++of) scratch[static_cast<size_t>(of)] = 0;
    scratch[static_cast<size_t>(s.number)] = s.kernel->scratch;
  }
  placement.lay_out(scratch, plan->steps, options.guard_bytes, plan->constants);
  plan->arena_bytes = placement.arena_bytes;
  plan->guards = std::move(placement.guards);
  if (plan->arena_bytes > options.memory_limit)
    fail(Code::out_of_memory, "this run needs an arena of ", plan->arena_bytes, " bytes, the memory limit is ",
         options.memory_limit);

  for (PlanStep &s : plan->steps) {
    const Step &step = p.steps[static_cast<size_t>(s.number)];
    auto place = [&](Id v) { return v == none ? Place{} : placement.of[v]; };
    for (Id v : s.first < 0 ? step.src : s.values) s.args.push_back(place(v));
    s.sources = static_cast<int>(s.args.size());
    for (size_t i = 0; s.first < 0 && i < step.dst.size(); ++i)
      s.args.push_back(placement.is_wanted(step.dst[i]) ? place(step.dst[i]) : Place{});
    s.scratch = placement.scratch_of[static_cast<size_t>(s.number)];
  }
  const auto writes = [](const PlanStep &s) {  // joined steps list all arguments as sources
    return std::any_of(s.args.begin() + (s.first < 0 ? s.sources : 0), s.args.end(),
                       [](const Place &place) { return place.region == Place::Region::state; });
  };
  plan->first_write = static_cast<size_t>(std::ranges::find_if(plan->steps, writes) - plan->steps.begin());
  plan->inputs = operands(p, p.inputs);
  plan->outputs = operands(p, p.outputs);
  if (options.log) tell(*options.log, *plan, watch);
  return plan;
}

std::string Plan::to_string() const {
  auto word = [](const Place &place) {
    constexpr const char *names[] = {"-", "arena", "input", "output", "state", "constant"};
    std::string s = names[static_cast<int>(place.region)];
    if (place.region > Place::Region::arena) s += std::to_string(place.index);
    if (place.region != Place::Region::nowhere) s += text('+', place.offset);
    return s;
  };
  std::string s = text("arena ", arena_bytes, " bytes, ", steps.size(), " steps\n");
  for (const PlanStep &step : steps) {
    s += text("  ", step_line(step), " [");
    for (size_t i = 0; i < step.args.size(); ++i) s += text(i ? " " : "", word(step.args[i]));
    s += text(']', step.scope.empty() ? "" : "  # " + step.scope, '\n', inner_plan(*step.kernel));
  }
  return s;
}

}  // namespace dl4::plan
