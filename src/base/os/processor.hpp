// What the system says about its processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dl4::os {

std::string processor_name();  // "" where the system does not say
// Processors that this process may use, by affinity and by quota; at least 1.
int64_t processors_allowed();
bool has_threads() noexcept;  // whether a process may start any
// Bytes of the first data cache; 0 where the system does not say.
int64_t first_cache_bytes() noexcept;
// The processor on which the calling thread runs at this moment; 0 where the system does not say.
size_t current_processor() noexcept;

// Processors on which a thread may run, as the system keeps them.
struct Affinity {
  uint64_t bits[16];
};
int64_t thread_number() noexcept;  // of the calling thread
// Takes a processor from those of a thread of this process, if others are left, and says in `before` which it had.
// False where nothing was changed.
bool keep_off(int64_t thread, size_t core, Affinity &before) noexcept;
void set_affinity(const Affinity &) noexcept;  // of the calling thread

bool allow_tiles() noexcept;  // asks for the registers of x86-64's AMX, for this process and those it forks
// Extensions of arm64, which a program can't ask the processor for.
struct ArmExtensions {
  bool simd = false, crc32 = false, sve = false;
};
ArmExtensions arm_extensions() noexcept;

}  // namespace dl4::os
