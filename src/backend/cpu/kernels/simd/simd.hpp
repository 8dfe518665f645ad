// What every file built with Highway says before it includes Highway: which instruction sets are worth their compile
// time.
#pragma once

// A namespace of the library's: a program that links libdl4.a may have another version of Highway.
#define hwy dl4_hwy

// In bits, as not every version of Highway knows every name: SSSE3, the sub-variants of AVX-512 and AVX10, SVE.
#define HWY_DISABLED_TARGETS ((1LL << 12) | 0xFFLL | (0x3FFLL << 18))

// On arm64 NEON alone, which every processor has. Highway would have GCC compile it for those with AES, and GCC refuses
// the functions that it makes itself, which are not.
#if defined(__aarch64__)
#define TOOLCHAIN_MISS_SYS_AUXV_H
#endif

// The least on x86: SSE4.2, which every processor since 2008 has, without AES, which is younger. A build for the
// machine that it is made on has no other set than this one's.
#if defined(DL4_HOST_TARGET)
#define HWY_BASELINE_TARGETS DL4_HOST_TARGET
#elif defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSE4
#endif
#if defined(__x86_64__)
#define HWY_DISABLE_PCLMUL_AES
#endif

// The next loop may be vectorised: what it writes is what it reads at the same place, or nothing it reads.
// DL4_UNROLL: the next loop has a small constant count and indexes vectors that must stay in registers.
#if defined(__clang__)
#define DL4_UNROLL _Pragma("clang loop unroll(full)")
#define DL4_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define DL4_UNROLL _Pragma("GCC unroll 32")
#define DL4_IVDEP _Pragma("GCC ivdep")
#endif
