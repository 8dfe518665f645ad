// Plans within plans: the bodies of scans, branches and loops.
#pragma once

#include "plan/plan.hpp"

namespace dl4::plan {

// What is known of the contents of an input or a state for as long as the plan lives.
struct Known {
  ops::Id value = ops::none;
  Tensor data;
  std::string key = {};  // packed forms are shared under it, unless it is empty
};
std::unique_ptr<const Plan> specialise(const ops::Program &program, std::span<const Shape> inputs,
                                       std::span<const Known> known, const Options &options, Packs *packs);

// The kernel for a step: its op's or, of one with bodies, what runs the kernels of these, which are planned with these
// options.
std::unique_ptr<kernels::Kernel> make_kernel(const ops::Step &step, const dispatch::Site &site, const Options &options);

// The listing of the plans that a kernel runs; empty for one of an op without bodies.
std::string inner_plan(const kernels::Kernel &kernel);

}  // namespace dl4::plan
