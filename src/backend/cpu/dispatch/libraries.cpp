// The libraries of this build (CMake's DL4_BACKENDS).
#include "backend/cpu/dispatch/libraries.hpp"

namespace dl4::dispatch {

#if defined(DL4_BACKENDS_own)
std::span<const Library *const> libraries() { return {}; }
#else
std::span<const Library *const> libraries() {
  static constexpr const Library *all[] = {&onednn, &openblas};
  return all;
}
#endif

}  // namespace dl4::dispatch
