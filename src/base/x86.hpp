// The x86-64 extensions that this processor has and whose registers the system saves.
#pragma once

namespace dl4::x86 {

struct Extensions {
  bool pclmul = false, sse4_1 = false, sse4_2 = false, f16c = false, lzcnt = false;
  bool avx = false, fma = false, bmi = false, bmi2 = false, avx2 = false, vpclmul = false;
  bool avx512f = false, avx512dq = false, avx512cd = false, avx512bw = false, avx512vl = false, avx512vnni = false;
  bool avx512bf16 = false;
  bool amx_bf16 = false;  // AMX tiles and their bfloat16 products
  bool intel = false;     // by vendor
};
const Extensions &extensions() noexcept;

}  // namespace dl4::x86
