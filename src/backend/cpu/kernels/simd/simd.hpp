// Highway configuration, included before Highway: which instruction sets are worth their compile time.
#pragma once

// A private namespace: a program that links libdl4.a may use another version of Highway.
#define hwy dl4_hwy

// By bit, as not every version of Highway knows every name: SSSE3, the sub-variants of AVX-512 and AVX10, SVE.
#define HWY_DISABLED_TARGETS ((1LL << 12) | 0xFFLL | (0x3FFLL << 18))

// arm64: NEON only, which every processor has. Highway would make GCC compile it for processors with AES, and GCC then
// refuses its own generated functions, which are not.
#if defined(__aarch64__)
#define TOOLCHAIN_MISS_SYS_AUXV_H
#endif

// The x86 baseline: SSE4.2 (2008), without AES, which is newer. A build for the host's instruction set has only that.
#if defined(DL4_HOST_TARGET)
#define HWY_BASELINE_TARGETS DL4_HOST_TARGET
#elif defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSE4
#endif
#if defined(__x86_64__)
#define HWY_DISABLE_PCLMUL_AES
#endif

// DL4_IVDEP: the next loop has no dependences between iterations. DL4_UNROLL: the next loop has a small constant count
// and indexes vectors that must stay in registers.
#if defined(__clang__)
#define DL4_UNROLL _Pragma("clang loop unroll(full)")
#define DL4_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define DL4_UNROLL _Pragma("GCC unroll 32")
#define DL4_IVDEP _Pragma("GCC ivdep")
#endif
