// Synthesized nodes, as which an op's old form or an op of another domain is read.
#pragma once

#include "io/onnx/reader.hpp"

namespace dl4::io::onnx {

using Values = std::vector<Value>;

// A node's inputs: a vector of values, or values in braces, not copied.
class Inputs {
 public:
  struct Ref {
    Ref(const Value &v) : value(&v) {}
    const Value *value;
  };
  Inputs(const Values &list) : list_(list.data()), size_(list.size()) {}
  Inputs(std::initializer_list<Ref> refs) : refs_(std::data(refs)), size_(refs.size()) {}
  size_t size() const { return size_; }
  const Value &operator[](size_t i) const { return refs_ ? *refs_[i].value : list_[i]; }

 private:
  const Value *list_ = nullptr;
  const Ref *refs_ = nullptr;
  size_t size_;
};

// An attribute in braces; its data must outlive the call.
class AttributeRef {
 public:
  AttributeRef(const char *name, int64_t i) : name_(name), type_(2), i_(i) {}
  AttributeRef(const char *name, int i) : AttributeRef(name, int64_t{i}) {}
  AttributeRef(const char *name, double f) : name_(name), type_(1), f_(f) {}
  AttributeRef(const char *name, const Ints &list) : name_(name), type_(7), list_(&list) {}
  AttributeRef(const char *name, const std::vector<double> &list) : name_(name), type_(6), list_(&list) {}
  AttributeRef(const char *name, const char *word) : name_(name), type_(3), list_(word) {}
  operator Attribute() const;

 private:
  const char *name_;
  int type_;
  union {
    int64_t i_;
    double f_;
    const void *list_;
  };
};
struct Attributes : std::vector<Attribute> {
  Attributes() = default;
  Attributes(std::vector<Attribute> list) : vector(std::move(list)) {}
  Attributes(std::initializer_list<AttributeRef> list) : vector(list.begin(), list.end()) {}
};
// The node's attributes, except those and ONNX Runtime's own.
Attributes own(const Op &op, std::initializer_list<std::string_view> but);

// The values of a node of this op in the newest opset.
Values computed(const Op &op, const char *kind, Inputs in, Attributes said, size_t out);
// Constants: one number, and an int64 list.
Value number(int64_t v, Type type = Type::int64);
Value numbers(const Ints &list);

// A node as a value of these dims.
Value value_of(const Op &op, Node n, std::vector<Dim> dims, Type type = Type::int64);

// Emits nodes.
struct Nodes {
  const Op &op;

  Value in(size_t i) const { return op.in(i); }
  std::optional<Value> given(size_t i) const { return op.has(i) ? std::optional(op.in(i)) : std::nullopt; }
  Value of(const char *kind, Inputs in, Attributes said = {}) const {
    return computed(op, kind, in, std::move(said), 1)[0];
  }
  Value add(const Value &a, const Value &b) const { return of("Add", {a, b}); }
  Value sub(const Value &a, const Value &b) const { return of("Sub", {a, b}); }
  Value mul(const Value &a, const Value &b) const { return of("Mul", {a, b}); }
  Value matmul(const Value &a, const Value &b) const { return of("MatMul", {a, b}); }
  Value transpose(const Value &v, const Ints &perm) const { return of("Transpose", {v}, {{"perm", perm}}); }
  Value real(double v) const { return constant_value(scalar(v), Type::float32); }
  Value ints(const Ints &list) const { return numbers(list); }
  Value cast(const Value &v, Type to) const { return of("Cast", {v}, {{"to", static_cast<int64_t>(to)}}); }
  Value slice(const Value &v, int64_t axis, int64_t from, int64_t to) const {
    return of("Slice", {v, ints({from}), ints({to}), ints({axis})});
  }
  Value at(const Value &v, int64_t axis, int64_t place) const {
    return of("Gather", {v, number(place)}, {{"axis", axis}});
  }
  Value unsqueeze(const Value &v, int64_t axis) const { return of("Unsqueeze", {v, ints({axis})}); }
  Value dim(const Value &v, int64_t axis) const { return at(of("Shape", {v}), 0, axis); }
  // Dequantizes integers.
  Value floats(const Value &v, const Value &scale, const std::optional<Value> &zero) const;
};

// An attribute that is a body.
const File &body_of(const Op &op, std::string_view name);
// The values of a body's outputs, with its layers in the enclosing graph. `in`: its first inputs.
Values inlined(const Op &op, const File &body, const Values &in);
// Stacks values of equal shape along a new first axis; without values, in that port's shape.
Value stacked(const Op &op, const Values &values, const Port &port);
Value sequence(const Op &op, Values values);

}  // namespace dl4::io::onnx
