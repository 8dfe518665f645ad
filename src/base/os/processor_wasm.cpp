#include <algorithm>
#include <thread>

#include "base/os/processor.hpp"

namespace dl4::os {

std::string processor_name() { return "WebAssembly"; }

int64_t processors_allowed() {
#if defined(__EMSCRIPTEN_PTHREADS__)
  return std::max<int64_t>(1, std::thread::hardware_concurrency());
#else
  return 1;
#endif
}

int64_t first_cache_bytes() noexcept { return 0; }

size_t current_processor() noexcept { return 0; }

ArmExtensions arm_extensions() noexcept { return {}; }

}  // namespace dl4::os
