// If and Loop where the file says which branch, and how often: their bodies become layers of the graph around them.
#include "io/onnx/read/flow.hpp"

#include "base/error.hpp"
#include "io/onnx/read/loops.hpp"

namespace dl4::io::onnx {

const File &body_of(const Op &op, std::string_view name) {
  const Attribute *a = op.node.find(name);
  if (!a || !a->graph) fail(Code::corrupt_file, "has no \"", std::string(name), '"');
  return *a->graph;
}

Values inlined(const Op &op, const File &body, const Values &in) {
  if (body.inputs.size() != in.size())
    fail(Code::corrupt_file, "has a body of ", body.inputs.size(), " inputs, expected ", in.size());
  Reader inside(body, op.r);
  for (size_t i = 0; i < in.size(); ++i) inside.set(body.inputs[i].name, in[i]);
  inside.nodes();
  Values out;
  for (const Port &p : body.outputs) out.push_back(inside.value(p.name));
  return out;
}

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

Values computed(const Op &op, std::string_view kind, const Values &in, std::vector<Attribute> attributes, size_t out) {
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

Value sequence(const Op &op, Values values) {
  op.take(static_cast<int64_t>(values.size() * sizeof(Value)));
  Value v;
  v.list = std::make_shared<const Values>(std::move(values));
  return v;
}

Value stacked(const Op &op, const Values &values, const Port &port) {
  if (values.empty()) {
    Ints dims{0};
    for (const auto &d : port.dims)
      if (d) dims.push_back(*d);
    if (!port.ranked || dims.size() != port.dims.size() + 1 || dims.size() > max_rank)
      op.refuse("stacks no value of \"", std::string(port.name), "\", whose shape the file does not say");
    Value v;
    v.type = port.type == Type::none ? Type::float32 : port.type;
    v.dtype = stands_for(v.type);
    v.constant = make_tensor(v.dtype, Shape(dims));
    for (int64_t d : dims) v.dims.push_back({d, {}});
    return v;
  }
  Values wide;
  for (const Value &v : values) wide.push_back(computed(op, "Unsqueeze", {v}, {said("axes", Ints{0})}));
  return computed(op, "Concat", wide, {said("axis", 0)});
}

namespace {

// A flag that is known while the file is read.
std::optional<bool> flag(const Op &op, Value &v) {
  if (v.list || v.absent) op.refuse("expected a flag, got no tensor");
  const auto t = op.constant_of(v);
  if (!t) return {};
  if (t->dtype != DType::boolean || t->elements() != 1)
    fail(Code::corrupt_file, "expected one flag, got ", t->dtype, ' ', t->shape);
  return t->as<uint8_t>()[0] != 0;
}

void if_(const Op &op) {
  const File &then = body_of(op, "then_branch"), &otherwise = body_of(op, "else_branch");
  const size_t outputs = op.node.out.size();
  if (then.outputs.size() != outputs || otherwise.outputs.size() != outputs)
    fail(Code::corrupt_file, "has ", outputs, " outputs, and branches of ", then.outputs.size(), " and ",
         otherwise.outputs.size());
  const auto yes = flag(op, op.in(0));
  if (!yes) return branch(op, then, otherwise);
  const Values out = inlined(op, *yes ? then : otherwise, {});
  for (size_t i = 0; i < outputs; ++i) op.give_value(i, out[i]);
}

// Beyond so many nodes in all a loop over tensors runs as one; that over sequences is written out up to what the load
// may take.
constexpr int64_t most_nodes = 512;

// Writes the steps one behind the other; false: its condition is computed.
bool written_out(const Op &op, const LoopParts &p) {
  Values states = p.states, out;
  std::vector<Values> steps(p.stacked());
  bool on = *p.on;
  for (int64_t t = 0; on && (!p.trips || t < p.trips->factor); ++t) {
    Values in{number(t), number(1, Type::boolean)};
    in.insert(in.end(), states.begin(), states.end());
    out = inlined(op, p.body, in);
    const auto more = flag(op, out[0]);
    if (!more) return false;
    on = *more;
    for (size_t i = 0; i < states.size(); ++i) states[i] = out[i + 1];
    for (size_t i = 0; i < steps.size(); ++i) steps[i].push_back(out[i + 1 + states.size()]);
    op.take(static_cast<int64_t>(out.size() * sizeof(Value)));
  }
  for (size_t i = 0; i < states.size(); ++i) op.give_value(i, states[i]);
  for (size_t i = 0; i < steps.size(); ++i)
    if (op.wants(i + states.size()))
      op.give_value(i + states.size(), stacked(op, steps[i], p.body.outputs[i + 1 + states.size()]));
  return true;
}

void loop(const Op &op) {
  LoopParts p{body_of(op, "body")};
  const size_t outputs = p.body.outputs.size();
  for (size_t i = 2; i < op.inputs(); ++i) p.states.push_back(op.any(i));
  if (p.body.inputs.size() != p.states.size() + 2 || outputs < p.states.size() + 1 || op.node.out.size() > outputs - 1)
    fail(Code::corrupt_file, "has ", p.states.size(), " values that it carries, ", op.node.out.size(),
         " outputs, and a body of ", p.body.inputs.size(), " inputs and ", outputs, " outputs");
  bool counted = !op.has(0);
  if (op.has(0))
    if (const auto trips = op.elements(0)) {
      if (trips->size() != 1) fail(Code::corrupt_file, "has ", trips->size(), " numbers of steps");
      p.trips = (*trips)[0];
      counted = p.trips->known();
    }
  p.on = op.has(1) ? flag(op, op.in(1)) : true;
  bool tensors = true;
  for (const Value &v : p.states) tensors &= !v.list && !v.absent;
  const auto nodes = std::max<int64_t>(1, static_cast<int64_t>(p.body.nodes.size()));
  // Where only the condition ends it, the first step says whether that is computed.
  const bool few = !p.trips || p.trips->factor <= most_nodes / nodes;
  if (counted && p.on && (few || !tensors || !*p.on) && written_out(op, p)) return;
  if (!tensors) op.refuse("carries a sequence, and how many steps it takes is computed by the model");
  run_loop(op, p);
}

}  // namespace

std::span<const Row> flow_rows() {
  static constexpr Row rows[] = {{"If", if_}, {"Loop", loop}};
  return rows;
}

}  // namespace dl4::io::onnx
