// Gradients against central differences.
#pragma once

#include <vector>

#include "harness/evaluate.hpp"

namespace dl4::test {

struct Differences {
  double step = 5e-3, tolerance = 3e-3;
  bool moved = true;  // the gradients must not all be 0
};

// Emits the gradients, by the inputs `wrt`, of the sum of all float32 outputs, each times an input after build's own.
Build gradients(const Build &build, size_t inputs, const std::vector<int> &wrt);

// The gradients of a random projection of all float32 outputs, by the inputs `wrt`, in all ways, against differences of
// the reference, or of the Program itself where there is none: there inputs must keep away from kinks by the step.
void check_gradient(const Case &c, const std::vector<int> &wrt, Differences how);
inline void check_gradient(Build build, const std::vector<Tensor> &inputs, const std::vector<int> &wrt = {0},
                           Differences how = {}) {
  check_gradient({std::move(build), inputs}, wrt, how);
}
inline void check_gradient(Build1 build, const std::vector<Tensor> &inputs, const std::vector<int> &wrt = {0},
                           Differences how = {}) {
  check_gradient(one(std::move(build)), inputs, wrt, how);
}

// An op with a reference: by all its float32 inputs.
void check_gradient(const Case &c);
// Its outputs, and its gradients if it is to have any.
void check(const Case &c);

}  // namespace dl4::test
