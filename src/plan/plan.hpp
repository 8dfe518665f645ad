// The Plan: a Program at known shapes with every kernel made and every buffer placed. Immutable, owns no buffer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/dispatch/site.hpp"
#include "backend/cpu/kernels/kernel.hpp"
#include "base/log.hpp"
#include "ops/op.hpp"
#include "ops/program.hpp"

namespace dl4::plan {

using dispatch::Packs, dispatch::Site;

struct Options {
  dispatch::Cutting cutting;
  std::vector<std::string> passes_off, kernels_off;
  // What products and convolutions may keep constant weights in.
  kernels::WeightType weights = kernels::WeightType::float32;
  kernels::Math math = kernels::Math::float32;
  bool check = false;       // verify the Program after each pass
  int64_t guard_bytes = 0;  // left free behind every buffer of the arena, for tests
  int64_t memory_limit = INT64_MAX;
  const Log *log = nullptr;  // hears of each plan; null: none does
  // Becomes non-zero when the plan is no longer wanted; null: it always is.
  const std::atomic<int32_t> *cancel = nullptr;
};

// Where an argument of a kernel lies.
struct Place {
  enum class Region : int32_t { nowhere, arena, input, output, state, constant };
  Region region = Region::nowhere;
  int32_t index = 0;   // of the input, output, state or constant
  int64_t offset = 0;  // bytes
};

// Bytes behind a buffer that no kernel may touch from step `first` to step `last`, both included.
struct Guard {
  int64_t offset, size;
  int32_t first, last;
};

struct PlanStep {
  int32_t number = 0;           // in the Program
  int32_t first = -1;           // of several in one: the first of them
  std::vector<ops::Id> values;  // and its arguments
  std::unique_ptr<kernels::Kernel> kernel;
  std::vector<Place> args;  // sources, then destinations
  int sources = 0;          // of args
  Place scratch;
  std::string scope, text;  // the layer; the step as the Program prints it
  std::string reason;       // why this kernel, where there was a choice
};

class Plan {
 public:
  std::vector<PlanStep> steps;
  std::vector<ops::Operand> inputs, outputs;
  std::vector<Tensor> constants;
  std::vector<Guard> guards;  // when asked for
  int64_t arena_bytes = 0;
  size_t first_write = 0;  // the first of `steps` that writes a state; none: their number
  ops::Program program;    // as it was after all passes

  // One line a step: kernel, slices, arguments' places.
  std::string to_string() const;
};

// The Program at the given input shapes. `states`: by state, its contents when no run ever changes them, else null.
// Refuses shapes that do not fit, and an arena past the memory limit; by then the kernels have packed the weights they
// know. Fails with CANCELLED when *options.cancel becomes non-zero between two steps.
std::unique_ptr<const Plan> specialise(const ops::Program &program, std::span<const Shape> inputs,
                                       std::span<const Tensor *const> states, const Options &options, Packs *packs);

// The Program with all dims known: the ops' shape rules again, from these inputs.
ops::Program resolve(const ops::Program &program, std::span<const Shape> inputs);

}  // namespace dl4::plan
