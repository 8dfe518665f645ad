#include <malloc.h>
#include <windows.h>

#include "base/os/memory.hpp"

namespace dl4::os {

void *allocate(int64_t alignment, int64_t bytes) noexcept {
  return _aligned_malloc(static_cast<size_t>(bytes), static_cast<size_t>(alignment));
}

void release(void *p) noexcept { _aligned_free(p); }

// Large pages need a privilege on Windows, and pages are populated on first touch.
void use_large_pages(void *, int64_t) noexcept {}
void populate(void *, int64_t) noexcept {}

void trim() noexcept { HeapCompact(GetProcessHeap(), 0); }

int64_t physical_memory() noexcept {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return GlobalMemoryStatusEx(&status) ? static_cast<int64_t>(status.ullTotalPhys) : INT64_MAX;
}

}  // namespace dl4::os
