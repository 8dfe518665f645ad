// The Program: what is to be computed, as values and steps in an order in which they can run. Dims may be free.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/table.hpp"
#include "base/tensor.hpp"

namespace dl4::ops {

class Op;

// A value of a Program by number.
enum class Id : int32_t {};
inline constexpr Id none{-1};
std::string to_string(Id v);  // "%3"

enum class Role {
  temp,      // made by a step
  input,     // brought by every run
  state,     // read from a buffer that outlives the run: weights, optimizer slots, counters
  constant,  // part of the Program
};

struct Value {
  DType dtype = DType::f32;
  Shape shape;
  Role role = Role::temp;
  std::string name;  // of an input or a state; may be empty for others
  Tensor data;       // of a constant
};

struct Step {
  std::shared_ptr<const Op> op;
  std::vector<Id> src;  // none = left out
  std::vector<Id> dst;
  std::string scope;  // who asked for it: a layer's name, or words that end in a quoted name, as in loss "Huber"
};

// A scope that is not empty, as messages say it: layer "dense", loss "Huber".
std::string who(const std::string &scope);
// Adds to the error where it happened.
void blame(Error &error, const std::string &scope);

// After a run the state holds the value.
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

// Something for each value of a Program.
template <class T>
using PerValue = Table<Id, T>;

// The number of the step that makes each value, if one does.
PerValue<std::optional<size_t>> producers(const Program &p);
// That step, by the numbers of all; null: none does.
inline const Step *maker(const Program &p, const PerValue<std::optional<size_t>> &by, Id v) {
  return by.has(v) && by[v] ? &p.steps[*by[v]] : nullptr;
}
// How often each value is read by steps, outputs and writes.
PerValue<int32_t> uses(const Program &p);
// A step on one line, and a listing of all.
std::string to_string(const Program &p, const Step &step);
std::string to_string(const Program &p);
// Refuses with INTERNAL a Program whose steps read what is not yet made, make a value twice, or whose shapes and dtypes
// are not what the ops' rules say.
void verify(const Program &p);

}  // namespace dl4::ops
