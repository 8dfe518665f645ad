// Reverse-mode differentiation of a Program, by the gradient rules of its ops.
#pragma once

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

}  // namespace dl4::ops
