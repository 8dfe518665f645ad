// Reverse-mode differentiation of a Program, by the gradient rules of its ops.
#pragma once

#include <functional>

#include "ops/program.hpp"

namespace dl4::ops {

// A value with its known gradient.
struct Cotangent {
  Id value, diff;
};

// Emits the gradients of `wrt` from the known ones; none for values on which no value of `from` depends. Refuses ops in
// between that have no gradient for a source and don't stop it.
std::vector<Id> differentiate(Emit &e, std::span<const Cotangent> from, std::span<const Id> wrt);

// The gradient rule of a step by that of an equivalent composition: `written` emits it for the step's first
// destination.
void differentiate_as(Gradient &g, const std::function<Id(Emit &e, const std::vector<Id> &src)> &written,
                      int destination = 0);

}  // namespace dl4::ops
