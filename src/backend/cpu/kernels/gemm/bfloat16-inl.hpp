// Per instruction set: conversion of float32 to bfloat16.
#if defined(DL4_KERNELS_BFLOAT16_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DL4_KERNELS_BFLOAT16_INL
#undef DL4_KERNELS_BFLOAT16_INL
#else
#define DL4_KERNELS_BFLOAT16_INL
#endif

#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;

// v rounded to bfloat16, ties to even, in the upper halves of the lanes. v must not be NaN.
HWY_INLINE VU upper(V v) {
  const VU bits = hn::BitCast(DU(), v), last = hn::And(hn::ShiftRight<16>(bits), hn::Set(DU(), 1));
  return hn::And(hn::Add(bits, hn::Add(last, hn::Set(DU(), 0x7FFF))), hn::Set(DU(), 0xFFFF0000));
}

// Loads up to a vector of n numbers, zero padded.
HWY_INLINE V load_some(const float *p, int64_t n) {
  return n >= lanes ? load(p) : n > 0 ? load_n(p, n) : hn::Zero(D());
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
