// The functions of Highway's library that its headers call. Loading that library would cost every program some
// milliseconds, as it measures its timer.
#include "backend/cpu/kernels/simd/simd.hpp"
#include "base/x86.hpp"

#include "hwy/base.h"
#include "hwy/targets.h"

namespace hwy {
namespace {

int64_t for_test = 0;

#if defined(__x86_64__)

// A set needs every extension that Highway enables in it, including registers that the system saves.
int64_t detect() {
  const dl4::x86::Extensions &e = dl4::x86::extensions();
  int64_t found = 0;
  if (!e.sse4_1 || !e.sse4_2) return found;
  found |= HWY_SSE4;
  if (!e.avx2 || !e.fma || !e.bmi || !e.bmi2 || !e.lzcnt || !e.f16c) return found;
  found |= HWY_AVX2;
  if (e.avx512f && e.avx512vl && e.avx512dq && e.avx512bw && e.avx512cd) found |= HWY_AVX3;
  // No file is compiled for AVX3_DL: it tells HWY_AVX3 kernels that they may multiply bytes.
  if ((found & HWY_AVX3) && e.avx512vnni) found |= HWY_AVX3_DL;
  return found;
}

#else

int64_t detect() { return 0; }

#endif

}  // namespace

// The baseline is always included: a context refuses processors without it.
int64_t SupportedTargets() { return for_test ? for_test : detect() | HWY_ENABLED_BASELINE | HWY_SCALAR | HWY_EMU128; }

ChosenTarget &GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

void SetSupportedTargetsForTest(int64_t targets) {
  for_test = targets;
  GetChosenTarget().DeInit();
}

// Called by Highway's assertions, which exist only without optimisation and with sanitizers.
void Abort(const char *, int, const char *, ...) { __builtin_trap(); }

}  // namespace hwy
