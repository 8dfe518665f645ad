// Writing a Program: each emitter adds one step and gives its value.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/program.hpp"

namespace dl4::ops {

// Writes v as a number of that dtype; a flag is v != 0.
void store(double v, DType dtype, void *to);

class Emit {
 public:
  explicit Emit(Program &program) : program(program) {}
  // Of a body in the Program that `around` writes.
  Emit(Program &body, const Emit &around)
      : program(body), scope(around.scope), mixed(around.mixed), bfloat16(around.bfloat16) {}

  Id input(std::string name, DType dtype, const Shape &shape);
  Id state(std::string name, DType dtype, const Shape &shape);
  Id constant(Tensor data);
  Id scalar(double v, DType dtype = DType::f32);  // a constant
  void output(Id v) { program.outputs.push_back(v); }
  // The state's value after the run.
  void write(Id state, Id value);

  // Adds a step; its destinations' shapes follow from the op's rule.
  std::vector<Id> step(std::shared_ptr<const Op> op, std::vector<Id> src);
  // The same for an op with one destination.
  Id value(std::shared_ptr<const Op> op, std::vector<Id> src) { return step(std::move(op), std::move(src))[0]; }

  // By value: the next step may move what the Program holds.
  Shape shape(Id v) const { return program[v].shape; }
  DType dtype(Id v) const { return program[v].dtype; }
  int rank(Id v) const { return shape(v).rank(); }

  // Do layers that are asked for it round the operands of their products? missing: it is refused.
  enum class Mixed { no, yes, missing };

  Program &program;
  std::string scope;
  Mixed mixed = Mixed::no;
  bool bfloat16 = false;  // products are of operands that are rounded to it, and so are those of their gradients
};

// One step as its gradient rule sees it.
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
  // none where no gradient arrives.
  Id diff_dst(int i = 0) const { return diff_dst_[static_cast<size_t>(i)]; }
  // Is the gradient of source i asked for?
  bool wants(int i) const { return i < static_cast<int>(wanted_.size()) && wanted_[static_cast<size_t>(i)]; }
  void set(int i, Id diff) { diff_src[static_cast<size_t>(i)] = diff; }
  // No gradient passes through source i: the result moves in steps as it moves.
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
