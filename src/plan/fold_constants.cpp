// Pass: evaluates steps that read only constants; their results become constants.
#include <algorithm>

#include "ops/matched.hpp"
#include "plan/fold.hpp"
#include "plan/loop.hpp"
#include "plan/passes.hpp"

namespace dl4::plan {
namespace {

// Larger results would cost more memory than the step costs time.
constexpr int64_t largest = 1 << 16;
constexpr int64_t most_steps = 10'000;  // of loops, which can't be cancelled here

}  // namespace

bool fold(ops::Program &p, const ops::Step &step, int64_t most_bytes) {
  if (step.op->is_volatile() || step.dst.empty()) return false;
  std::vector<void *> args;
  for (size_t i = 0; i < step.src.size(); ++i) {
    ops::Id v = step.src[i];
    bool constant = v != ops::none && p[v].role == ops::Role::constant;
    if (v != ops::none && !constant && step.op->reads(static_cast<int>(i))) return false;
    args.push_back(constant ? p[v].data.data.get() : nullptr);
  }
  if (ops::as<ops::RangeOp>(step)) {
    const int64_t n = ops::number_of_range(p[step.src[0]].dtype, args[0]);
    if (!ops::is_size(n) || checked_mul(n, 8) > most_bytes) return false;  // the run will report it
    ops::Value &places = p[step.dst[0]];
    places.role = ops::Role::constant, places.shape = {n}, places.data = ops::range_of(n);
    return true;
  }
  std::vector<Tensor> results;
  for (ops::Id v : step.dst) {
    if (p[v].dtype == DType::string) return false;  // its bytes belong to the step
    if (checked_mul(p[v].shape.elements(), size_of(p[v].dtype)) > most_bytes) return false;
    results.push_back(make_tensor(p[v].dtype, p[v].shape));
  }
  if (step.op->is_view()) {
    auto *from = static_cast<std::byte *>(args[0]) + step.op->view_offset();
    std::copy_n(from, results[0].bytes(), results[0].data.get());
  } else {
    for (Tensor &t : results) args.push_back(t.data.get());
    auto kernel = make_kernel(step, dispatch::site(p, step), {});
    if (kernel->scratch > largest) return false;  // scratch of a run counts towards the memory limit, this would not
    auto bound = kernel->bind();
    Bytes scratch = allocate(kernel->scratch);
    kernels::Report report;
    report.most_steps = most_steps;
    for (int64_t i = 0; i < checked_mul(kernel->slices, kernel->phases); ++i)
      kernel->run(i, {args.data(), static_cast<int>(step.src.size()), scratch.get(), bound.get(), &report});
    if (report.fault != kernels::Fault::none) return false;  // the run will report it
  }
  for (size_t i = 0; i < step.dst.size(); ++i) {
    p[step.dst[i]].role = ops::Role::constant;
    p[step.dst[i]].data = std::move(results[i]);
  }
  return true;
}

void fold_constants(ops::Program &p) {
  std::vector<ops::Step> kept;
  for (ops::Step &step : p.steps)
    if (!fold(p, step, largest)) kept.push_back(std::move(step));
  p.steps = std::move(kept);
}

}  // namespace dl4::plan
