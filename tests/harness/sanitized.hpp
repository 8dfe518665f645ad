// Whether tests are built with a sanitizer that keeps memory or makes all slow: gcc says so by macros, clang by features.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define DL4_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define DL4_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DL4_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define DL4_THREAD_SANITIZER
#endif
#endif

namespace dl4_test {

#if defined(DL4_ADDRESS_SANITIZER) || defined(DL4_THREAD_SANITIZER)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace dl4_test
