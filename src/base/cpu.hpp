// What the processor is and how much of it this process may use.
#pragma once

#include <cstddef>
#include <string>

namespace dl4::cpu {

std::string name();                     // "AMD EPYC", "" when the system does not say
bool is_supported() noexcept;           // has what every file of the library may be compiled for
bool has_fused_operations() noexcept;   // a * b + c with one rounding, in vectors
bool has_bfloat16_products() noexcept;  // two of them added to a float32 at once, in vectors
// Tiles with products of bfloat16 (AMX), which the system gives to a process that asks for them: this asks. From then
// on the stack of a signal handler has to hold the tiles too.
bool may_use_tiles() noexcept;
std::string isa();  // the vector extensions found, best last: "sse4.2 avx2 fma avx512f"
// What thresholds are kept for. avx512: through units of 256 bits, as Zen 4's; wide_avx512: of 512, as Zen 5's, whose
// first data cache is of more than 32 KiB.
enum class Type { intel_avx512, wide_avx512, avx512, avx2, neon };
Type type() noexcept;
// The vectors that code of today is written for, where a library may know the processor as an older one. none: of no
// x86-64 that has any.
enum class Vectors { none, avx2, avx512 };
Vectors vectors() noexcept;
constexpr const char *vector_names[] = {"vectors", "AVX2", "AVX-512"};
// Lines that addresses a multiple of 4096 bytes apart share in the first data cache; 0 when the system does not say.
int64_t first_cache_ways() noexcept;
int cores_available();  // by affinity and by the cgroup's quota, at least 1
// On which core the calling thread runs at this moment; 0 when the system does not say.
size_t current() noexcept;

}  // namespace dl4::cpu
