// A plan whose kernels run inside one kernel of an enclosing plan.
#pragma once

#include <memory>
#include <vector>

#include "ops/flow.hpp"
#include "plan/loop.hpp"

namespace dl4::plan {

// Kernels that run in one phase: one phase of a kernel, or several kernels of one slice each.
struct Stage {
  size_t first, count;
  int64_t phase, slices;
};

struct NestedFrame final : Bound {
  std::vector<std::unique_ptr<Bound>> bound;  // by step
  std::vector<void *> args;                   // of all steps, per slice
  // An argument that advances by a constant stride per run.
  struct Move {
    size_t arg;
    std::ptrdiff_t bytes;
  };
  std::vector<Move> moves;  // capacity for one per argument
};

class Nested {
 public:
  // `threads`: 1, or 0 for the site's.
  Nested(const ops::Program &body, std::span<const Shape> inputs, std::span<const Known> known,
         const dispatch::Site &site, const Options &options, int threads = 0);

  std::unique_ptr<NestedFrame> bind() const;
  void **args_of(NestedFrame &frame, int64_t slice) const {
    return frame.args.data() + static_cast<size_t>(slice) * arguments_;
  }
  // Sets the arguments of all kernels. address: address of a Place.
  template <class F>
  void arrange(void **args, F address) const {
    for (const PlanStep &s : plan->steps) {
      for (const Place &place : s.args) *args++ = address(place);
      *args++ = address(s.scratch);
    }
  }
  void run_stage(const Stage &s, int64_t slice, const NestedFrame &frame, void *const *args,
                 kernels::Report *report) const {
    for (size_t k = s.first; k < s.first + s.count; ++k) {
      if (report->ends()) return;
      const PlanStep &step = plan->steps[k];
      void *const *mine = args + first_[k];
      step.kernel->run(s.phase * step.kernel->slices + slice,
                       {mine, step.sources, mine[step.args.size()], frame.bound[k].get(), report});
    }
  }

  std::unique_ptr<const Plan> plan;
  std::vector<Stage> stages;
  int64_t slices = 1;       // of the stage with most slices
  bool calls_host = false;  // if any kernel does; then everything has one slice

 private:
  std::vector<size_t> first_;  // index of each step's first argument
  size_t arguments_ = 0;
};

// A kernel with nested plans.
class NestingKernel : public kernels::Kernel {
 public:
  using Kernel::Kernel;
  virtual std::vector<const Plan *> plans() const = 0;
};

std::unique_ptr<kernels::Kernel> make_branch(const dispatch::Site &site, const ops::BranchOp &op,
                                             const Options &options);
std::unique_ptr<kernels::Kernel> make_while(const dispatch::Site &site, const ops::WhileOp &op, const Options &options);

// Bytes of an operand.
int64_t bytes_of(const ops::Operand &o);

}  // namespace dl4::plan
