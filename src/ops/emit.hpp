// Writers of Programs: each emitter adds a step and returns its value.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/program.hpp"

namespace dl4::ops {

// Stores v as that dtype; booleans are v != 0.
void store(double v, DType dtype, void *to);

class Emit {
 public:
  explicit Emit(Program &program) : program(program) {}
  // For a body in the Program that `around` writes.
  Emit(Program &body, const Emit &around)
      : program(body), scope(around.scope), mixed(around.mixed), bfloat16(around.bfloat16) {}

  Id input(std::string name, DType dtype, const Shape &shape);
  Id state(std::string name, DType dtype, const Shape &shape);
  Id constant(Tensor data);
  Id scalar(double v, DType dtype = DType::f32);  // a constant
  void output(Id v) { program.outputs.push_back(v); }
  // Sets the state's value after the run.
  void write(Id state, Id value);

  // Adds a step; the op's rule gives its destinations' shapes.
  std::vector<Id> step(std::shared_ptr<const Op> op, std::vector<Id> src);
  // The same for an op with one destination.
  Id value(std::shared_ptr<const Op> op, std::vector<Id> src) { return step(std::move(op), std::move(src))[0]; }

  // A copy: the next step may reallocate the Program's values.
  Shape shape(Id v) const { return program[v].shape; }
  DType dtype(Id v) const { return program[v].dtype; }
  int rank(Id v) const { return shape(v).rank(); }

  // Whether layers that request it round their products' operands. missing: refused.
  enum class Mixed { no, yes, missing };

  Program &program;
  std::string scope;
  Mixed mixed = Mixed::no;
  bool bfloat16 = false;  // products, and those of their gradients, round their operands to it
};

// A step as seen by its gradient rule.
class Gradient {
 public:
  Gradient(Emit &e, const Step &step, std::vector<Id> diff_dst, std::vector<bool> wanted)
      : e(e),
        step_(step),
        diff_dst_(std::move(diff_dst)),
        wanted_(std::move(wanted)),
        diff_src(step.src.size(), none) {}

  Id src(int i) const { return step_.src[static_cast<size_t>(i)]; }
  Id dst(int i = 0) const { return step_.dst[static_cast<size_t>(i)]; }
  int sources() const { return static_cast<int>(step_.src.size()); }
  int destinations() const { return static_cast<int>(step_.dst.size()); }
  bool has(int i) const { return i < static_cast<int>(step_.src.size()) && src(i) != none; }
  // none if no gradient arrives.
  Id diff_dst(int i = 0) const { return diff_dst_[static_cast<size_t>(i)]; }
  // Whether source i needs a gradient.
  bool wants(int i) const { return i < static_cast<int>(wanted_.size()) && wanted_[static_cast<size_t>(i)]; }
  void set(int i, Id diff) { diff_src[static_cast<size_t>(i)] = diff; }
  // No gradient flows to source i: the result is piecewise constant in it.
  void stop(int i) { wanted_[static_cast<size_t>(i)] = false; }
  void stop_all() { wanted_.assign(wanted_.size(), false); }

  Emit &e;

 private:
  const Step &step_;
  std::vector<Id> diff_dst_;
  std::vector<bool> wanted_;

 public:
  std::vector<Id> diff_src;
};

}  // namespace dl4::ops
