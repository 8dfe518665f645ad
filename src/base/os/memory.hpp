// Memory from the system.
#pragma once

#include <cstdint>

namespace dl4::os {

// Null if there is none. `bytes` is a multiple of `alignment`, a power of 2 of at least 64.
void *allocate(int64_t alignment, int64_t bytes) noexcept;
void release(void *p) noexcept;
// Requests large pages for [p, p + bytes).
void use_large_pages(void *p, int64_t bytes) noexcept;
// Populates the pages in [p, p + bytes) at once, which is cheaper than a fault for each.
void populate(void *p, int64_t bytes) noexcept;
// Returns freed memory of the process to the system.
void trim() noexcept;
// Of the machine; INT64_MAX if unknown.
int64_t physical_memory() noexcept;

}  // namespace dl4::os
