// Reverse-mode differentiation of a Program, by the gradient rules of its ops.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ops/emit.hpp"

namespace dl4::ops {

// A value, and the gradient with respect to it of what is differentiated.
struct Cotangent {
  Id value, diff;
};

// Emits the gradients with respect to `wrt` from those that are known; none where no value of `from` depends on it.
// Refuses an op between them that has no gradient by one of its sources and doesn't stop it.
std::vector<Id> differentiate(Emit &e, std::span<const Cotangent> from, std::span<const Id> wrt);

// The rule of a step whose first destination is what `written` makes of its sources with other ops.
void differentiate_as(Gradient &g, const std::function<Id(Emit &e, const std::vector<Id> &src)> &written,
                      int destination = 0);

}  // namespace dl4::ops
