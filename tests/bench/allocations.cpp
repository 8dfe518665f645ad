// The program's own malloc and operator new: every library of the process finds them first. The caller's address says
// who asked; that of operator new is counted there, and not again by the malloc inside it.
#include "allocations.hpp"

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "dl4/dl4.h"

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
}

namespace bench {
namespace {

std::atomic<uintptr_t> first{0}, last{0};
std::atomic<int64_t> own{0}, others{0};

void count(void *caller) noexcept {
  auto at = reinterpret_cast<uintptr_t>(caller);
  bool mine = at >= first.load(std::memory_order_relaxed) && at < last.load(std::memory_order_relaxed);
  (mine ? own : others).fetch_add(1, std::memory_order_relaxed);
}

void *required(void *p) {
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

void watch_allocations() {
  Dl_info library{};
  if (!dladdr(reinterpret_cast<void *>(&dl4_version), &library)) return;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *base) {
        if (info->dlpi_addr != reinterpret_cast<uintptr_t>(base)) return 0;
        uintptr_t end = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_LOAD)
            end = std::max<uintptr_t>(end, info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
        last = info->dlpi_addr + end;
        first = info->dlpi_addr;
        return 1;
      },
      library.dli_fbase);
}

Allocations allocations() noexcept { return {own.load(), others.load()}; }

}  // namespace bench

#define DL4_COUNT() bench::count(__builtin_return_address(0))

extern "C" {
void *malloc(size_t n) {
  DL4_COUNT();
  return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
  DL4_COUNT();
  return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
  DL4_COUNT();
  return __libc_realloc(p, n);
}
void *memalign(size_t align, size_t n) {
  DL4_COUNT();
  return __libc_memalign(align, n);
}
void *aligned_alloc(size_t align, size_t n) {
  DL4_COUNT();
  return __libc_memalign(align, n);
}
int posix_memalign(void **out, size_t align, size_t n) {
  DL4_COUNT();
  *out = __libc_memalign(align, n);
  return *out ? 0 : ENOMEM;
}
void free(void *p) { __libc_free(p); }
}

void *operator new(size_t n) {
  DL4_COUNT();
  return bench::required(__libc_malloc(n ? n : 1));
}
void *operator new[](size_t n) {
  DL4_COUNT();
  return bench::required(__libc_malloc(n ? n : 1));
}
void *operator new(size_t n, std::align_val_t align) {
  DL4_COUNT();
  return bench::required(__libc_memalign(static_cast<size_t>(align), n));
}
void *operator new[](size_t n, std::align_val_t align) {
  DL4_COUNT();
  return bench::required(__libc_memalign(static_cast<size_t>(align), n));
}
void *operator new(size_t n, const std::nothrow_t &) noexcept {
  DL4_COUNT();
  return __libc_malloc(n ? n : 1);
}
void *operator new(size_t n, std::align_val_t align, const std::nothrow_t &) noexcept {
  DL4_COUNT();
  return __libc_memalign(static_cast<size_t>(align), n);
}
void operator delete(void *p) noexcept { __libc_free(p); }
void operator delete[](void *p) noexcept { __libc_free(p); }
void operator delete(void *p, size_t) noexcept { __libc_free(p); }
void operator delete[](void *p, size_t) noexcept { __libc_free(p); }
void operator delete(void *p, std::align_val_t) noexcept { __libc_free(p); }
void operator delete[](void *p, std::align_val_t) noexcept { __libc_free(p); }
void operator delete(void *p, size_t, std::align_val_t) noexcept { __libc_free(p); }
void operator delete[](void *p, size_t, std::align_val_t) noexcept { __libc_free(p); }
