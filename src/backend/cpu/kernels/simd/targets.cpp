// The functions of Highway's own library that its headers call. Defined here, for loading that library costs every
// program some milliseconds: it measures its timer.
#include "backend/cpu/kernels/simd/simd.hpp"
#include "base/x86.hpp"

#include "hwy/base.h"
#include "hwy/targets.h"

namespace hwy {
namespace {

int64_t for_test = 0;

#if defined(__x86_64__)

// Each set is asked for everything that Highway lets the compiler use in it; that the system saves the registers is
// part of the answer.
int64_t detect() {
  const dl4::x86::Extensions &e = dl4::x86::extensions();
  int64_t found = 0;
  if (!e.sse4_1 || !e.sse4_2) return found;
  found |= HWY_SSE4;
  if (!e.avx2 || !e.fma || !e.bmi || !e.bmi2 || !e.lzcnt || !e.f16c) return found;
  found |= HWY_AVX2;
  if (e.avx512f && e.avx512vl && e.avx512dq && e.avx512bw && e.avx512cd) found |= HWY_AVX3;
  // No file is compiled for that one: it says that kernels of HWY_AVX3 may multiply bytes.
  if ((found & HWY_AVX3) && e.avx512vnni) found |= HWY_AVX3_DL;
  return found;
}

#else

int64_t detect() { return 0; }

#endif

}  // namespace

// The least that kernels are built for is always part of it: a context refuses a processor without that.
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
