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

std::vector<std::shared_ptr<void>> while_making() {
  std::vector<std::shared_ptr<void>> held;
  for (const Library *library : libraries())
    if (library->while_making) held.push_back(library->while_making());
  return held;
}

}  // namespace dl4::dispatch
