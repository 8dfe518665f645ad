// Eviction of plans, and their frames.
#include "runtime/plan_cache.hpp"

#include "base/fork.hpp"

namespace dl4::runtime {
namespace {

using Region = plan::Place::Region;

constexpr int64_t mark = INT64_MIN / 2;  // added to an entry's users while it is changing

void *address(const Frame &frame, const plan::Plan &plan, const plan::Place &place) {
  if (place.region == Region::arena) return frame.arena.get() + place.offset;
  if (place.region == Region::constant)
    return plan.constants[static_cast<size_t>(place.index)].data.get() + place.offset;
  return nullptr;
}

}  // namespace

CachedPlan::State CachedPlan::state() const {
  if (const Seats *all = seats.load())
    for (const Seat &seat : *all)
      if (const int64_t users = seat.users.load(); users != 0) return users < 0 ? State::changing : State::in_use;
  return plan ? State::idle : State::empty;
}

bool CachedPlan::seize() {
  Seats *all = seats.load();
  if (!all) return true;  // no run has seen it
  for (size_t i = 0; i < seat_count; ++i) {
    int64_t none = 0;
    if ((*all)[i].users.compare_exchange_strong(none, mark, std::memory_order_acq_rel)) continue;
    release(i);
    return false;
  }
  return true;
}

void CachedPlan::release(size_t first) {
  for (size_t i = 0; i < first; ++i) (*seats.load())[i].users.fetch_sub(mark, std::memory_order_release);
}

std::unique_ptr<Frame> PlanCache::make_frame(const CachedPlan &cached) {
  const plan::Plan &plan = *cached.plan;
  auto frame = std::make_unique<Frame>(frame_bytes_, plan.arena_bytes);
  frame->arena = memory_->allocate(plan.arena_bytes, true);
  for (const auto &step : plan.steps) {
    for (const auto &place : step.args) frame->args.push_back(address(*frame, plan, place));
    frame->args.push_back(address(*frame, plan, step.scratch));
  }
  frame->handover.resize(plan.steps.size());
  NoFork whole;  // locks of the libraries are below this one
  for (const auto &step : plan.steps) frame->bound.push_back(step.kernel->bind());
  for (const auto &bound : frame->bound)
    if (auto *room = dynamic_cast<StringRoom *>(bound.get())) frame->rooms.push_back(room);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const plan::PlanStep &step = plan.steps[s];
    void *const *args = frame->args.data() + cached.first_arg[s];
    frame->calls.push_back({step.kernel.get(),
                            {args, step.sources, args[step.args.size()], frame->bound[s].get(), &frame->report},
                            step.kernel->slices == 1 && step.kernel->phases == 1});
    if (step.kernel->slices > 1) ++frame->cut;
  }
  frame->in.resize(cached.key.size());
  frame->out.resize(plan.outputs.size());
  frame->staging.resize(cached.key.size());
  return frame;
}

PlanCache::Use PlanCache::add(std::vector<Shape> key, std::unique_ptr<const plan::Plan> plan) {
  std::vector<int64_t> in_elements, out_elements;
  for (const Shape &s : key) in_elements.push_back(s.elements());
  for (const ops::Operand &o : plan->outputs) out_elements.push_back(o.shape.elements());
  std::vector<size_t> first_arg;
  std::vector<CachedPlan::Outside> outside;
  size_t arg = 0;
  for (const auto &step : plan->steps) {
    first_arg.push_back(arg);
    for (const auto &place : step.args) {
      if (place.region == Region::input || place.region == Region::output || place.region == Region::state)
        outside.push_back({arg, place.region, place.index, place.offset});
      ++arg;
    }
    ++arg;  // scratch
  }
  const auto owners =
      std::stable_partition(outside.begin(), outside.end(), [](const auto &o) { return o.region != Region::state; });
  auto times = std::make_unique<StepTime[]>(plan->steps.size());
  auto seats = std::make_unique<CachedPlan::Seats>();
  CachedPlan *room = make_room();
  auto own = room ? nullptr : std::make_unique<CachedPlan>();
  CachedPlan &c = room ? *room : *own;  // nothing throws from here on
  c.key = std::move(key);
  c.in_elements = std::move(in_elements);
  c.out_elements = std::move(out_elements);
  c.first_arg = std::move(first_arg);
  c.callers = static_cast<size_t>(owners - outside.begin());
  c.outside = std::move(outside);
  c.times = std::move(times);
  c.plan = std::move(plan);
  c.last_used.store(clock_.fetch_add(1) + 1, std::memory_order_relaxed);
  if (c.seats.load())
    c.release();
  else
    c.seats.store(seats.release(), std::memory_order_release);
  const size_t core = cpu::current();
  return room ? Use(c, core) : Use(std::move(own), core);
}

// Seizes an empty entry or the least recently used idle one; null if all are in use.
CachedPlan *PlanCache::make_room() {
  for (;;) {
    CachedPlan *oldest = nullptr, *empty = nullptr;
    for (size_t i = 0; i < max_plans; ++i) {
      CachedPlan &c = plans_[i];
      if (!c.plan) {
        if (!empty) empty = &c;
      } else if (c.state() == CachedPlan::State::idle && (!oldest || c.last_used.load() < oldest->last_used.load())) {
        oldest = &c;
      }
    }
    bool fits = !is_full();
    if (empty && fits && empty->seize()) return empty;
    if (!oldest) return empty && empty->seize() ? empty : nullptr;
    if (!oldest->seize()) continue;
    oldest->drop_frames();
    oldest->plan.reset();
    if (fits || !empty) return oldest;
    oldest->release();
  }
}

void PlanCache::trim() {
  for (size_t i = 0; i < max_plans && plans_[i].seats.load(); ++i) {
    CachedPlan &c = plans_[i];
    const bool seized = c.seize();
    c.drop_frames();
    if (!seized) continue;
    c.plan.reset();
    c.release();
  }
}

}  // namespace dl4::runtime
