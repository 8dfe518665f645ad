// This program's operator new, which counts what is there and can be told to fail. Included by one file of a program.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace dl4_test {

inline std::atomic<int64_t> news_granted = -1;     // how many more succeed before one fails; below zero: all
inline std::atomic<bool> news_stay_short = false;  // and every one after it fails too
inline std::atomic<int64_t> bytes_now = 0, bytes_at_most = 0, blocks_now = 0;

inline bool next_is_granted() noexcept {
  int64_t left = news_granted;
  while (left > 0 && !news_granted.compare_exchange_weak(left, left - 1)) continue;
  if (left == 0 && !news_stay_short) news_granted = -1;
  return left != 0;
}

inline void *granted(size_t bytes) noexcept {
  void *p = next_is_granted() ? std::malloc(bytes ? bytes : 1) : nullptr;
  if (!p) return p;
  ++blocks_now;
  const int64_t now = bytes_now += static_cast<int64_t>(malloc_usable_size(p));
  int64_t most = bytes_at_most;
  while (most < now && !bytes_at_most.compare_exchange_weak(most, now)) continue;
  return p;
}

inline void *granted_or_throw(size_t bytes) {
  if (void *p = granted(bytes)) return p;
  throw std::bad_alloc();
}

inline void give_back(void *p) noexcept {
  if (!p) return;
  --blocks_now;
  bytes_now -= static_cast<int64_t>(malloc_usable_size(p));
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
