// Processor queries of the operating system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dl4::os {

std::string processor_name();  // "" if unknown
// Processors this process may use by affinity and quota; at least 1.
int64_t processors_allowed();
bool has_threads() noexcept;  // whether a process may start threads
// Bytes of a core's first and second data cache and of the last one, which cores may share; 0 if unknown.
struct Caches {
  int64_t first = 0, second = 0, last = 0;
};
Caches caches() noexcept;
// The processor that runs the calling thread now; 0 if unknown.
size_t current_processor() noexcept;

// A thread's processor affinity, in the system's format.
struct Affinity {
  uint64_t bits[16];
};
int64_t thread_number() noexcept;  // id of the calling thread
// Removes a processor from the affinity of a thread of this process if others remain, and stores the old affinity in
// `before`. False if nothing was changed.
bool keep_off(int64_t thread, size_t core, Affinity &before) noexcept;
void set_affinity(const Affinity &) noexcept;  // of the calling thread

bool allow_tiles() noexcept;  // requests the registers of x86-64's AMX for this process and its children
// Extensions of arm64, which a program can't query from the processor itself.
struct ArmExtensions {
  bool simd = false, crc32 = false, sve = false;
};
ArmExtensions arm_extensions() noexcept;

}  // namespace dl4::os
