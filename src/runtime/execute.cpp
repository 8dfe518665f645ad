// The loop over a plan's kernels.
#include <chrono>
#include <cstring>

#include "runtime/executable.hpp"

namespace dl4::runtime {
namespace {

constexpr unsigned char guard_byte = 0xA5;

// Between steps `last` and `next`: checks guards of buffers whose life has ended, sets those whose life begins.
void move_guards(const std::vector<plan::Guard> &guards, int32_t last, int32_t next, std::byte *arena) {
  for (const plan::Guard &g : guards) {
    if (g.last < last || g.last >= next) continue;
    for (int64_t i = 0; i < g.size; ++i)
      if (static_cast<unsigned char>(arena[g.offset + i]) != guard_byte)
        fail(Code::internal, "a kernel wrote past its buffer, at arena offset ", g.offset + i, ", by step ", g.last);
  }
  for (const plan::Guard &g : guards)
    if (g.first > last && g.first <= next) std::memset(arena + g.offset, guard_byte, static_cast<size_t>(g.size));
}

// Out of line, to keep the loop of microsecond runs small.
[[noreturn, gnu::noinline]] void refuse(kernels::Fault fault, const plan::PlanStep &step,
                                        const kernels::Report &report) {
  int64_t value = report.value.load(std::memory_order_relaxed);
  std::string who = step.scope.empty() ? step.kernel->name : ops::who(step.scope);
  switch (fault) {
    case kernels::Fault::index_out_of_range:
      fail(Code::invalid_argument, who, ": index ", value, " is out of range, expected at least 0 and less than ",
           report.end.load(std::memory_order_relaxed));
    case kernels::Fault::not_finite:
      fail(Code::numeric, who, " is NaN or infinite");
    case kernels::Fault::callback:
      throw Error(Code::callback_failed, text(who, ": its function gave ", value))
          .with("answer", std::to_string(value));
    case kernels::Fault::too_many_steps:
      fail(Code::unsupported, who, ": the loops of this run take more than ", value,
           " steps, which is the \"step_limit\" of the context");
    case kernels::Fault::refused:
      fail(Code::shape_mismatch, who, ": ", report.why.load(std::memory_order_relaxed));
    default:
      fail(Code::internal, who, ": ", step.kernel->name, " failed with status ", value);
  }
}

// A step's slices, as a callable.
struct Slices {
  const Frame::Call &call;
  bool ends() const noexcept { return call.run.report->ends(); }
  void operator()(int64_t i) const noexcept {
    if (!ends()) call.kernel->run(i, call.run);
  }
};

}  // namespace

void Executable::run(Ready &ready, const std::atomic<int32_t> *cancel) {
  const CachedPlan &cached = *ready.cached;
  Frame &frame = *ready.frame;
  if (options_.run_counter) frame.number = runs_.fetch_add(1, std::memory_order_relaxed);
  for (size_t k = 0; k < cached.callers; ++k) {
    const CachedPlan::Outside &o = cached.outside[k];
    const auto i = static_cast<size_t>(o.index);
    frame.args[o.arg] = (o.region == plan::Place::Region::output ? frame.out[i] : frame.in[i]) + o.offset;
  }
  kernels::Report &report = frame.report;
  report.fault.store(kernels::Fault::none, std::memory_order_relaxed);
  report.steps.store(0, std::memory_order_relaxed);
  report.most_steps = options_.step_limit;
  report.cancel = cancel;
  if (options_.fill_nan || options_.profile) return watch(cached, frame);
  const size_t writes = options_.ends_writes ? cached.plan->first_write : SIZE_MAX;
  const bool crew = frame.cut > 0 && options_.crew->threads() > 1;
  const bool timed = crew && frame.cut > 1 && !frame.together.pass();
  const bool helped = crew && frame.together.helped();
  const auto start = timed ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  for (size_t s = 0; s < frame.calls.size(); ++s) {
    if (s == writes) report.cancel = nullptr;
    step(cached, frame, s, helped);
  }
  if (!timed) return;
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  frame.together.note(spent.count(), frame.cut);
}

void Executable::step(const CachedPlan &cached, Frame &frame, size_t s, bool helped) {
  const Frame::Call &call = frame.calls[s];
  if (call.alone) {
    call.kernel->run(0, call.run);
  } else {
    Slices slices{call};
    if (helped)
      frame.handover[s].run(*options_.crew, call.kernel->slices, slices, call.kernel->phases);
    else
      Handover::alone(call.kernel->slices, call.kernel->phases, slices);
  }
  if (!frame.report.ends()) return;
  for (const StringRoom *room : frame.rooms)
    if (room->refused)
      fail(Code::out_of_memory, ops::who(cached.plan->steps[s].scope), ": the strings that it makes take ",
           room->refused, " bytes, of the memory limit ", frame.strings_left, " are left");
  if (auto fault = frame.report.fault.load(std::memory_order_relaxed); fault != kernels::Fault::none)
    refuse(fault, cached.plan->steps[s], frame.report);
  fail(Code::cancelled, "cancelled in step ", s + 1, " of ", frame.calls.size());
}

void Executable::watch(const CachedPlan &cached, Frame &frame) {
  const auto &steps = cached.plan->steps;
  const bool crew = options_.crew->threads() > 1;
  if (options_.fill_nan) std::memset(frame.arena.get(), 0xFF, static_cast<size_t>(cached.plan->arena_bytes));
  for (size_t s = 0; s < steps.size(); ++s) {
    if (options_.fill_nan)
      move_guards(cached.plan->guards, s ? steps[s - 1].number : -1, steps[s].number, frame.arena.get());
    if (options_.ends_writes && s == cached.plan->first_write) frame.report.cancel = nullptr;
    const auto start = std::chrono::steady_clock::now();
    step(cached, frame, s, crew);
    auto spent = std::chrono::steady_clock::now() - start;
    cached.times[s].nanoseconds += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
    ++cached.times[s].runs;
  }
  if (options_.fill_nan && !steps.empty())
    move_guards(cached.plan->guards, steps.back().number, INT32_MAX, frame.arena.get());
}

}  // namespace dl4::runtime
