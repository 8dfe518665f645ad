// Reverse-mode differentiation of a Program, by the gradient rules of its ops.
#pragma once

#include <span>
#include <vector>

#include "ops/emit.hpp"

namespace dl4::plan {

// Emits the gradients of the scalar `loss` with respect to `wrt`; none where the loss does not depend on a value.
// Refuses an op between them that has no gradient by one of its sources and doesn't stop it.
std::vector<ops::Id> differentiate(ops::Emit &e, ops::Id loss, std::span<const ops::Id> wrt);

}  // namespace dl4::plan
