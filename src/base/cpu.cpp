#include "base/cpu.hpp"

#include <algorithm>
#include <vector>

#include "base/os/processor.hpp"
#include "base/x86.hpp"

namespace dl4::cpu {

std::string name() { return os::processor_name(); }

std::string isa() {
  std::vector<const char *> found;
#if defined(__x86_64__)
  const x86::Extensions &e = x86::extensions();
  if (e.sse4_2) found.push_back("sse4.2");
  if (e.avx) found.push_back("avx");
  if (e.fma) found.push_back("fma");
  if (e.avx2) found.push_back("avx2");
  if (e.avx512f) found.push_back("avx512f");
  if (e.avx512vnni) found.push_back("avx512vnni");
  if (e.avx512bf16) found.push_back("avx512bf16");
  if (e.amx_bf16) found.push_back("amx_bf16");
#elif defined(__aarch64__)
  const os::ArmExtensions arm = os::arm_extensions();
  if (arm.simd) found.push_back("asimd");
  if (arm.sve) found.push_back("sve");
#elif defined(__wasm_simd128__)
  found.push_back("simd128");
#elif defined(__riscv_d)
  found.push_back("fd");
#endif
  std::string all;
  for (const char *f : found) all += (all.empty() ? "" : " ") + std::string(f);
  return all;
}

bool is_supported() noexcept {
#if defined(__x86_64__)
  return x86::extensions().sse4_2;
#else
  return true;
#endif
}

bool has_fused_operations() noexcept {
#if defined(__x86_64__)
  return x86::extensions().avx2 && x86::extensions().fma;
#elif defined(__aarch64__)
  return os::arm_extensions().simd;
#else
  return false;
#endif
}

bool has_bfloat16_products() noexcept {
#if defined(__x86_64__)
  return x86::extensions().avx512bf16;
#else
  return false;
#endif
}

bool may_use_tiles() noexcept {
#if defined(__x86_64__)
  return x86::extensions().amx_bf16 && os::allow_tiles();
#else
  return false;
#endif
}

Vectors vectors() noexcept {
#if defined(__x86_64__)
  const x86::Extensions &e = x86::extensions();
  return e.avx512f ? Vectors::avx512 : e.avx2 && e.fma ? Vectors::avx2 : Vectors::none;
#else
  return Vectors::none;
#endif
}

size_t current() noexcept { return os::current_processor(); }

int cores_available() { return static_cast<int>(std::min<int64_t>(os::processors_allowed(), INT32_MAX)); }

}  // namespace dl4::cpu
