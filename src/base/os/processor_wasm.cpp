#include "base/os/processor.hpp"

namespace dl4::os {

std::string processor_name() { return "WebAssembly"; }

// Threads would require HTTP headers for the page that few servers send.
int64_t processors_allowed() { return 1; }

bool has_threads() noexcept { return false; }

Caches caches() noexcept { return {}; }

size_t current_processor() noexcept { return 0; }

int64_t thread_number() noexcept { return 0; }
bool keep_off(int64_t, size_t, Affinity &) noexcept { return false; }
void set_affinity(const Affinity &) noexcept {}

bool allow_tiles() noexcept { return false; }

ArmExtensions arm_extensions() noexcept { return {}; }

}  // namespace dl4::os
