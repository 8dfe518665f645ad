// Synthesized nodes.
#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {

AttributeRef::operator Attribute() const {
  Attribute a;
  a.name = name_, a.type = type_;
  if (type_ == 1) a.f = f_;
  if (type_ == 2) a.i = i_;
  if (type_ == 3) a.s = static_cast<const char *>(list_);
  if (type_ == 6) a.floats = *static_cast<const std::vector<double> *>(list_);
  if (type_ == 7) a.ints = *static_cast<const Ints *>(list_);
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

Value number(int64_t v, Type type) { return constant_value(tensor_of({v}, stands_for(type), {}), type); }
Value numbers(const Ints &list) { return constant_value(tensor_of(list), Type::int64); }

Value Nodes::floats(const Value &v, const Value &scale, const std::optional<Value> &zero) const {
  Value x = cast(v, Type::float32);
  if (zero) x = sub(x, cast(*zero, Type::float32));
  return mul(x, scale);
}

}  // namespace dl4::io::onnx
