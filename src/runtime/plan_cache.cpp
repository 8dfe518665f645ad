// Making room for a plan, and frames for its runs.
#include "runtime/plan_cache.hpp"

#include "base/fork.hpp"

namespace dl4::runtime {
namespace {

using Region = plan::Place::Region;

constexpr int64_t changing = INT64_MIN / 2;  // added to an entry's users while its plan is replaced

// Ends what seize() began, at the first `seats`.
void release(CachedPlan &c, size_t seats = CachedPlan::seat_count) {
  for (size_t i = 0; i < seats; ++i) (*c.seats.load())[i].users.fetch_sub(changing, std::memory_order_release);
}

// Marks an entry as being changed, unless it is in use.
bool seize(CachedPlan &c) {
  if (!c.seats.load()) return true;  // no run has seen it
  for (size_t i = 0; i < CachedPlan::seat_count; ++i) {
    int64_t none = 0;
    if ((*c.seats.load())[i].users.compare_exchange_strong(none, changing, std::memory_order_acq_rel)) continue;
    release(c, i);
    return false;
  }
  return true;
}

bool in_use(const CachedPlan &c) {
  return std::any_of(c.seats.load()->begin(), c.seats.load()->end(),
                     [](const CachedPlan::Seat &s) { return s.users.load() != 0; });
}

void *address(const Frame &frame, const plan::Plan &plan, const plan::Place &place) {
  if (place.region == Region::arena) return frame.arena.get() + place.offset;
  if (place.region == Region::constant)
    return plan.constants[static_cast<size_t>(place.index)].data.get() + place.offset;
  return nullptr;
}

}  // namespace

std::unique_ptr<Frame> PlanCache::make_frame(const plan::Plan &plan, size_t inputs) {
  auto frame = std::make_unique<Frame>(frame_bytes_, plan.arena_bytes);
  frame->arena = memory_->allocate(plan.arena_bytes);
  for (const auto &step : plan.steps) {
    for (const auto &place : step.args) frame->args.push_back(address(*frame, plan, place));
    frame->args.push_back(address(*frame, plan, step.scratch));
  }
  NoFork whole;  // the libraries below have locks of their own
  for (const auto &step : plan.steps) frame->bound.push_back(step.kernel->bind());
  frame->staging.resize(inputs);
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
  auto times = std::make_unique<StepTime[]>(plan->steps.size());
  auto seats = std::make_unique<CachedPlan::Seats>();
  CachedPlan *room = make_room();
  auto own = room ? nullptr : std::make_unique<CachedPlan>();
  CachedPlan &c = room ? *room : *own;  // from here on nothing throws
  c.key = std::move(key);
  c.in_elements = std::move(in_elements);
  c.out_elements = std::move(out_elements);
  c.first_arg = std::move(first_arg);
  c.outside = std::move(outside);
  c.times = std::move(times);
  c.plan = std::move(plan);
  c.last_used.store(clock_.fetch_add(1) + 1, std::memory_order_relaxed);
  if (c.seats.load())
    release(c);
  else
    c.seats.store(seats.release(), std::memory_order_release);
  const size_t core = cpu::current();
  return room ? Use(c, core) : Use(std::move(own), core);
}

// An entry that is free or, of those not in use, was least recently used, marked as being changed; null when all are in
// use.
CachedPlan *PlanCache::make_room() {
  for (;;) {
    CachedPlan *oldest = nullptr, *empty = nullptr;
    for (size_t i = 0; i < max_plans; ++i) {
      CachedPlan &c = plans_[i];
      if (!c.plan) {
        if (!empty) empty = &c;
      } else if (!in_use(c) && (!oldest || c.last_used.load() < oldest->last_used.load())) {
        oldest = &c;
      }
    }
    bool fits = frame_bytes() <= bytes_;
    if (empty && fits && seize(*empty)) return empty;
    if (!oldest) return empty && seize(*empty) ? empty : nullptr;
    if (!seize(*oldest)) continue;
    oldest->drop_frames();
    oldest->plan.reset();
    if (fits || !empty) return oldest;
    release(*oldest);
  }
}

void PlanCache::trim() {
  for (size_t i = 0; i < max_plans && plans_[i].seats.load(); ++i) {
    CachedPlan &c = plans_[i];
    bool unused = seize(c);
    c.drop_frames();
    if (!unused) continue;
    c.plan.reset();
    release(c);
  }
}

}  // namespace dl4::runtime
