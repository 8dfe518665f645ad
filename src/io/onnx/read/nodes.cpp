// Nodes that stand in no file.
#include "io/onnx/read/nodes.hpp"

#include <algorithm>

namespace dl4::io::onnx {

Attribute said(std::string_view name, int64_t i) {
  Attribute a;
  a.name = name, a.type = 2, a.i = i;
  return a;
}

Attribute said(std::string_view name, Ints list) {
  Attribute a;
  a.name = name, a.type = 7, a.ints = std::move(list);
  return a;
}

Attribute said(std::string_view name, std::vector<double> list) {
  Attribute a;
  a.name = name, a.type = 6, a.floats = std::move(list);
  return a;
}

Attribute said(std::string_view name, double v) {
  Attribute a;
  a.name = name, a.type = 1, a.f = v;
  return a;
}

Attribute said(std::string_view name, std::string_view word) {
  Attribute a;
  a.name = name, a.type = 3, a.s = word;
  return a;
}

Said own(const Op &op, std::initializer_list<std::string_view> but) {
  Said kept;
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

Values computed(const Op &op, std::string_view kind, const Values &in, std::vector<Attribute> attributes, size_t out,
                Handler read) {
  std::vector<std::string> names;  // of the inputs, then of the outputs
  for (size_t i = 0; i < in.size() + out; ++i) names.push_back(std::to_string(i));
  NodeProto node;
  node.name = op.node.name.empty() ? op.node.op : op.node.name, node.op = kind;
  node.in.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(in.size()));
  node.out.assign(names.begin() + static_cast<std::ptrdiff_t>(in.size()), names.end());
  node.attributes = std::move(attributes);
  const File nothing;
  Reader r(nothing, op.r);
  for (size_t i = 0; i < in.size(); ++i) r.set(names[i], in[i]);
  if (read)
    read(Op(r, node));
  else
    r.run(node);
  Values all;
  for (std::string_view name : node.out) all.push_back(r.value(name));
  return all;
}

Value computed(const Op &op, std::string_view kind, const Values &in, std::vector<Attribute> attributes) {
  return computed(op, kind, in, std::move(attributes), 1)[0];
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

Value Nodes::floats(const Value &v, const Value &scale, const std::optional<Value> &zero) const {
  Value x = cast(v, Type::float32);
  if (zero) x = sub(x, cast(*zero, Type::float32));
  return mul(x, scale);
}

}  // namespace dl4::io::onnx
