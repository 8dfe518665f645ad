#include <unistd.h>

#include <cstdlib>

#include "base/os/memory.hpp"
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace dl4::os {

void *allocate(int64_t alignment, int64_t bytes) noexcept {
  return std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(bytes));
}

void release(void *p) noexcept { std::free(p); }

void use_large_pages(void *p, int64_t bytes) noexcept {
#if defined(MADV_HUGEPAGE)
  madvise(p, static_cast<size_t>(bytes), MADV_HUGEPAGE);
#else
  static_cast<void>(p), static_cast<void>(bytes);
#endif
}

void populate(void *p, int64_t bytes) noexcept {
#if defined(MADV_POPULATE_WRITE)
  constexpr uintptr_t page = 4096;  // with larger pages the call fails harmlessly
  const auto address = reinterpret_cast<uintptr_t>(p);
  const uintptr_t begin = (address + page - 1) / page * page,
                  end = (address + static_cast<uintptr_t>(bytes)) / page * page;
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_WRITE);
#else
  static_cast<void>(p), static_cast<void>(bytes);
#endif
}

void trim() noexcept {
#if defined(__GLIBC__)
  malloc_trim(0);  // free() only returns pages at the end of the heap
#endif
}

int64_t physical_memory() noexcept {
#if defined(_SC_PHYS_PAGES)
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0) return static_cast<int64_t>(pages) * size;
#endif
  return INT64_MAX;
}

}  // namespace dl4::os
