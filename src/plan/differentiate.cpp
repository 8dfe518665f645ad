// Gradients of a loss.
#include "plan/differentiate.hpp"

#include "ops/differentiate.hpp"

namespace dl4::plan {

std::vector<ops::Id> differentiate(ops::Emit &e, ops::Id loss, std::span<const ops::Id> wrt) {
  return ops::differentiate(e, std::vector<ops::Cotangent>{{loss, e.scalar(1.0f)}}, wrt);
}

}  // namespace dl4::plan
