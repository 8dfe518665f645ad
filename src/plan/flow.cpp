// Kernels of branch, which runs one of two plans, and of while, which repeats one until a flag is false.
#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "plan/nested.hpp"

namespace dl4::plan {
namespace {

using namespace ops;
using kernels::Fault;
using kernels::Kernel;
using kernels::Run;
using Region = Place::Region;

// What is known about a body's inputs, from the step's sources.
std::vector<Known> known_inputs(const Program &body, const Site &site, std::span<const int> src, size_t first) {
  std::vector<Known> known;
  for (size_t i = 0; i < src.size(); ++i) {
    const auto at = static_cast<size_t>(src[i]);
    if (site.constant[at]) known.push_back({body.inputs[first + i], *site.constant[at], site.constant_key[at]});
  }
  return known;
}

// ---- branch --------------------------------------------------------------------------------------------------------

// A body's plan at these shapes, or why the shapes don't fit.
struct Side {
  std::optional<Nested> body;
  std::string refusal;
  std::vector<int> src;  // by input: index of the source
  std::vector<int> dst;  // by output of the plan: index of the destination
};

class Branch final : public NestingKernel {
 public:
  Branch(Side then, Side otherwise, int64_t slices, int64_t scratch, int64_t phases, bool calls_host)
      : NestingKernel("branch", slices, scratch, phases),
        sides_{std::move(then), std::move(otherwise)},
        calls_host_(calls_host) {}

  std::unique_ptr<Bound> bind() const override {
    auto frame = std::make_unique<Frame>();
    for (size_t i = 0; i < 2; ++i)
      if (sides_[i].body) frame->of[i] = sides_[i].body->bind();
    return frame;
  }
  std::vector<const Plan *> plans() const override {
    std::vector<const Plan *> all;
    for (const Side &side : sides_)
      if (side.body) all.push_back(side.body->plan.get());
    return all;
  }
  bool calls_host() const override { return calls_host_; }

  void run(int64_t i, const Run &r) const override {
    const size_t which = *r.in<uint8_t>(0) != 0 ? 0 : 1;
    const Side &side = sides_[which];
    if (!side.body) return r.report->raise(Fault::refused, 0, 0, side.refusal.c_str());
    const Nested &body = *side.body;
    NestedFrame &frame = *static_cast<Frame &>(*r.bound).of[which];
    const int64_t slice = i % slices, phase = i / slices;
    if (slice >= body.slices) return;
    void **args = body.args_of(frame, slice);
    if (phase == 0) body.arrange(args, [&](const Place &place) { return address(side, place, r); });
    if (phases == 1) {
      for (const Stage &s : body.stages) body.run_stage(s, 0, frame, args, r.report);
    } else if (static_cast<size_t>(phase) < body.stages.size()) {
      const Stage &s = body.stages[static_cast<size_t>(phase)];
      if (slice < s.slices) body.run_stage(s, slice, frame, args, r.report);
    }
  }

 private:
  struct Frame final : Bound {
    std::unique_ptr<NestedFrame> of[2];
  };

  static void *address(const Side &side, const Place &place, const Run &r) {
    std::byte *base = nullptr;
    const auto i = static_cast<size_t>(place.index);
    if (place.region == Region::arena) base = static_cast<std::byte *>(r.scratch);
    if (place.region == Region::input) base = const_cast<std::byte *>(r.in<std::byte>(side.src[i]));
    if (place.region == Region::output) base = r.out<std::byte>(side.dst[i]);
    if (place.region == Region::constant) base = side.body->plan->constants[i].data.get();
    return base ? base + place.offset : nullptr;
  }

  const Side sides_[2];
  const bool calls_host_;
};

Side side_of(const BranchOp::Part &part, const Site &site, const Options &options) {
  Side side;
  side.src = part.src;
  Program body = *part.body;
  body.outputs.clear();
  for (size_t j = 0; j < site.dst.size(); ++j) {
    if (!site.dst[j].present) continue;
    body.outputs.push_back(part.body->outputs[j]);
    side.dst.push_back(static_cast<int>(j));
  }
  std::vector<Shape> shapes;
  for (int i : part.src) shapes.push_back(site.src[static_cast<size_t>(i)].shape);
  try {
    side.body.emplace(body, shapes, known_inputs(body, site, part.src, 0), site, options);
    for (size_t j = 0; j < side.dst.size(); ++j)
      if (side.body->plan->outputs[j].shape != site.dst[static_cast<size_t>(side.dst[j])].shape)
        fail(Code::shape_mismatch, "its branches give ", side.body->plan->outputs[j].shape, " and ",
             site.dst[static_cast<size_t>(side.dst[j])].shape);
  } catch (const Error &e) {
    if (e.code != Code::shape_mismatch && e.code != Code::invalid_argument && e.code != Code::unsupported) throw;
    side.body.reset();
    side.refusal = e.message;
  }
  return side;
}

// ---- while ---------------------------------------------------------------------------------------------------------

class WhileKernel final : public NestingKernel {
 public:
  struct State {
    int64_t bytes = 0, buffers = 0;  // of one buffer of all states; two buffers are adjacent in the scratch
  };
  WhileKernel(Nested body, std::vector<State> states, int64_t numbers, int64_t scratch)
      : NestingKernel("while", 1, scratch), body_(std::move(body)), states_(std::move(states)), numbers_(numbers) {}

  std::unique_ptr<Bound> bind() const override { return body_.bind(); }
  std::vector<const Plan *> plans() const override { return {body_.plan.get()}; }
  bool calls_host() const override { return body_.calls_host; }

  void run(int64_t, const Run &r) const override {
    auto &frame = static_cast<NestedFrame &>(*r.bound);
    void **args = body_.args_of(frame, 0);
    const int64_t *steps = r.in<int64_t>(0);
    const uint8_t *on = r.in<uint8_t>(1);
    auto *step = reinterpret_cast<int64_t *>(static_cast<std::byte *>(r.scratch) + numbers_);
    auto *more = reinterpret_cast<uint8_t *>(step + 1);
    *more = on ? *on : 1;
    int64_t t = 0;
    for (; *more != 0 && (!steps || t < *steps); ++t) {
      if (r.report->ends() || !r.report->take_steps(1)) return;
      *step = t;
      body_.arrange(args, [&](const Place &place) { return address(place, t, r); });
      for (const Stage &s : body_.stages) body_.run_stage(s, 0, frame, args, r.report);
    }
    if (r.report->ends()) return;  // a cancelled run may leave the flag unwritten
    for (size_t i = 0; i < states_.size(); ++i)
      if (auto *last = r.out<std::byte>(static_cast<int>(i)); last && states_[i].bytes > 0)
        std::memcpy(last, state(i, t, r), static_cast<size_t>(states_[i].bytes));
  }

 private:
  // The address of state i before step t.
  std::byte *state(size_t i, int64_t t, const Run &r) const {
    if (t == 0) return const_cast<std::byte *>(r.in<std::byte>(static_cast<int>(i) + 2));
    return static_cast<std::byte *>(r.scratch) + states_[i].buffers + (t & 1) * round_up(states_[i].bytes, 64);
  }
  void *address(const Place &place, int64_t t, const Run &r) const {
    std::byte *base = nullptr;
    const auto i = static_cast<size_t>(place.index), count = states_.size();
    auto *numbers = static_cast<std::byte *>(r.scratch) + numbers_;
    if (place.region == Region::arena) base = static_cast<std::byte *>(r.scratch);
    if (place.region == Region::constant) base = body_.plan->constants[i].data.get();
    if (place.region == Region::output) base = i < count ? state(i, t + 1, r) : numbers + 8;
    if (place.region == Region::input)
      base = i == 0       ? numbers
             : i <= count ? state(i - 1, t, r)
                          : const_cast<std::byte *>(r.in<std::byte>(static_cast<int>(i) + 1));
    return base ? base + place.offset : nullptr;
  }

  const Nested body_;
  const std::vector<State> states_;
  const int64_t numbers_;  // scratch offset of the step number and the flag
};

}  // namespace

std::unique_ptr<Kernel> make_branch(const Site &site, const BranchOp &op, const Options &options) {
  Side then = side_of(op.then, site, options), otherwise = side_of(op.otherwise, site, options);
  int64_t slices = 1, scratch = 0, phases = 1;
  bool calls_host = false;
  for (const Side *side : {&then, &otherwise}) {
    if (!side->body) continue;
    slices = std::max(slices, side->body->slices);
    phases = std::max(phases, static_cast<int64_t>(side->body->stages.size()));
    scratch = std::max(scratch, side->body->plan->arena_bytes);
    calls_host |= side->body->calls_host;
  }
  if (calls_host && slices > 1) {  // the other body, too, runs on the calling thread
    Site one = site;
    one.cutting.threads = 1;
    return make_branch(one, op, options);
  }
  if (slices == 1) phases = 1;
  return std::make_unique<Branch>(std::move(then), std::move(otherwise), slices, round_up(scratch, 64), phases,
                                  calls_host);
}

std::unique_ptr<Kernel> make_while(const Site &site, const WhileOp &op, const Options &options) {
  const Program &body = *op.body;
  const auto count = static_cast<size_t>(op.states);
  std::vector<Shape> shapes{{}};
  std::vector<int> outside;
  for (size_t i = 2; i < site.src.size(); ++i) {
    shapes.push_back(site.src[i].shape);
    if (i >= count + 2) outside.push_back(static_cast<int>(i));
  }
  Nested nested(body, shapes, known_inputs(body, site, outside, count + 1), site, options, 1);
  int64_t scratch = round_up(nested.plan->arena_bytes, 64);
  std::vector<WhileKernel::State> states;
  for (size_t i = 0; i < count; ++i) {
    states.push_back({bytes_of(site.src[i + 2]), scratch});
    scratch = checked_add(scratch, checked_mul(2, round_up(states[i].bytes, 64)));
  }
  const int64_t numbers = scratch;
  return std::make_unique<WhileKernel>(std::move(nested), std::move(states), numbers, numbers + 64);
}

}  // namespace dl4::plan
