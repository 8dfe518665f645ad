// Runs Programs without a planner: every step's kernel in order, on buffers of their own, with each kernel and in every
// way it may be cut.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "backend/cpu/kernels/kernel.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::test {

using ops::Emit;
using ops::Id;
using ops::Program;

// ---- tensors -------------------------------------------------------------------------------------------------------
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DType::i64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::u8;
  else
    return DType::boolean;
}

template <class T>
Tensor tensor(const Shape &shape, const std::vector<T> &values) {
  Tensor t = make_tensor(dtype_of<T>(), shape);
  EXPECT_EQ(t.elements(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, bool>)
      t.as<uint8_t>()[i] = values[i];
    else
      t.as<T>()[i] = values[i];
  }
  return t;
}
// Uniform numbers, the same ones for the same seed; integers and flags for those dtypes.
Tensor random(const Shape &shape, uint64_t seed, double low = -2, double high = 2, DType dtype = DType::f32);
std::vector<double> values(const Tensor &t);
// The element of a 1-, 2-, ... dimensional index.
double at(const Tensor &t, const std::vector<int64_t> &index);
// A tensor by its elements' formula.
Tensor naive(DType dtype, const Shape &shape, const std::function<double(const std::vector<int64_t> &)> &f);
inline Tensor naive(const Shape &shape, const std::function<double(const std::vector<int64_t> &)> &f) {
  return naive(DType::f32, shape, f);
}
// Numbers from -1 to 1 of each shape.
std::vector<Tensor> randoms(const std::vector<Shape> &shapes);
// NaN equals NaN; |difference| <= tolerance * (1 + |expected|).
void expect_close(const Tensor &got, const Tensor &expected, double tolerance, const std::string &where);
void expect_same_bits(const std::vector<Tensor> &a, const std::vector<Tensor> &b, const std::string &where);

// A tensor's numbers in double, for formulas.
struct Array {
  Shape shape;
  std::vector<double> v;
  double &operator[](int64_t i) { return v[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return v[static_cast<size_t>(i)]; }
};
inline Array zeros(const Shape &s) { return {s, std::vector<double>(static_cast<size_t>(s.elements()))}; }
std::vector<Array> arrays(const std::vector<Tensor> &tensors);
Tensor to_tensor(DType dtype, const Array &a);

// ---- running -------------------------------------------------------------------------------------------------------
struct How {
  int threads = 1;
  bool strict = false, portable = false;
  bool reversed = false;              // the slices of a step from the last to the first
  bool in_place = false;              // destinations take over sources where their ops say they may
  double least = 1e-9;                // microseconds a slice is worth
  std::vector<int> constants = {};    // inputs whose contents never change: kernels may pack them
  std::vector<std::string> off = {};  // kernels switched off
  int64_t most_steps = INT64_MAX;     // of loops
  const std::atomic<int32_t> *cancel = nullptr;
};
std::string to_string(const How &how);

struct Result {
  std::vector<Tensor> outputs, written;  // written: by Program::writes
  kernels::Fault fault = kernels::Fault::none;
  int64_t value = 0;
};

// Outputs and scratch are NaN (all bits set) before they are made; writing outside a buffer, or changing an input, is a
// failure. As under a plan, a step that no one reads is not run, and a destination that no one reads has no memory.
Result evaluate(const Program &p, const std::vector<Tensor> &inputs, const std::vector<Tensor> &states = {},
                How how = {});

// Emits the outputs from the inputs.
using Build = std::function<std::vector<Id>(Emit &, const std::vector<Id> &)>;
using Build1 = std::function<Id(Emit &, const std::vector<Id> &)>;
inline Build one(Build1 f) {
  return [f](Emit &e, const std::vector<Id> &x) { return std::vector<Id>{f(e, x)}; };
}

// A Program with inputs shaped as these.
Program program_of(const Build &build, const std::vector<Tensor> &inputs);

// What is checked of an op, and how.
struct Case {
  Build build;
  std::vector<Tensor> inputs;
  double tolerance = 1e-5;  // to what is expected
  double spread = 1e-5;     // between numbers of threads
  std::function<std::vector<Array>(const std::vector<Array> &)> reference = {};
  std::vector<std::string> kernels = {};  // each is forced in turn by switching off the others
  std::vector<int> constants = {};        // inputs that are weights: constant, perhaps packed, in half of the ways
  std::vector<int> free_axes = {0};       // of the other inputs: known, and free
  bool gradient = true;
};

// All kernels; constants or not; threads 1, 2, 3, 7 and strict.
std::vector<How> ways(const Case &c);

// The outputs, after checking in all ways that they are what is expected (nothing expected: not compared), that orders
// of slices and taking over memory change no bit, not even of inputs, which are copied for that, that threads and free
// axes agree within `spread`, and that strict does not depend on the threads.
std::vector<Tensor> run_all_ways(const Case &c, const std::vector<Tensor> &expected = {});
inline std::vector<Tensor> run_all_ways(Build build, const std::vector<Tensor> &inputs, double spread = 0) {
  return run_all_ways({.build = std::move(build), .inputs = inputs, .spread = spread});
}

// run_all_ways against what is expected.
inline void check(Build build, const std::vector<Tensor> &inputs, const std::vector<Tensor> &expected,
                  double tolerance = 1e-5, double spread = 0) {
  run_all_ways({std::move(build), inputs, tolerance, spread}, expected);
}
inline void check(Build1 build, const std::vector<Tensor> &inputs, const Tensor &expected, double tolerance = 1e-5,
                  double spread = 0) {
  check(one(std::move(build)), inputs, std::vector<Tensor>{expected}, tolerance, spread);
}

// The last step of c takes over each of these functions, but not two, and gives the bits of the two steps.
void check_fused(const Case &c, std::initializer_list<ops::Unary> functions);

// Emitting must be refused with `code` and a message that holds `words`.
void check_refused(const Build1 &build, const std::vector<ops::Operand> &inputs, Code code, const std::string &words);
inline void check_refused(const Build1 &build, const std::vector<Shape> &shapes, Code code, const std::string &words) {
  std::vector<ops::Operand> inputs;
  for (const Shape &s : shapes) inputs.push_back({DType::f32, s});
  check_refused(build, inputs, code, words);
}

}  // namespace dl4::test
