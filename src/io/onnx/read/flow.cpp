// If and Loop whose condition or count the file determines: their bodies become layers of the enclosing graph.
#include <algorithm>

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
    const Type type = port.type == Type::none ? Type::float32 : port.type;
    return constant_value(make_tensor(stands_for(type), Shape(dims)), type);
  }
  Values wide;
  for (const Value &v : values) wide.push_back(Nodes{op}.unsqueeze(v, 0));
  return Nodes{op}.of("Concat", wide, {{"axis", 0}});
}

namespace {

// A flag known while reading.
std::optional<bool> flag(const Op &op, Value &v) {
  if (v.list || v.absent) op.refuse("expected a flag, got no tensor");
  const auto t = op.constant_of(v);
  if (!t) return {};
  if (t->dtype != DType::boolean || t->elements() != 1)
    fail(Code::corrupt_file, "expected one flag, got ", t->dtype, ' ', t->shape);
  return t->as<uint8_t>()[0] != 0;
}

// Takes the branch for size 1, which is how a squeeze of a free axis is written. Runs with another size are refused.
void assumed(const Op &op, const File &then, const Dim &size) {
  const auto at = op.r.axis_of_size(size);
  if (!at) op.refuse("on a size that no value has is not supported");
  Value &of = *at->first;
  const Perm place = inverse(of.perm());
  const int axis = place[static_cast<size_t>(at->second)];
  Values out = inlined(op, then, {});
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].list || out[i].absent) op.refuse("on the size of a free axis, that gives a sequence, is not supported");
    const Perm perm = out[i].perm();
    const Node y = op.layer("EnsureSize", {{"axis", axis}, {"size", 1}}, {op.as(out[i], perm), of.forms[0].node});
    op.give(i, y, out[i].dims, perm);
  }
}

void if_(const Op &op) {
  const File &then = body_of(op, "then_branch"), &otherwise = body_of(op, "else_branch");
  const size_t outputs = op.node.out.size();
  if (then.outputs.size() != outputs || otherwise.outputs.size() != outputs)
    fail(Code::corrupt_file, "has ", outputs, " outputs, and branches of ", then.outputs.size(), " and ",
         otherwise.outputs.size());
  if (const auto &asked = op.in(0).asked; asked && asked->what == Asked::What::is_one)
    return assumed(op, then, Dim(asked->size));
  const auto yes = flag(op, op.in(0));
  if (!yes) return branch(op, then, otherwise);
  const Values out = inlined(op, *yes ? then : otherwise, {});
  for (size_t i = 0; i < outputs; ++i) op.give_value(i, out[i]);
}

// ---- number of steps of a condition

// The node that makes a value of a body, looking through identities; null: none in the body.
const NodeProto *maker(const File &body, std::string_view &name) {
  for (size_t n = 0; n <= body.nodes.size(); ++n) {
    const auto it = std::find_if(body.nodes.begin(), body.nodes.end(), [&](const NodeProto &node) {
      return std::find(node.out.begin(), node.out.end(), name) != node.out.end();
    });
    if (it == body.nodes.end()) return nullptr;
    if ((it->op != "Identity" && it->op != "Cast") || it->in.empty()) return &*it;
    name = it->in[0];
  }
  return nullptr;
}

// A constant number: of the enclosing graph, of the body, or a carried value that does not change.
std::optional<Dim> still(const Op &op, const LoopParts &p, std::string_view name) {
  if (maker(p.body, name)) return {};
  for (const Numbers &t : p.body.initializers)
    if (t.name == name) {
      const Tensor n = read(t, op.r.outside());
      if (n.elements() == 1 && n.dtype != DType::f32) return Dim{ints_of(n)[0], {}};
      return {};
    }
  for (size_t i = 0; i < p.body.inputs.size(); ++i)
    if (p.body.inputs[i].name == name) {
      if (i < 2 || !p.still(i - 2)) return {};
      name = op.node.in[i];
      break;
    }
  Value &v = op.r.value(name);
  if (v.asked) return v.asked->what == Asked::What::number ? std::optional(v.asked->size) : std::nullopt;
  if (v.sizes && v.sizes->size() == 1) return (*v.sizes)[0];
  if (v.constant && v.constant->elements() == 1 && v.constant->dtype != DType::f32)
    return Dim{ints_of(*v.constant)[0], {}};
  return {};
}

// Number of steps of a loop that runs while a number it carries and increments is below another.
std::optional<Dim> counted(const Op &op, const LoopParts &p) {
  std::string_view flag = p.body.outputs[0].name;
  const NodeProto *less = maker(p.body, flag);
  if (!less || less->op != "Less" || less->in.size() != 2) return {};
  std::string_view next = less->in[0];
  const NodeProto *add = maker(p.body, next);
  if (!add || add->op != "Add" || add->in.size() != 2) return {};
  for (size_t i = 0; i < 2; ++i) {
    const auto one = still(op, p, add->in[1 - i]);
    if (one != Dim{}) continue;
    for (size_t k = 0; k < p.states.size(); ++k) {
      std::string_view becomes = p.body.outputs[k + 1].name;
      if (p.body.inputs[k + 2].name != add->in[i] || maker(p.body, becomes) != add) continue;
      const auto begin = op.elements(k + 2);
      const auto end = still(op, p, less->in[1]);
      if (!begin || begin->size() != 1 || !(*begin)[0].known() || !end) return {};
      const int64_t from = (*begin)[0].factor;
      if (end->known())
        return p.on == true ? std::optional(Dim{std::max<int64_t>(1, end->factor - from), {}}) : std::nullopt;
      const auto &asked = op.has(1) ? op.in(1).asked : std::nullopt;
      const bool same = asked && asked->what == Asked::What::is_above && asked->size == *end && asked->than == from;
      return from == 0 && same ? end : std::nullopt;
    }
  }
  return {};
}

// With more nodes in all, a loop over tensors is not unrolled; loops over sequences are unrolled within the load's
// budget.
constexpr int64_t most_nodes = 512;

// Unrolls the steps; false: its condition is computed.
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
  bool known = !op.has(0);
  if (op.has(0))
    if (const auto trips = op.elements(0)) {
      if (trips->size() != 1) fail(Code::corrupt_file, "has ", trips->size(), " numbers of steps");
      p.trips = (*trips)[0];
      known = p.trips->known();
    }
  p.on = op.has(1) && !op.in(1).asked ? flag(op, op.in(1)) : std::optional<bool>();
  if (!op.has(1)) p.on = true;
  bool tensors = true;
  for (const Value &v : p.states) tensors &= !v.list && !v.absent;
  // If only the condition ends the loop, the first step shows whether it is computed.
  const auto nodes = std::max<int64_t>(1, static_cast<int64_t>(p.body.nodes.size()));
  const bool few = !p.trips || p.trips->factor <= most_nodes / nodes;
  if (p.on && (!*p.on || (known && (few || !tensors))) && written_out(op, p)) return;
  if (!tensors) op.refuse("carries a sequence, and how many steps it takes is computed by the model");
  // In ONNX this means that only the condition ends the loop.
  const bool endless = !op.has(0) || (p.trips && p.trips->known() && p.trips->factor >= INT32_MAX);
  if (const auto steps = endless ? counted(op, p) : std::nullopt) p.trips = steps, p.to_the_end = true;
  run_loop(op, p);
}

}  // namespace

bool LoopParts::still(size_t i) const {
  std::string_view name = body.outputs[i + 1].name;
  return !maker(body, name) && name == body.inputs[i + 2].name;
}

constexpr Row flow_table[] = {{"If", if_, "cond > outputs+; then_branch:graph! else_branch:graph!", slow},
                              {"Loop", loop, "M? cond? v_initial* > v_final_and_scan_outputs+; body:graph!", slow}};
const std::span<const Row> flow_rows = flow_table;

}  // namespace dl4::io::onnx
