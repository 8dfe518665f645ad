// Kernels cut into even parts, and kernels with remapped arguments.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "backend/cpu/dispatch/site.hpp"

namespace dl4::dispatch {

using kernels::Run;

// Microseconds on one thread to move a byte (through a shared cache, in or out), and per transcendental function.
inline constexpr double us_per_byte = 5e-5;
inline constexpr double us_per_function = 1e-3;

// A kernel that calls f(begin, end, run) for parts of [0, n), which start at multiples of `block`.
template <class F>
std::unique_ptr<kernels::Kernel> sliced(std::string name, const Site &site, int64_t n, double microseconds, F f,
                                        int64_t block = 1) {
  int64_t slices = site.cutting.short_slices((n + block - 1) / block, microseconds);
  return kernels::make_kernel(std::move(name), slices, [=](int64_t i, const kernels::Run &r) {
    auto [begin, end] = kernels::part(n, slices, i, block);
    if (begin < end) f(begin, end, r);
  });
}

// The kernel on these of the step's sources and destinations, in this order.
inline std::unique_ptr<kernels::Kernel> with_args(std::unique_ptr<kernels::Kernel> inner, std::initializer_list<int> in,
                                                  std::initializer_list<int> out) {
  struct Picked final : kernels::Kernel {
    Picked(std::unique_ptr<kernels::Kernel> k, std::initializer_list<int> in, std::initializer_list<int> out)
        : Kernel(k->name, k->slices, k->scratch, k->phases), inner(std::move(k)), in(in), out(out) {}
    std::unique_ptr<kernels::Bound> bind() const override { return inner->bind(); }
    void run(int64_t slice, const Run &r) const noexcept override {
      std::array<void *, 12> args;
      size_t n = 0;
      for (int i : in) args[n++] = r.args[i];
      for (int i : out) args[n++] = r.out<void>(i);
      inner->run(slice, {args.data(), static_cast<int>(in.size()), r.scratch, r.bound, r.report});
    }
    std::unique_ptr<kernels::Kernel> inner;
    const std::vector<int> in, out;
  };
  return std::make_unique<Picked>(std::move(inner), in, out);
}

// The kernel with its first two sources rounded to bfloat16 in a phase before.
std::unique_ptr<kernels::Kernel> with_rounded(const Site &site, std::unique_ptr<kernels::Kernel> inner);

// Elements that are a whole number of cache lines, so that no two slices write to one line.
inline constexpr int64_t line_block = 64;

}  // namespace dl4::dispatch
