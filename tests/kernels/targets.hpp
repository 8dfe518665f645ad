// For tests of SIMD kernels: every instruction set in turn, and arrays that end where reading further is a crash.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "backend/cpu/kernels/simd/simd.hpp"
#include "harness/pages.hpp"

#include "hwy/highway.h"

namespace dl4::kernels {

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// f() once on each instruction set that this processor has and the kernels are built for.
template <class F>
void on_every_target(const F &f) {
  const int64_t all = hwy::SupportedTargets() & HWY_TARGETS;
  for (int64_t left = all; left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    f();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// n elements right before a page that must not be touched, and a guard word in front.
template <class T>
class Edge {
 public:
  explicit Edge(int64_t n)
      : n_(static_cast<size_t>(n)),
        pages_(n_ * sizeof(T) + sizeof guard),
        data_(reinterpret_cast<T *>(pages_.end()) - n_) {
    std::memcpy(reinterpret_cast<char *>(data_) - sizeof guard, &guard, sizeof guard);
  }
  explicit Edge(const std::vector<T> &v) : Edge(static_cast<int64_t>(v.size())) {
    std::copy(v.begin(), v.end(), data_);
  }
  ~Edge() {
    EXPECT_EQ(0, std::memcmp(reinterpret_cast<char *>(data_) - sizeof guard, &guard, sizeof guard)) << "guard word";
  }
  Edge(const Edge &) = delete;
  Edge &operator=(const Edge &) = delete;
  operator T *() { return data_; }
  T *data() { return data_; }
  int64_t size() const { return static_cast<int64_t>(n_); }
  std::vector<T> vector() const { return {data_, data_ + n_}; }

 private:
  static constexpr uint64_t guard = 0x5afe5afe5afe5afe;
  size_t n_;
  const dl4_test::Pages pages_;
  T *data_;
};

inline std::vector<float> random_floats(int64_t n, float low = -2, float high = 2, uint32_t seed = 1) {
  std::mt19937 g(seed);
  std::uniform_real_distribution<float> d(low, high);
  std::vector<float> v(static_cast<size_t>(n));
  for (float &x : v) x = d(g);
  return v;
}

// Both NaN, the same infinity, or within `relative` of the expected plus `absolute`.
inline ::testing::AssertionResult near(double expected, double got, double relative = 1e-5, double absolute = 1e-6) {
  if (std::isnan(expected) && std::isnan(got)) return ::testing::AssertionSuccess();
  if (expected == got) return ::testing::AssertionSuccess();
  if (std::isfinite(expected) && std::fabs(expected - got) <= relative * std::fabs(expected) + absolute)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expected " << expected << ", got " << got;
}

}  // namespace dl4::kernels
