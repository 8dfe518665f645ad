// Systems without fork().
#include "base/fork.hpp"

namespace dl4 {

uint32_t forks() noexcept { return 0; }

void NoFork::enter() noexcept {}
void NoFork::leave() noexcept {}

}  // namespace dl4
