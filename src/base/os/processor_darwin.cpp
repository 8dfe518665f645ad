#include <sys/sysctl.h>

#include <algorithm>
#include <thread>

#include "base/os/processor.hpp"

namespace dl4::os {
namespace {

int64_t number(const char *name) noexcept {
  int64_t value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}

}  // namespace

std::string processor_name() {
  char name[256];
  size_t size = sizeof name - 1;
  if (sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) != 0) return "";
  name[size] = 0;
  return name;
}

int64_t processors_allowed() { return std::max<int64_t>(1, std::thread::hardware_concurrency()); }

bool has_threads() noexcept { return true; }

Caches caches() noexcept {
  const auto bytes = [](const char *name) { return std::max<int64_t>(0, number(name)); };
  Caches found{bytes("hw.l1dcachesize"), bytes("hw.l2cachesize"), bytes("hw.l3cachesize")};
  if (!found.last) found.last = found.second;
  return found;
}

size_t current_processor() noexcept { return 0; }

int64_t thread_number() noexcept { return 0; }
bool keep_off(int64_t, size_t, Affinity &) noexcept { return false; }
void set_affinity(const Affinity &) noexcept {}

bool allow_tiles() noexcept { return false; }

ArmExtensions arm_extensions() noexcept {
  ArmExtensions found;
#if defined(__aarch64__)
  found = {true, number("hw.optional.armv8_crc32") != 0, false};
#endif
  return found;
}

}  // namespace dl4::os
