// Memory from the system.
#pragma once

#include <cstdint>

namespace dl4::os {

// Null where there is no more. bytes is a multiple of alignment, a power of 2 from 64 on.
void *allocate(int64_t alignment, int64_t bytes) noexcept;
void release(void *p) noexcept;
// Asks for large pages in [p, p + bytes).
void use_large_pages(void *p, int64_t bytes) noexcept;
// Has the pages in [p, p + bytes) at once, which costs less than a fault for each.
void populate(void *p, int64_t bytes) noexcept;
// Gives back to the system what the process has released.
void trim() noexcept;
// Of the machine; INT64_MAX where the system does not say.
int64_t physical_memory() noexcept;

}  // namespace dl4::os
