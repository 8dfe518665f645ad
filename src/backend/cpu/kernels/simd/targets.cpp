// The functions of Highway's own library that its headers call. Defined here, for loading that library costs every
// program some milliseconds: it measures its timer.
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#include "base/os/processor.hpp"

#include "hwy/base.h"
#include "hwy/targets.h"

namespace hwy {
namespace {

int64_t for_test = 0;

#if defined(__x86_64__)

bool has_lzcnt_and_f16c() {  // not every compiler knows them by name
  unsigned a, b, c, d;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT) && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

// Each set is asked for everything that Highway lets the compiler use in it; that the system saves the registers is
// part of the answer.
int64_t detect() {
  __builtin_cpu_init();
  int64_t found = 0;
  if (!__builtin_cpu_supports("sse4.1") || !__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul") ||
      !__builtin_cpu_supports("aes"))
    return found;
  found |= HWY_SSE4;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !has_lzcnt_and_f16c())
    return found;
  found |= HWY_AVX2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd"))
    found |= HWY_AVX3;
  // No file is compiled for that one: it says that kernels of HWY_AVX3 may multiply bytes.
  if ((found & HWY_AVX3) && __builtin_cpu_supports("avx512vnni")) found |= HWY_AVX3_DL;
  return found;
}

#elif defined(__aarch64__)

int64_t detect() { return dl4::os::arm_extensions().aes ? HWY_NEON : 0; }

#else

int64_t detect() { return 0; }

#endif

}  // namespace

// What every processor runs, which the kernels are always built for, and more where there is more.
int64_t SupportedTargets() { return for_test ? for_test : detect() | HWY_ENABLED_BASELINE | HWY_SCALAR | HWY_EMU128; }

ChosenTarget &GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

void SetSupportedTargetsForTest(int64_t targets) {
  for_test = targets;
  GetChosenTarget().DeInit();
}

// Of Highway's assertions, which only builds without optimisation and with sanitizers have.
void Abort(const char *, int, const char *, ...) { __builtin_trap(); }

}  // namespace hwy
