// Joins adjacent steps on rows of few channels into one kernel.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace dl4::plan {

// The steps, in order, have kernels but no arguments yet; steps that compute nothing are removed. A joined step lists
// the values that are its arguments; other values of its steps need no memory. Results keep their bits.
void join_rows(const ops::Program &p, std::vector<PlanStep> &steps);

}  // namespace dl4::plan
