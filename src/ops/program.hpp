// The Program: a computation as values and topologically sorted steps. Dims may be free.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace dl4::ops
