// Reverse-mode differentiation of a Program, by the gradient rules of its ops.
#pragma once

#include "ops/differentiate.hpp"

namespace dl4::plan {

// Emits the gradients of the scalar `loss` with respect to `wrt`; none for values it does not depend on. Refuses ops
// between them that have no gradient for one of their sources and don't stop it.
inline std::vector<ops::Id> differentiate(ops::Emit &e, ops::Id loss, std::span<const ops::Id> wrt) {
  return ops::differentiate(e, std::vector<ops::Cotangent>{{loss, e.scalar(1.0f)}}, wrt);
}

}  // namespace dl4::plan
