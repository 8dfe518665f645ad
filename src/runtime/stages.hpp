// A Program in which numbers become sizes: it is cut there, and its parts run one after the other.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/program.hpp"
#include "runtime/executable.hpp"

namespace dl4::runtime {

// Any number of threads may run it at once.
class Stages {
 public:
  // states: by state of the program, which no run changes.
  [[gnu::cold]] Stages(const ops::Program &program, std::span<const Tensor> states, const Options &options);

  // All outputs, in that memory, as what lies between the parts. Sizes that no run had before make plans.
  std::vector<Tensor> run(std::span<const View> in, const Memory &memory, const std::atomic<int32_t> *cancel) const;

  // Each part's Executable, in their order.
  template <class F>
  void each(F f) const {
    for (const Part &part : parts_) {
      f(*part.executable);
      for (const Between &b : part.behind)
        for (const Body &body : b.bodies) body.stages->each(f);
    }
  }

 private:
  // Where a value lies: the caller's of that number, or a slot.
  struct From {
    bool is_callers;
    size_t at;
  };
  struct Body {
    std::unique_ptr<const Stages> stages;
    std::vector<From> in;
  };
  // What happens between two parts: a number becomes places, or a flag says which body runs.
  struct Between {
    ops::Step step;
    From number;
    std::vector<size_t> out;   // slots
    std::vector<Body> bodies;  // of a branch
  };
  struct Part {
    std::shared_ptr<Executable> executable;
    std::vector<From> in;
    std::vector<size_t> out;  // slots
    std::vector<Between> behind;
  };
  struct Making;
  struct Run;
  std::vector<Part> parts_;
  std::vector<size_t> outputs_;  // slots
  size_t slots_ = 0;             // of values that leave the part that makes them
};

}  // namespace dl4::runtime
