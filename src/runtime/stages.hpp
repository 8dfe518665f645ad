// Runs a Program in which computed numbers become sizes: it is cut there, and its parts run in sequence.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/program.hpp"
#include "runtime/executable.hpp"

namespace dl4::runtime {

// Thread-safe.
class Stages {
 public:
  // states: by state of the program; constant.
  [[gnu::cold]] Stages(const ops::Program &program, std::span<const Tensor> states, const Options &options);

  // Returns all outputs. They and values between the parts use `memory`. New sizes make plans. made: receives what
  // keeps the strings that the run made.
  std::vector<Tensor> run(std::span<const View> in, const Memory &memory, const std::atomic<int32_t> *cancel,
                          MadeStrings &made) const;

  // Visits each part's Executable in order.
  template <class F>
  void each(F f) const {
    for (const Part &part : parts_) {
      f(*part.executable);
      for (const Between &b : part.behind)
        for (const Body &body : b.bodies) body.stages->each(f);
    }
  }

 private:
  // Source of a value: the caller's input of that index, or a slot.
  struct From {
    bool is_callers;
    size_t at;
  };
  struct Body {
    std::unique_ptr<const Stages> stages;
    std::vector<From> in;
  };
  // A step between two parts: a number becomes a size, or a flag selects a body.
  struct Between {
    ops::Step step;
    From number;
    std::vector<size_t> out;   // slot indices
    std::vector<Body> bodies;  // of a branch
  };
  struct Part {
    std::shared_ptr<Executable> executable;
    std::vector<From> in;
    std::vector<size_t> out;  // slot indices
    std::vector<Between> behind;
  };
  struct Making;
  struct Run;
  std::vector<Part> parts_;
  std::vector<size_t> outputs_;  // slot indices
  size_t slots_ = 0;             // number of values passed between parts
};

}  // namespace dl4::runtime
