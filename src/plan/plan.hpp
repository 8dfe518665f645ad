// A Program at known shapes with all kernels made and all buffers placed. Immutable; owns no buffer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "base/log.hpp"
#include "ops/op.hpp"
#include "ops/program.hpp"

namespace dl4::plan {

using dispatch::Packs, dispatch::Site;

struct Options {
  dispatch::Cutting cutting;
  std::vector<std::string> passes_off, kernels_off;
  // Types that products and convolutions may use for constant weights.
  kernels::WeightType weights = kernels::WeightType::float32;
  kernels::Math math = kernels::Math::float32;
  bool check = false;       // verify the Program after each pass
  int64_t guard_bytes = 0;  // bytes left free after every buffer of the arena, for tests
  int64_t memory_limit = INT64_MAX;
  const Log *log = nullptr;  // receives each plan; null: none
  // Cancels planning when non-zero; null: none.
  const std::atomic<int32_t> *cancel = nullptr;
};

// Location of a kernel's argument.
struct Place {
  enum class Region : int32_t { nowhere, arena, input, output, state, constant };
  Region region = Region::nowhere;
  int32_t index = 0;   // of the input, output, state or constant
  int64_t offset = 0;  // bytes
};

// Bytes after a buffer that no kernel may touch from step `first` to step `last`, inclusive.
struct Guard {
  int64_t offset, size;
  int32_t first, last;
};

struct PlanStep {
  int32_t number = 0;           // of the step in the Program
  int32_t first = -1;           // for joined steps: the first one
  std::vector<ops::Id> values;  // and the values that are its arguments
  std::unique_ptr<kernels::Kernel> kernel;
  std::vector<Place> args;  // sources, then destinations
  int sources = 0;          // number of sources in args
  Place scratch;
  std::string scope, text;  // layer; the step as the Program prints it
  std::vector<dispatch::Choice> choices;  // of the kernel: the last; before it those of kernels that it consists of
};

class Plan {
 public:
  std::vector<PlanStep> steps;
  std::vector<ops::Operand> inputs, outputs;
  std::vector<Tensor> constants;
  std::vector<Guard> guards;  // if requested
  int64_t arena_bytes = 0;
  size_t first_write = 0;  // index of the first step that writes a state, or the number of steps
  ops::Program program;    // after all passes

  // One line per step: kernel, slices, places of arguments.
  std::string to_string() const;
};

// Plans the Program for the given input shapes. `states`: contents of each state that is never changed, else null.
// Refuses shapes that don't fit, and an arena past the memory limit; by then kernels have packed constant weights.
// Fails with CANCELLED when *options.cancel becomes non-zero between two steps.
std::unique_ptr<const Plan> specialise(const ops::Program &program, std::span<const Shape> inputs,
                                       std::span<const Tensor *const> states, const Options &options, Packs *packs);

// The Program with all dims known: applies the ops' shape rules to these inputs.
ops::Program resolve(const ops::Program &program, std::span<const Shape> inputs);

}  // namespace dl4::plan
