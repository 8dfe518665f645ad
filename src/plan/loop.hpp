// Nested plans: the bodies of scans, branches and loops.
#pragma once

#include "plan/plan.hpp"

namespace dl4::plan {

// What is known about an input or a state during the plan's life.
struct Known {
  ops::Id value = ops::none;
  Tensor data;
  std::string key = {};  // key for sharing packed forms, unless empty
};
std::unique_ptr<const Plan> specialise(const ops::Program &program, std::span<const Shape> inputs,
                                       std::span<const Known> known, const Options &options, Packs *packs);

// The kernel of a step: its op's or, for ops with bodies, the kernel that runs the bodies' plans, which are made with
// these options.
std::unique_ptr<kernels::Kernel> make_kernel(const ops::Step &step, const dispatch::Site &site, const Options &options);

// The listing of a kernel's nested plans; empty for ops without bodies.
std::string inner_plan(const kernels::Kernel &kernel);

}  // namespace dl4::plan
