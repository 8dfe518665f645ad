// all_reduce: a sum over all workers during a run, by the host's function.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct AllReduceOp final : OpOf<AllReduceOp, "all_reduce", attributes::AllReduce> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    return {src[0]};
  }
  // A worker that removes, merges or folds one makes the others wait forever.
  bool is_volatile() const override { return workers != nullptr; }
  // Each worker's loss depends on every worker's source.
  void gradient(Gradient &g) const override { g.set(0, all_reduce(g.e, workers, g.diff_dst())); }
  // One slice, so that the host's function runs on the calling thread.
};

}  // namespace

Id all_reduce(Emit &e, std::shared_ptr<Collective> workers, Id x) {
  return e.value(make<AllReduceOp>(std::move(workers)), {x});
}

int64_t all_reduced(const Program &p, const Step &step) {
  const auto *op = as<AllReduceOp>(step);
  return op && op->workers ? p[step.src[0]].shape.elements() : -1;
}

void leave_workers(Step &all_reduce) { all_reduce.op = make<AllReduceOp>(nullptr); }

}  // namespace dl4::ops
