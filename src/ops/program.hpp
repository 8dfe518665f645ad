// The Program: a computation as values and topologically sorted steps. Dims may be free.
// Writers of Programs: each emitter adds a step and returns its value.
#pragma once

#include <optional>

#include "base/table.hpp"
#include "base/tensor.hpp"

namespace dl4::ops {

class Op;

// Id of a value.
enum class Id : int32_t {};
inline constexpr Id none{-1};
std::string to_string(Id v);  // "%3"

enum class Role {
  temp,      // result of a step
  input,     // passed to every run
  state,     // in a buffer that outlives the run: weights, optimizer slots, counters
  constant,  // part of the Program
};

struct Value {
  DType dtype = DType::f32;
  Shape shape;
  Role role = Role::temp;
  std::string name;  // of inputs and states; may be empty for others
  Tensor data;       // for constants
};

struct Step {
  std::shared_ptr<const Op> op;
  std::vector<Id> src;  // none: left out
  std::vector<Id> dst;
  std::string scope;  // origin: a layer's name, or words that end in a quoted name, as in loss "Huber"
};

// A non-empty scope for messages: layer "dense", loss "Huber".
std::string who(const std::string &scope);
// Adds the scope to the error.
void blame(Error &error, const std::string &scope);

// After a run the state has this value.
struct Write {
  Id state, value;
};

struct Program {
  Table<Id, Value> values;
  std::vector<Step> steps;
  std::vector<Id> inputs, states, outputs;
  std::vector<Write> writes;

  const Value &operator[](Id v) const { return values[v]; }
  Value &operator[](Id v) { return values[v]; }
  size_t size() const { return values.size(); }
  Ids<Id> ids() const { return values.ids(); }
};

// Data per value of a Program.
template <class T>
using PerValue = Table<Id, T>;

// Index of the step that makes each value, if any.
PerValue<std::optional<size_t>> producers(const Program &p);
// That step, from the indices of all; null: none.
inline const Step *maker(const Program &p, const PerValue<std::optional<size_t>> &by, Id v) {
  return by.has(v) && by[v] ? &p.steps[*by[v]] : nullptr;
}
// Number of reads of each value by steps, outputs and writes.
PerValue<int32_t> uses(const Program &p);
// A step on one line, and a listing of all steps.
std::string to_string(const Program &p, const Step &step);
std::string to_string(const Program &p);
// Refuses with INTERNAL a Program whose steps read values not yet made, make a value twice, or have shapes and dtypes
// that differ from the ops' rules.
void verify(const Program &p);

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
