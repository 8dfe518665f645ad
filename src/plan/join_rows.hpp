// Neighbouring steps on rows of few channels as one kernel.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace dl4::plan {

// Steps in order, with their kernels and without their arguments; those that compute nothing are gone. What comes of
// several has the values that are its arguments, of which the others of those steps need no memory. No number changes.
void join_rows(const ops::Program &p, std::vector<PlanStep> &steps);

}  // namespace dl4::plan
