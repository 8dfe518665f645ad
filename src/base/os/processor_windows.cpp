#include <windows.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/os/processor.hpp"

namespace dl4::os {

std::string processor_name() {
  wchar_t name[256];
  DWORD size = sizeof name;
  if (RegGetValueW(HKEY_LOCAL_MACHINE, L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", L"ProcessorNameString",
                   RRF_RT_REG_SZ, nullptr, name, &size) != ERROR_SUCCESS)
    return "";
  char utf8[768];
  const int n = WideCharToMultiByte(CP_UTF8, 0, name, -1, utf8, sizeof utf8, nullptr, nullptr);
  return n > 0 ? utf8 : "";
}

int64_t processors_allowed() {
  DWORD_PTR process = 0, system = 0;
  int64_t n = 0;
  // A process in several processor groups gets 0.
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system))
    for (; process; process &= process - 1) ++n;
  return n > 0 ? n : std::max<int64_t>(1, std::thread::hardware_concurrency());
}

bool has_threads() noexcept { return true; }

Caches caches() noexcept {
  Caches found;
  DWORD size = 0;
  GetLogicalProcessorInformation(nullptr, &size);
  try {
    std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> all(size / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
    if (all.empty() || !GetLogicalProcessorInformation(all.data(), &size)) return {};
    for (const auto &one : all) {
      if (one.Relationship != RelationCache || one.Cache.Type == CacheInstruction) continue;
      const auto bytes = static_cast<int64_t>(one.Cache.Size);
      if (one.Cache.Level == 1) found.first = bytes;
      if (one.Cache.Level == 2) found.second = bytes;
      found.last = std::max(found.last, bytes);
    }
  } catch (...) {
  }
  return found;
}

size_t current_processor() noexcept { return GetCurrentProcessorNumber(); }

int64_t thread_number() noexcept { return 0; }
bool keep_off(int64_t, size_t, Affinity &) noexcept { return false; }
void set_affinity(const Affinity &) noexcept {}

bool allow_tiles() noexcept { return false; }

ArmExtensions arm_extensions() noexcept {
  ArmExtensions found;
#if defined(__aarch64__) || defined(_M_ARM64)
  found = {true, IsProcessorFeaturePresent(PF_ARM_V8_CRC32_INSTRUCTIONS_AVAILABLE) != 0, false};
#endif
  return found;
}

}  // namespace dl4::os
