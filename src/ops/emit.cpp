// Adds values and steps to a Program.
#include "ops/emit.hpp"

#include <cstring>

#include "base/saturated.hpp"
#include "ops/op.hpp"

namespace dl4::ops {
namespace {

Id add_value(Program &p, Value v) { return p.values.push_back(std::move(v)); }

}  // namespace

void store(double v, DType dtype, void *to) {
  auto put = [&](auto number) { std::memcpy(to, &number, sizeof number); };
  switch (dtype) {
    case DType::f32:
      return put(static_cast<float>(v));
    case DType::f64:
      return put(v);
    case DType::i32:
      return put(saturated<int32_t>(v));
    case DType::i64:
      return put(saturated<int64_t>(v));
    case DType::u8:
      return put(saturated<uint8_t>(v));
    case DType::boolean:
      return put(static_cast<uint8_t>(v != 0));
    case DType::string:
      fail(Code::invalid_argument, "expected a type of numbers, got string");
  }
}

Id Emit::input(std::string name, DType dtype, const Shape &shape) {
  Id v = add_value(program, {dtype, shape, Role::input, std::move(name), {}});
  program.inputs.push_back(v);
  return v;
}

Id Emit::state(std::string name, DType dtype, const Shape &shape) {
  Id v = add_value(program, {dtype, shape, Role::state, std::move(name), {}});
  program.states.push_back(v);
  return v;
}

Id Emit::constant(Tensor data) {
  DType dtype = data.dtype;
  Shape shape = data.shape;
  return add_value(program, {dtype, shape, Role::constant, {}, std::move(data)});
}

Id Emit::scalar(double v, DType dtype) {
  Tensor t = make_tensor(dtype, {});
  store(v, dtype, t.data.get());
  return constant(std::move(t));
}

void Emit::write(Id state, Id value) {
  for (Write &w : program.writes) {
    if (w.state == state) {
      w.value = value;
      return;
    }
  }
  program.writes.push_back({state, value});
}

std::vector<Id> Emit::step(std::shared_ptr<const Op> op, std::vector<Id> src) {
  auto refuse_string = [&](DType t, const char *verb) {
    if (t == DType::string && !op->takes_strings())
      fail(Code::invalid_argument, op->name(), ' ', verb, " numbers, got string");
  };
  for (size_t i = 0; i < src.size(); ++i)
    if (src[i] != none && op->reads(static_cast<int>(i))) refuse_string(program[src[i]].dtype, "expects");
  std::vector<Id> dst;
  for (const Operand &o : op->infer(operands(program, src))) {
    refuse_string(o.dtype, "gives");
    dst.push_back(add_value(program, {o.dtype, o.shape, Role::temp, {}, {}}));
  }
  program.steps.push_back({std::move(op), std::move(src), dst, scope});
  return dst;
}

}  // namespace dl4::ops
