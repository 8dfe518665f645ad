// The stream of an initializer.
#include "kinds/initializers/random.hpp"

namespace dl4::kinds {

Stream RandomInitializer::stream(const Seed &graph) const {
  if (!seed) return {graph.global, graph.op};
  // Keras makes the seed an int32 by a floored remainder, then TensorFlow's stateless ops scramble the pair (seed, 0).
  constexpr int64_t divisor = INT32_MAX - 1;
  int64_t small = (*seed % divisor + divisor) % divisor;
  PhiloxBlock mix = philox({0x02461e29'3ec8f720, 0}, static_cast<uint64_t>(small));
  return {mix[0] | uint64_t{mix[1]} << 32, mix[2] | uint64_t{mix[3]} << 32};
}

}  // namespace dl4::kinds
