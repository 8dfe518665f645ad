// Where a kernel is made: one step at known shapes, and what its choice may look at.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/kernels/gemm/packed.hpp"
#include "backend/cpu/kernels/gemm/weight_type.hpp"
#include "backend/cpu/kernels/kernel.hpp"
#include "base/fork.hpp"
#include "ops/op.hpp"

namespace dl4::dispatch {

using ops::Operand, ops::Operands;

// Packed forms of constant weights, shared by all plans and sessions of one set of parameters.
class Packs {
 public:
  kernels::PackedForms &of(const std::string &key);
  int64_t bytes() const;  // of the forms alive

 private:
  mutable Mutex mutex_;
  std::map<std::string, kernels::PackedForms> forms_;
};

// What work takes on one thread, roughly: its arithmetic or its memory, whichever is slower.
double work_microseconds(double flops, double bytes);

// How work is cut into slices.
struct Cutting {
  int threads = 1;
  bool strict = false;    // by the shapes alone
  bool portable = false;  // kernels too: by the shapes and what is constant, whatever the processor
  bool by_row = false;    // a row of a product, a window of a convolution have the bits that they have alone
  double least = 10;      // microseconds of work: below this a slice costs more to hand over than to run

  // Slices for `parts` equal parts that can't be divided and take `microseconds` in all on one thread.
  int64_t slices(int64_t parts, double microseconds) const;
};

// The place a kernel is made for: one step at known shapes.
struct Site {
  std::vector<Operand> src, dst;
  // By source: its contents when they never change under this plan, else null; and what names those contents among all
  // plans that share `packs`, or "".
  std::vector<const Tensor *> constant;
  std::vector<std::string> constant_key;
  Cutting cutting;
  std::span<const std::string> off;  // kernels switched off by name
  Packs *packs = nullptr;
  kernels::WeightType weights = kernels::WeightType::float32;  // constant ones may be kept in this
  kernels::Math math = kernels::Math::float32;
  std::string *reason = nullptr;  // gets why a kernel was chosen among several; null: nobody asks

  bool allows(std::string_view kernel) const;
  // Source i as kernels want it when it is constant.
  std::optional<kernels::Constant> constant_source(size_t i) const;
};

// The site of a step as the Program has it, with nothing constant and nothing switched off.
Site site(const ops::Program &p, const ops::Step &step);

// For outputs without elements.
std::unique_ptr<kernels::Kernel> nothing();
// For floats that are sums of nothing, in all destinations.
std::unique_ptr<kernels::Kernel> zeros(const Site &site);

}  // namespace dl4::dispatch
