// Runs Programs without a planner: every step's kernel in order, on buffers of their own, in every way it may be cut.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ops/ops.hpp"

namespace dl4::test {

using ops::Emit;
using ops::Id;
using ops::Program;

// ---- tensors -------------------------------------------------------------------------------------------------------
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  else if constexpr (std::is_same_v<T, double>) return DType::f64;
  else if constexpr (std::is_same_v<T, int32_t>) return DType::i32;
  else if constexpr (std::is_same_v<T, int64_t>) return DType::i64;
  else if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
  else return DType::boolean;
}

template <class T>
Tensor tensor(const Shape &shape, const std::vector<T> &values) {
  Tensor t = make_tensor(dtype_of<T>(), shape);
  EXPECT_EQ(t.elements(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, bool>) t.as<uint8_t>()[i] = values[i];
    else t.as<T>()[i] = values[i];
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
// NaN equals NaN; |difference| <= tolerance * (1 + |expected|).
void expect_close(const Tensor &got, const Tensor &expected, double tolerance, const std::string &where);

// ---- running -------------------------------------------------------------------------------------------------------
struct How {
  int threads = 1;
  bool strict = false;
  bool reversed = false;  // the slices of a step from the last to the first
  bool in_place = false;  // destinations take over sources where their ops say they may
  double least = 1e-9;    // microseconds a slice is worth
};

struct Result {
  std::vector<Tensor> outputs, written;  // written: by Program::writes
  kernels::Fault fault = kernels::Fault::none;
  int64_t value = 0;
};

// Outputs are NaN (all bits set) before they are made; writing outside a buffer, or changing an input, is a failure.
Result evaluate(const Program &p, const std::vector<Tensor> &inputs, const std::vector<Tensor> &states = {},
                How how = {});

// Emits the outputs from the inputs.
using Build = std::function<std::vector<Id>(Emit &, const std::vector<Id> &)>;
using Build1 = std::function<Id(Emit &, const std::vector<Id> &)>;
inline Build one(Build1 f) {
  return [f](Emit &e, const std::vector<Id> &x) { return std::vector<Id>{f(e, x)}; };
}

// A Program with inputs shaped as these; `open`: with their first axes free.
Program program_of(const Build &build, const std::vector<Tensor> &inputs, bool open = false);

// The outputs, after checking that shapes known or free, orders of slices and taking over memory change no bit, that
// threads 1, 2, 7 and strict agree within `spread`, and that strict does not depend on the threads.
std::vector<Tensor> run_all_ways(const Build &build, const std::vector<Tensor> &inputs, double spread = 0);

// run_all_ways against what is expected.
void check(const Build &build, const std::vector<Tensor> &inputs, const std::vector<Tensor> &expected,
           double tolerance = 1e-5, double spread = 0);
inline void check(Build1 build, const std::vector<Tensor> &inputs, const Tensor &expected, double tolerance = 1e-5,
                  double spread = 0) {
  check(one(std::move(build)), inputs, {expected}, tolerance, spread);
}

// Emitting must be refused with `code` and a message that holds `words`.
void check_refused(const Build1 &build, const std::vector<ops::Operand> &inputs, Code code, const std::string &words);
inline void check_refused(const Build1 &build, const std::vector<Shape> &shapes, Code code, const std::string &words) {
  std::vector<ops::Operand> inputs;
  for (const Shape &s : shapes) inputs.push_back({DType::f32, s});
  check_refused(build, inputs, code, words);
}

}  // namespace dl4::test
