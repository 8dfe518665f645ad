// The processor's capabilities, and how much of it this process may use.
#pragma once

#include <cstddef>
#include <string>

namespace dl4::cpu {

std::string name();                     // "AMD EPYC"; "" if unknown
bool is_supported() noexcept;           // has the extensions that every file of the library may be compiled for
bool has_fused_operations() noexcept;   // a * b + c with one rounding, in vectors (FMA)
bool has_bfloat16_products() noexcept;  // products of two bfloat16 pairs added to a float32 at once, in vectors
// Requests the AMX tile registers from the system, which grants them per process. Afterwards the stack of a signal
// handler must have room for the tiles too.
bool may_use_tiles() noexcept;
std::string isa();  // the vector extensions found, best last: "sse4.2 avx2 fma avx512f"
// Vector width for libraries that may misdetect a processor newer than they are. none: x86-64 without AVX2.
enum class Vectors { none, avx2, avx512 };
Vectors vectors() noexcept;
constexpr const char *vector_names[] = {"vectors", "AVX2", "AVX-512"};
int cores_available();  // by affinity and the cgroup's quota, at least 1
// The core that runs the calling thread now; 0 if unknown.
size_t current() noexcept;

}  // namespace dl4::cpu
