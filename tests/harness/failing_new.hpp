// This program's operator new, which can be told to fail. Included by one file of a program.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace dl4_test {

inline int64_t news_granted = -1;  // how many more succeed before one fails; below zero: all

inline void *granted(size_t bytes) noexcept {
  if (news_granted >= 0 && news_granted-- == 0) return nullptr;
  return std::malloc(bytes ? bytes : 1);
}

inline void *granted_or_throw(size_t bytes) {
  if (void *p = granted(bytes)) return p;
  throw std::bad_alloc();
}

}  // namespace dl4_test

// Not inlined: the compiler would see a free() of what came from new.
[[gnu::noinline]] void *operator new(size_t n) { return dl4_test::granted_or_throw(n); }
[[gnu::noinline]] void *operator new[](size_t n) { return dl4_test::granted_or_throw(n); }
[[gnu::noinline]] void *operator new(size_t n, const std::nothrow_t &) noexcept { return dl4_test::granted(n); }
[[gnu::noinline]] void *operator new[](size_t n, const std::nothrow_t &) noexcept { return dl4_test::granted(n); }
[[gnu::noinline]] void operator delete(void *p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void *p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void *p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void *p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void *p, const std::nothrow_t &) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void *p, const std::nothrow_t &) noexcept { std::free(p); }
