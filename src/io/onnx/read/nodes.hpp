// Nodes that stand in no file: what a form of an op, or an op of another domain, is read as.
#pragma once

#include "io/onnx/reader.hpp"

namespace dl4::io::onnx {

using Values = std::vector<Value>;

// What a node of that op gives of these values.
Value computed(const Op &op, std::string_view kind, const Values &in, std::vector<Attribute> attributes);
// read: another reader than that op's.
Values computed(const Op &op, std::string_view kind, const Values &in, std::vector<Attribute> attributes, size_t out,
                Handler read = nullptr);
Attribute said(std::string_view name, int64_t i);
inline Attribute said(std::string_view name, int i) { return said(name, int64_t{i}); }
Attribute said(std::string_view name, Ints list);
Attribute said(std::string_view name, std::vector<double> list);
Attribute said(std::string_view name, double v);
Attribute said(std::string_view name, std::string_view word);  // a text that outlives it
// Constants: one number, and a list of int64.
Value number(int64_t v, Type type = Type::int64);
Value numbers(const Ints &list);

// A node as a value of these dims.
Value value_of(const Op &op, Node n, std::vector<Dim> dims, Type type = Type::int64);

using Said = std::vector<Attribute>;
// The attributes of the node but those of ONNX Runtime's own.
Said own(const Op &op, std::initializer_list<std::string_view> but);

// What nodes make, one behind the other.
struct Nodes {
  const Op &op;

  Value in(size_t i) const { return op.in(i); }
  std::optional<Value> given(size_t i) const { return op.has(i) ? std::optional(op.in(i)) : std::nullopt; }
  Value of(std::string_view kind, const Values &in, Said attributes = {}) const {
    return computed(op, kind, in, std::move(attributes));
  }
  Value add(const Value &a, const Value &b) const { return of("Add", {a, b}); }
  Value sub(const Value &a, const Value &b) const { return of("Sub", {a, b}); }
  Value mul(const Value &a, const Value &b) const { return of("Mul", {a, b}); }
  Value matmul(const Value &a, const Value &b) const { return of("MatMul", {a, b}); }
  Value transpose(const Value &v, Ints perm) const { return of("Transpose", {v}, {said("perm", std::move(perm))}); }
  Value real(double v) const;
  Value ints(const Ints &list) const { return numbers(list); }
  Value cast(const Value &v, Type to) const { return of("Cast", {v}, {said("to", static_cast<int64_t>(to))}); }
  Value slice(const Value &v, int64_t axis, int64_t from, int64_t to) const {
    return of("Slice", {v, ints({from}), ints({to}), ints({axis})});
  }
  Value at(const Value &v, int64_t axis, int64_t place) const {
    return of("Gather", {v, number(place)}, {said("axis", axis)});
  }
  Value unsqueeze(const Value &v, int64_t axis) const { return of("Unsqueeze", {v, ints({axis})}); }
  Value dim(const Value &v, int64_t axis) const { return at(of("Shape", {v}), 0, axis); }
  // Integers less their zero point, times their scale.
  Value floats(const Value &v, const Value &scale, const std::optional<Value> &zero) const;
};

}  // namespace dl4::io::onnx
