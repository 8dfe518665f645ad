// Runs a kernel the ways a plan may: guarded and unaligned buffers, slices in any order, on any threads.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "backend/cpu/kernels/kernel.hpp"
#include "backend/cpu/kernels/single_threaded.hpp"
#include "base/os/processor.hpp"

namespace dl4::kernels::testing {

// Floats between two rows of guard words, 4 bytes off every alignment. Fresh ones are NaN.
class Guarded {
 public:
  explicit Guarded(int64_t n) : n_(n), all_(static_cast<size_t>(n) + 2 * guard + 1, std::nanf("")) {
    for (int64_t i = 0; i < guard; i++) begin()[-1 - i] = begin()[n + i] = word;
  }
  Guarded(int64_t n, std::mt19937 &random) : Guarded(n) {
    std::uniform_real_distribution<float> any(-1, 1);
    for (int64_t i = 0; i < n; i++) begin()[i] = any(random);
  }

  float *begin() { return all_.data() + guard + (reinterpret_cast<uintptr_t>(all_.data()) % 8 ? 0 : 1); }
  const float *begin() const { return const_cast<Guarded *>(this)->begin(); }
  int64_t size() const { return n_; }
  float &operator[](int64_t i) { return begin()[i]; }
  float operator[](int64_t i) const { return begin()[i]; }
  bool whole() const {
    for (int64_t i = 0; i < guard; i++)
      if (begin()[-1 - i] != word || begin()[n_ + i] != word) return false;
    return true;
  }

 private:
  static constexpr int64_t guard = 37;
  static constexpr float word = 12345.5f;
  int64_t n_;
  std::vector<float> all_;
};

inline int64_t os_threads() {
  std::error_code unknown;  // where there is no /proc
  return std::distance(std::filesystem::directory_iterator("/proc/self/task", unknown), {});
}

enum class Who { caller, backwards, another_thread, all_at_once };

// Two runs in a frame of its own. args: sources, then as many destinations as said; each may be null.
inline Fault run_kernel(const Kernel &kernel, const std::vector<void *> &args, Who who = Who::caller,
                        int destinations = 1) {
  std::vector<char> scratch(static_cast<size_t>(kernel.scratch) + 192, char(0x7f));
  char *at = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
  auto bound = kernel.bind();
  Report report;
  Run r{args.data(), static_cast<int>(args.size()) - destinations, at, bound.get(), &report};
  SingleThreaded one;
  auto slice = [&](int64_t s) {
    stay_single_threaded();
    kernel.run(s, r);
  };
  for (int64_t round = 0; round < 2 * kernel.phases; round++) {
    const int64_t begin = round % kernel.phases * kernel.slices, end = begin + kernel.slices;
    if (who == Who::caller)
      for (int64_t s = begin; s < end; s++) kernel.run(s, r);
    if (who == Who::backwards)
      for (int64_t s = end; s-- > begin;) kernel.run(s, r);
    if (who == Who::another_thread)
      for (int64_t s = begin; s < end; s++) std::thread(slice, s).join();
    if (who == Who::all_at_once) {
      std::vector<std::thread> threads;
      for (int64_t s = begin; s < end; s++) threads.emplace_back(slice, s);
      for (auto &t : threads) t.join();
    }
  }
  for (int64_t i = 0; i < 64; i++) EXPECT_EQ(at[kernel.scratch + i], char(0x7f)) << "scratch overrun";
  return report.fault;
}

// |got - want| <= tolerance * (1 + |want|) everywhere, NaN and infinities at the same places.
inline ::testing::AssertionResult near(const Guarded &got, const std::vector<double> &want, double tolerance) {
  if (!got.whole()) return ::testing::AssertionFailure() << "a guard word was overwritten";
  for (int64_t i = 0; i < got.size(); i++) {
    double w = want[static_cast<size_t>(i)], g = got[i];
    if (w == g || (std::isnan(w) && std::isnan(g))) continue;
    if (!(std::isfinite(w) && std::abs(g - w) <= tolerance * (1 + std::abs(w))))
      return ::testing::AssertionFailure() << "element " << i << " is " << g << ", not " << w;
  }
  return ::testing::AssertionSuccess();
}

// The output argument `output` has the same bits whoever runs the slices.
inline void expect_same_bits(const Kernel &kernel, std::vector<void *> args, size_t output, Guarded &buffer,
                             int destinations = 1) {
  auto bytes = static_cast<size_t>(buffer.size()) * sizeof(float);
  std::vector<float> first(buffer.begin(), buffer.begin() + buffer.size());
  for (Who who : {Who::backwards, Who::another_thread, Who::all_at_once}) {
    if (!os::has_threads() && who != Who::backwards) continue;
    Guarded again(buffer.size());
    args[output] = again.begin();
    EXPECT_EQ(run_kernel(kernel, args, who, destinations), Fault::none);
    EXPECT_TRUE(again.whole());
    EXPECT_EQ(std::memcmp(first.data(), again.begin(), bytes), 0) << kernel.name << ", way " << static_cast<int>(who);
  }
}

// An epilogue.
inline void doubled_plus_one(float *v, int64_t rows, int64_t cols, int64_t ld) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) v[i * ld + j] = 2 * v[i * ld + j] + 1;
}

}  // namespace dl4::kernels::testing
