// This program's operator new, which counts what is there and can be told to fail. Included by one file of a program.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace dl4_test {

inline int64_t news_granted = -1;     // how many more succeed before one fails; below zero: all
inline bool news_stay_short = false;  // and every one after it fails too
inline int64_t bytes_now = 0, bytes_at_most = 0, blocks_now = 0;

inline void *granted(size_t bytes) noexcept {
  if (news_granted == 0) {
    if (!news_stay_short) news_granted = -1;
    return nullptr;
  }
  if (news_granted > 0) --news_granted;
  void *p = std::malloc(bytes ? bytes : 1);
  if (!p) return p;
  __atomic_add_fetch(&blocks_now, 1, __ATOMIC_RELAXED);
  int64_t now = __atomic_add_fetch(&bytes_now, static_cast<int64_t>(malloc_usable_size(p)), __ATOMIC_RELAXED);
  bytes_at_most = std::max(bytes_at_most, now);
  return p;
}

inline void *granted_or_throw(size_t bytes) {
  if (void *p = granted(bytes)) return p;
  throw std::bad_alloc();
}

inline void give_back(void *p) noexcept {
  if (!p) return;
  __atomic_sub_fetch(&blocks_now, 1, __ATOMIC_RELAXED);
  __atomic_sub_fetch(&bytes_now, static_cast<int64_t>(malloc_usable_size(p)), __ATOMIC_RELAXED);
  std::free(p);
}

}  // namespace dl4_test

// Not inlined: the compiler would see a free() of what came from new.
[[gnu::noinline]] void *operator new(size_t n) { return dl4_test::granted_or_throw(n); }
[[gnu::noinline]] void *operator new[](size_t n) { return dl4_test::granted_or_throw(n); }
[[gnu::noinline]] void *operator new(size_t n, const std::nothrow_t &) noexcept { return dl4_test::granted(n); }
[[gnu::noinline]] void *operator new[](size_t n, const std::nothrow_t &) noexcept { return dl4_test::granted(n); }
[[gnu::noinline]] void operator delete(void *p) noexcept { dl4_test::give_back(p); }
[[gnu::noinline]] void operator delete[](void *p) noexcept { dl4_test::give_back(p); }
[[gnu::noinline]] void operator delete(void *p, size_t) noexcept { dl4_test::give_back(p); }
[[gnu::noinline]] void operator delete[](void *p, size_t) noexcept { dl4_test::give_back(p); }
[[gnu::noinline]] void operator delete(void *p, const std::nothrow_t &) noexcept { dl4_test::give_back(p); }
[[gnu::noinline]] void operator delete[](void *p, const std::nothrow_t &) noexcept { dl4_test::give_back(p); }
