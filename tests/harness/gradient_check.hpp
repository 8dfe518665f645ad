// Gradients against central differences.
#pragma once

#include <vector>

#include "harness/evaluate.hpp"

namespace dl4::test {

struct Differences {
  double step = 5e-3, tolerance = 3e-3;
  bool moved = true;  // the gradients must not all be 0
};

// The gradients of a random projection of all float32 outputs, by the sources `wrt`, element by element and along
// random
// directions, shapes known and with free first axes. Inputs must keep away from kinks by the step.
void check_gradient(const Build &build, const std::vector<Tensor> &inputs, const std::vector<int> &wrt = {0},
                    Differences how = {});
inline void check_gradient(Build1 build, const std::vector<Tensor> &inputs, const std::vector<int> &wrt = {0},
                           Differences how = {}) {
  check_gradient(one(std::move(build)), inputs, wrt, how);
}

}  // namespace dl4::test
