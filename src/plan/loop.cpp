// The kernel of a scan, which runs the kernels of its body's plan for each step.
//
// Nothing is copied between steps. A state is written to its stack if that is read, else alternately to two buffers,
// and at the last step to the destination. Where a body computes each row of a batch alone, the threads of a run take
// some rows each, and meet once; else they share its kernels, and meet in each step.
#include "plan/loop.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "backend/backend.hpp"
#include "ops/scan.hpp"
#include "plan/nested.hpp"
#include "plan/rows_apart.hpp"

namespace dl4::plan {
namespace {

using namespace ops;
using kernels::Bound;
using kernels::Kernel;
using kernels::Run;
using Region = Place::Region;

// An input of the body: the scan's whole source, or one element of it per step.
struct Input {
  Carry carry = Carry::constant;
  int src = 0;
  int64_t bytes = 0;  // from one step to the next
  size_t output = 0;  // for a state: the output that updates it
  bool reversed = false;
};

// An output of the body: an element of the scan's destination, if present.
struct Output {
  int dst = 0;                    // destination of the stack
  int64_t bytes = 0, stride = 0;  // per step, and from one step to the next
  bool is_state = false, reversed = false;
  int first = -1;      // for a state: source of the initial value
  int last = -1;       // for a state: destination of the final value
  int64_t buffer = 0;  // scratch offset of the first of two buffers, without a stack
};

class Loop final : public NestingKernel {
 public:
  struct Parts {
    Nested body;
    std::vector<Input> inputs = {};
    std::vector<Output> outputs = {};
    std::vector<size_t> of = {};  // by output of the plan: index among the body's outputs
    int64_t time = 0, scratch = 0;
  };

  explicit Loop(Parts p)
      : NestingKernel(
            "scan", p.body.slices, p.scratch,
            p.body.slices == 1 ? 1 : checked_add(checked_mul(p.time, static_cast<int64_t>(p.body.stages.size())), 1)),
        p_(std::move(p)) {}

  std::unique_ptr<Bound> bind() const override { return p_.body.bind(); }
  std::vector<const Plan *> plans() const override { return {p_.body.plan.get()}; }
  bool calls_host() const override { return p_.body.calls_host; }

  // By source and destination: the bytes of each of so many rows; 0 of constants.
  std::vector<int64_t> row_bytes(int64_t rows) const {
    std::vector<int64_t> all;
    for (const Input &in : p_.inputs) all.push_back(in.carry == Carry::constant ? 0 : in.bytes / rows);
    for (const Output &o : p_.outputs) all.push_back(o.stride / rows);
    for (const Output &o : p_.outputs)
      if (o.is_state) all.push_back(o.stride / rows);
    return all;
  }

  void run(int64_t i, const Run &r) const override {
    const Nested &body = p_.body;
    auto &frame = static_cast<NestedFrame &>(*r.bound);
    const int64_t slice = i % body.slices, phase = i / body.slices;
    void **args = body.args_of(frame, slice);
    if (i == 0 && !r.report->take_steps(p_.time)) return;
    if (body.slices == 1) {
      const auto run_body = [&] {
        for (const Stage &s : body.stages) body.run_stage(s, 0, frame, args, r.report);
      };
      int64_t t = 0;
      for (const int64_t apart = moves_evenly(r) ? std::min<int64_t>(p_.time, 2) : p_.time; t < apart; ++t) {
        if (r.report->ends()) return;
        arrange(t, r, args);
        run_body();
      }
      if (t < p_.time) find_moves(r, frame);
      for (; t < p_.time; ++t) {
        if (r.report->ends()) return;
        for (const NestedFrame::Move &m : frame.moves) args[m.arg] = static_cast<std::byte *>(args[m.arg]) + m.bytes;
        run_body();
      }
      return finish(r);
    }
    const auto stages = static_cast<int64_t>(body.stages.size());
    if (phase == p_.time * stages) {
      if (slice == 0) finish(r);
      return;
    }
    if (phase % stages == 0) arrange(phase / stages, r, args);
    const Stage &s = body.stages[static_cast<size_t>(phase % stages)];
    if (slice < s.slices) body.run_stage(s, slice, frame, args, r.report);
  }

 private:
  // Offset of step t's element in a stack, in bytes.
  int64_t offset(int64_t t, int64_t bytes, bool reversed) const noexcept {
    return (reversed ? p_.time - 1 - t : t) * bytes;
  }
  // Address of output o of step t.
  std::byte *written(const Output &o, int64_t t, const Run &r) const noexcept {
    if (auto *stack = r.out<std::byte>(o.dst)) return stack + offset(t, o.stride, o.reversed);
    if (auto *last = t == p_.time - 1 && o.is_state ? r.out<std::byte>(o.last) : nullptr) return last;
    return static_cast<std::byte *>(r.scratch) + o.buffer + (t & 1) * round_up_64(o.bytes);
  }
  const std::byte *read(const Input &in, int64_t t, const Run &r) const noexcept {
    if (in.carry == Carry::state && t > 0) return written(p_.outputs[in.output], t - 1, r);
    const auto *src = r.in<std::byte>(in.src);
    return src && is_stacked(in.carry) ? src + offset(t, in.bytes, in.reversed) : src;
  }
  static int64_t round_up_64(int64_t n) noexcept { return (n + 63) / 64 * 64; }

  std::byte *address(const Place &place, int64_t t, const Run &r) const noexcept {
    std::byte *base = nullptr;
    const auto i = static_cast<size_t>(place.index);
    if (place.region == Region::arena) base = static_cast<std::byte *>(r.scratch);
    if (place.region == Region::input) base = const_cast<std::byte *>(read(p_.inputs[i], t, r));
    if (place.region == Region::output) base = written(p_.outputs[p_.of[i]], t, r);
    if (place.region == Region::constant) base = p_.body.plan->constants[i].data.get();
    return base ? base + place.offset : nullptr;
  }

  // Sets the arguments of all kernels for step t.
  void arrange(int64_t t, const Run &r, void **args) const noexcept {
    p_.body.arrange(args, [&](const Place &place) { return address(place, t, r); });
  }

  // Whether, from the second step on, all arguments advance by constant strides.
  bool moves_evenly(const Run &r) const noexcept {
    return std::all_of(p_.outputs.begin(), p_.outputs.end(),
                       [&](const Output &o) { return !o.is_state || r.out<void>(o.dst); });
  }
  // Computes the strides from the arguments of the second and third steps; the frame keeps the former.
  void find_moves(const Run &r, NestedFrame &frame) const noexcept {
    frame.moves.clear();
    size_t k = 0;
    const auto move = [&](const Place &place) {
      const auto *from = static_cast<const std::byte *>(frame.args[k]), *to = address(place, 2, r);
      if (to != from) frame.moves.push_back({k, to - from});
      ++k;
    };
    for (const PlanStep &s : p_.body.plan->steps) {
      for (const Place &place : s.args) move(place);
      move(s.scratch);
    }
  }

  // Copies final states that are not in their destinations yet.
  void finish(const Run &r) const noexcept {
    for (const Output &o : p_.outputs) {
      void *last = o.is_state && o.bytes ? r.out<void>(o.last) : nullptr;
      if (!last) continue;
      const void *from = p_.time ? written(o, p_.time - 1, r) : r.in<void>(o.first);
      if (from != last) std::memcpy(last, from, static_cast<size_t>(o.bytes));
    }
  }

  const Parts p_;
};

// The body reduced to the outputs that are read; `of`: their indices.
Program wanted(const ScanOp &op, const Site &site, std::vector<size_t> &of) {
  Program p = *op.body;
  p.outputs.clear();
  for (size_t j = 0; j < op.body->outputs.size(); ++j) {
    if (j >= op.states() && !site.dst[j].present) continue;
    p.outputs.push_back(op.body->outputs[j]);
    of.push_back(j);
  }
  return p;
}

// The loop; on one thread over so many rows of the batch, if given. A run's arguments then begin at its first row.
std::unique_ptr<Loop> make_loop(const Site &site, const ScanOp &op, const Options &options, int64_t rows = 0) {
  std::vector<size_t> of;
  const Program body = wanted(op, site, of);
  const auto cut = [&](const Shape &element) { return rows ? element.with(0, rows) : element; };
  std::vector<Shape> shapes;
  std::vector<Known> known;
  std::vector<Input> inputs;
  for (size_t i = 0; i < site.src.size(); ++i) {
    const Shape element = is_stacked(op.carry[i]) ? site.src[i].shape.without(0) : site.src[i].shape;
    shapes.push_back(op.carry[i] == Carry::constant ? element : cut(element));
    if (op.carry[i] == Carry::constant && site.constant[i])
      known.push_back({body.inputs[i], *site.constant[i], site.constant_key[i]});
    Input in;
    in.carry = op.carry[i];
    in.src = static_cast<int>(i);
    in.bytes = bytes_of({site.src[i].dtype, element});
    in.reversed = op.carry[i] == Carry::reversed;
    inputs.push_back(in);
  }
  Loop::Parts parts{Nested(body, shapes, known, site, options, rows ? 1 : 0), std::move(inputs)};
  parts.of = std::move(of);
  parts.time = op.time(site.src);
  parts.scratch = round_up(parts.body.plan->arena_bytes, 64);
  const size_t outputs = op.body->outputs.size();
  parts.outputs.resize(outputs);
  for (size_t j = 0; j < outputs; ++j) {
    Output &o = parts.outputs[j];
    o.dst = static_cast<int>(j);
    const Operand element{site.dst[j].dtype, site.dst[j].shape.without(0)};
    o.stride = bytes_of(element);
    o.bytes = bytes_of({element.dtype, cut(element.shape)});
    o.reversed = op.reversed[j];
  }
  size_t state = 0;
  for (size_t i = 0; i < parts.inputs.size(); ++i) {
    if (op.carry[i] != Carry::state) continue;
    Output &o = parts.outputs[state];
    parts.inputs[i].output = state;
    o.is_state = true;
    o.first = static_cast<int>(i);
    o.last = static_cast<int>(outputs + state);
    o.buffer = parts.scratch;
    if (!site.dst[state].present) parts.scratch = checked_add(parts.scratch, checked_mul(2, round_up(o.bytes, 64)));
    ++state;
  }
  return std::make_unique<Loop>(std::move(parts));
}

// Loops over some rows each.
class LoopsByRows final : public NestingKernel {
 public:
  struct Part {
    std::shared_ptr<const Loop> loop;
    int64_t first;  // row
  };
  // row_bytes: by source and destination, 0 without rows.
  LoopsByRows(std::vector<Part> parts, std::vector<int64_t> row_bytes, int64_t each)
      : NestingKernel("scan, by rows", static_cast<int64_t>(parts.size()),
                      checked_mul(static_cast<int64_t>(parts.size()), each)),
        parts_(std::move(parts)),
        row_bytes_(std::move(row_bytes)),
        each_(each) {}

  std::unique_ptr<Bound> bind() const override {
    auto frame = std::make_unique<Frame>();
    for (const Part &part : parts_) frame->parts.push_back({part.loop->bind(), std::vector<void *>(row_bytes_.size())});
    return frame;
  }
  std::vector<const Plan *> plans() const override { return parts_[0].loop->plans(); }

  void run(int64_t slice, const Run &r) const override {
    const auto i = static_cast<size_t>(slice);
    auto &mine = static_cast<Frame &>(*r.bound).parts[i];
    for (size_t k = 0; k < row_bytes_.size(); ++k)
      mine.args[k] = r.args[k] ? static_cast<std::byte *>(r.args[k]) + parts_[i].first * row_bytes_[k] : nullptr;
    void *scratch = static_cast<std::byte *>(r.scratch) + slice * each_;
    // Of all slices the first accounts for the steps.
    parts_[i].loop->run(slice, {mine.args.data(), r.sources, scratch, mine.bound.get(), r.report});
  }

 private:
  struct Frame final : Bound {
    struct Part {
      std::unique_ptr<Bound> bound;
      std::vector<void *> args;
    };
    std::vector<Part> parts;
  };
  const std::vector<Part> parts_;
  const std::vector<int64_t> row_bytes_;
  const int64_t each_;
};

// Rows that all states and sequences have; 0 where they have none, or the body mixes them or is for their number alone.
int64_t rows_of(const Site &site, const ScanOp &op) {
  int64_t rows = 0;
  std::vector<bool> has;
  for (size_t i = 0; i < site.src.size(); ++i) {
    has.push_back(op.carry[i] != Carry::constant);
    if (!has[i]) continue;
    const int axis = is_stacked(op.carry[i]) ? 1 : 0;
    const int64_t mine = site.src[i].shape.rank() > axis ? site.src[i].shape[axis] : 0;
    if (mine == 0 || (rows && rows != mine) || (*op.body)[op.body->inputs[i]].shape[0] != free_dim) return 0;
    rows = mine;
  }
  return are_rows_apart(*op.body, has) ? rows : 0;
}

// Rough time of the body on one thread.
double microseconds(const Loop &loop) {
  constexpr double start = 0.03, each = 4e-4;  // of kernels without costs
  double all = 0;
  const Plan &plan = *loop.plans()[0];
  for (const PlanStep &s : plan.steps) {
    const Id dst = plan.program.steps[static_cast<size_t>(s.number)].dst[0];
    all += s.choices.empty() ? start + each * static_cast<double>(plan.program[dst].shape.elements())
                             : s.choices.back().front().microseconds;
  }
  return all;
}

std::unique_ptr<Kernel> make_scan(const Site &site, const ScanOp &op, const Options &options) {
  constexpr double shared_line = 0.4;  // microseconds to read a state from a cache line that another core writes too
  auto whole = make_loop(site, op, options);
  const dispatch::Cutting &cutting = site.cutting;
  if (cutting.threads < 2 || cutting.strict || cutting.by_row || whole->calls_host()) return whole;
  const int64_t rows = rows_of(site, op);
  const double us = microseconds(*whole);
  const auto time = static_cast<double>(op.time(site.src));
  const int64_t slices = cutting.slices(rows, us * time);
  if (slices < 2) return whole;

  std::map<int64_t, std::shared_ptr<const Loop>> loops;  // by number of rows
  std::vector<LoopsByRows::Part> parts;
  int64_t each = 0;
  for (int64_t i = 0; i < slices; ++i) {
    const auto [first, end] = kernels::part(rows, slices, i);
    auto &loop = loops[end - first];
    if (!loop) loop = make_loop(site, op, options, end - first);
    each = std::max(each, round_up(loop->scratch, 64));
    parts.push_back({loop, first});
  }
  std::vector<int64_t> row_bytes = whole->row_bytes(rows);
  bool shares = false;  // stacked states
  for (size_t j = 0; j < op.states(); ++j) {
    const int64_t bytes = row_bytes[site.src.size() + j];
    const auto splits = [&](const LoopsByRows::Part &part) { return checked_mul(part.first, bytes) % 64 != 0; };
    shares = shares || (site.dst[j].present && (checked_mul(rows, bytes) % 64 || std::ranges::any_of(parts, splits)));
  }
  // Little is saved where the time goes into weights, which each thread reads: kernels that it may share may save more.
  const double saved = us - microseconds(*loops.rbegin()->second) - (shares ? shared_line : 0);
  if (saved * time < cutting.least || (whole->slices > 1 && saved < us / 3)) return whole;
  return std::make_unique<LoopsByRows>(std::move(parts), std::move(row_bytes), each);
}

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Step &step, const Site &site, const Options &options) {
  if (auto *scan = as<ScanOp>(step)) return make_scan(site, *scan, options);
  if (auto *branch = as<BranchOp>(step)) return make_branch(site, *branch, options);
  if (auto *loop = as<WhileOp>(step)) return make_while(site, *loop, options);
  return backend::make_kernel(*step.op, site);
}

std::string inner_plan(const Kernel &kernel) {
  std::string all;
  if (auto *nesting = dynamic_cast<const NestingKernel *>(&kernel))
    for (const Plan *plan : nesting->plans()) all += indented(plan->to_string());
  return all;
}

}  // namespace dl4::plan
