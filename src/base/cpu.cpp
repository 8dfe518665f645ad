#include "base/cpu.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/os/processor.hpp"

namespace dl4::cpu {

std::string name() { return os::processor_name(); }

std::string isa() {
  std::vector<const char *> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2")) found.push_back("sse4.2");
  if (__builtin_cpu_supports("avx")) found.push_back("avx");
  if (__builtin_cpu_supports("fma")) found.push_back("fma");
  if (__builtin_cpu_supports("avx2")) found.push_back("avx2");
  if (__builtin_cpu_supports("avx512f")) found.push_back("avx512f");
  if (__builtin_cpu_supports("avx512vnni")) found.push_back("avx512vnni");
#elif defined(__aarch64__)
  const os::ArmExtensions arm = os::arm_extensions();
  if (arm.simd) found.push_back("asimd");
  if (arm.sve) found.push_back("sve");
#endif
  std::string all;
  for (const char *f : found) all += (all.empty() ? "" : " ") + std::string(f);
  return all;
}

bool has_fused_operations() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return os::arm_extensions().simd;
#endif
}

Type type() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512f")) return Type::avx2;
  return __builtin_cpu_is("intel") ? Type::intel_avx512 : Type::avx512;
#else
  return Type::neon;
#endif
}

int64_t first_cache_ways() noexcept { return os::first_cache_bytes() / 4096; }  // a way is a page

size_t current() noexcept { return os::current_processor(); }

int cores_available() { return static_cast<int>(std::min<int64_t>(os::processors_allowed(), INT32_MAX)); }

}  // namespace dl4::cpu
