// What the processor is and how much of it this process may use.
#pragma once

#include <string>

namespace dl4::cpu {

std::string name();     // "AMD EPYC", "" when the system does not say
std::string isa();      // the vector extensions found, best last: "sse4.2 avx2 fma avx512f"
int cores_available();  // by affinity and by the cgroup's quota, at least 1

}  // namespace dl4::cpu
