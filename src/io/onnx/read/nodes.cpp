// Synthesized nodes.
#include "io/onnx/read/nodes.hpp"

#include <algorithm>

namespace dl4::io::onnx {

AttributeRef::operator Attribute() const {
  Attribute a;
  a.name = name_, a.type = type_;
  switch (type_) {
    case 1:
      a.f = f_;
      break;
    case 2:
      a.i = i_;
      break;
    case 3:
      a.s = static_cast<const char *>(list_);
      break;
    case 6:
      a.floats = *static_cast<const std::vector<double> *>(list_);
      break;
    default:
      a.ints = *static_cast<const Ints *>(list_);
  }
  return a;
}

Attributes own(const Op &op, std::initializer_list<std::string_view> but) {
  Attributes kept;
  for (const Attribute &a : op.node.attributes)
    if (std::find(but.begin(), but.end(), a.name) == but.end()) kept.push_back(a);
  return kept;
}

Value value_of(const Op &op, Node n, std::vector<Dim> dims, Type type) {
  Value v;
  v.type = type, v.dtype = op.r.graph().dtype(n);
  v.forms.push_back({plain(static_cast<int>(dims.size())), n});
  v.dims = std::move(dims);
  return v;
}

Values computed(const Op &op, const char *kind, Inputs in, Attributes said, size_t out) {
  std::vector<std::string> names;  // of the inputs, then of the outputs
  for (size_t i = 0; i < in.size() + out; ++i) names.push_back(std::to_string(i));
  NodeProto node;
  node.name = op.node.name.empty() ? op.node.op : op.node.name, node.op = kind;
  node.in.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(in.size()));
  node.out.assign(names.begin() + static_cast<std::ptrdiff_t>(in.size()), names.end());
  node.attributes = std::move(said);
  File nothing;
  nothing.opset = newest_opset;
  Reader r(nothing, op.r);
  for (size_t i = 0; i < in.size(); ++i) r.set(names[i], in[i]);
  r.run(node);
  Values all;
  for (std::string_view name : node.out) all.push_back(r.value(name));
  return all;
}

Values computed(const Op &op, const char *kind, Inputs in, std::initializer_list<AttributeRef> said, size_t out) {
  return computed(op, kind, in, Attributes(said.begin(), said.end()), out);
}
Value computed(const Op &op, const char *kind, Inputs in, Attributes said) {
  return computed(op, kind, in, std::move(said), 1)[0];
}
Value computed(const Op &op, const char *kind, Inputs in, std::initializer_list<AttributeRef> said) {
  return computed(op, kind, in, said, 1)[0];
}

Value number(int64_t v, Type type) {
  Value n;
  n.type = type;
  n.dtype = stands_for(type);
  n.constant = tensor_of({v}, n.dtype, {});
  return n;
}

Value numbers(const Ints &list) {
  Value v;
  v.type = Type::int64, v.dtype = DType::i64;
  v.dims = {{static_cast<int64_t>(list.size()), {}}};
  v.constant = tensor_of(list);
  return v;
}

Value Nodes::real(double v) const {
  Value n;
  n.type = Type::float32;
  n.constant = make_tensor(DType::f32, {});
  *n.constant->as<float>() = static_cast<float>(v);
  return n;
}

Value Nodes::add(const Value &a, const Value &b) const { return of("Add", {a, b}); }
Value Nodes::sub(const Value &a, const Value &b) const { return of("Sub", {a, b}); }
Value Nodes::mul(const Value &a, const Value &b) const { return of("Mul", {a, b}); }
Value Nodes::matmul(const Value &a, const Value &b) const { return of("MatMul", {a, b}); }
Value Nodes::transpose(const Value &v, const Ints &perm) const { return of("Transpose", {v}, {{"perm", perm}}); }
Value Nodes::cast(const Value &v, Type to) const { return of("Cast", {v}, {{"to", static_cast<int64_t>(to)}}); }
Value Nodes::slice(const Value &v, int64_t axis, int64_t from, int64_t to) const {
  return of("Slice", {v, ints({from}), ints({to}), ints({axis})});
}
Value Nodes::at(const Value &v, int64_t axis, int64_t place) const {
  return of("Gather", {v, number(place)}, {{"axis", axis}});
}
Value Nodes::unsqueeze(const Value &v, int64_t axis) const { return of("Unsqueeze", {v, ints({axis})}); }

Value Nodes::floats(const Value &v, const Value &scale, const std::optional<Value> &zero) const {
  Value x = cast(v, Type::float32);
  if (zero) x = sub(x, cast(*zero, Type::float32));
  return mul(x, scale);
}

}  // namespace dl4::io::onnx
