// The kernels of branch and while.
#pragma once

#include "ops/flow.hpp"
#include "plan/loop.hpp"

namespace dl4::plan {

std::unique_ptr<kernels::Kernel> make_branch(const dispatch::Site &site, const ops::BranchOp &op,
                                             const Options &options);
std::unique_ptr<kernels::Kernel> make_while(const dispatch::Site &site, const ops::WhileOp &op, const Options &options);

}  // namespace dl4::plan
