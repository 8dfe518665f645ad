// Whether tests are built with a sanitizer that keeps memory or makes all slow.
#pragma once

namespace dl4_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace dl4_test
