// The context in which a kernel is made: one step at known shapes.
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

namespace dl4 {
struct Machine;
}

namespace dl4::dispatch {

using ops::Operand, ops::Operands;

// Packed forms of constant weights, shared by all plans and sessions of one set of parameters.
class Packs {
 public:
  kernels::PackedForms &of(const std::string &key);
  int64_t bytes() const;  // of live forms

 private:
  mutable Mutex mutex_;
  std::map<std::string, kernels::PackedForms> forms_;
};

// Rough time on one thread: arithmetic or memory, whichever is slower.
double work_microseconds(double flops, double bytes);

// How work is cut into slices.
struct Cutting {
  int threads = 1;
  bool strict = false;    // slices depend on shapes only
  bool portable = false;  // kernels too: on shapes and constants, not on the processor
  bool by_row = false;    // a product's rows and a convolution's windows have the same bits as alone
  double least = 5;       // microseconds: smaller slices cost more to hand over than to run
  std::shared_ptr<const Machine> machine = nullptr;  // what costs follow from; null: the figures of this one

  int64_t most() const { return strict ? 8 : threads; }
  // Slices for `parts` indivisible equal parts that take `microseconds` in all on one thread.
  int64_t slices(int64_t parts, double microseconds) const;
  // More slices for long work, some 40 ms each, since a run can be cancelled between slices. For kernels that need
  // little memory per slice.
  int64_t short_slices(int64_t parts, double microseconds) const;
};

// What a kernel is estimated to take on one thread.
struct Price {
  std::string_view name;
  double microseconds;
};
// The candidates that applied: the one that was chosen, then the others, cheapest first.
using Choice = std::vector<Price>;

// A step at known shapes, for which a kernel is made.
struct Site {
  std::vector<Operand> src, dst;
  // By source: its contents if constant under this plan, else null; and a key for the contents, unique among all plans
  // that share `packs`, or "".
  std::vector<const Tensor *> constant;
  std::vector<std::string> constant_key;
  Cutting cutting;
  std::span<const std::string> off;  // names of kernels switched off
  Packs *packs = nullptr;
  kernels::WeightType weights = kernels::WeightType::float32;  // narrow type that constants may use
  kernels::Math math = kernels::Math::float32;
  std::vector<Choice> *choices = nullptr;  // receives each choice that is made; null: not wanted

  bool allows(std::string_view kernel) const;
  // Source i for a kernel, if constant.
  std::optional<kernels::Constant> constant_source(size_t i) const;
};

// The site of a program's step, without constants and with nothing switched off.
Site site(const ops::Program &p, const ops::Step &step);

// For outputs without elements.
std::unique_ptr<kernels::Kernel> nothing();
// For empty float sums: zeros all destinations.
std::unique_ptr<kernels::Kernel> zeros(const Site &site);

}  // namespace dl4::dispatch
