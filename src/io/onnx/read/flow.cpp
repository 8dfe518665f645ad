// If and Loop whose condition or count the file determines: their bodies become layers of the enclosing graph.
// Sequences and Optionals: lists of values that exist only while reading.
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

namespace {

const Values &list_of(const Op &op, size_t i) {
  const Value &v = op.any(i);
  if (!v.list) op.refuse("expected a sequence as input ", i, ", got ", v.absent ? "no value" : "a tensor");
  return *v.list;
}

int64_t integer_of(const Op &op, size_t i) {
  const auto t = op.constant(i);
  if (!t || t->elements() != 1) op.refuse("its input ", i, " is computed by the model; it must be a constant number");
  return ints_of(*t)[0];
}

// An index into a list of that size; omitted: its end.
size_t place_in(const Op &op, size_t i, int64_t size, bool behind) {
  const int64_t at = op.has(i) ? integer_of(op, i) : behind ? size : size - 1;
  const int64_t from_begin = at < 0 ? at + size : at;
  if (at < -size || from_begin > size - (behind ? 0 : 1) || from_begin < 0)
    fail(Code::corrupt_file, "names place ", at, " of a sequence of ", size);
  return static_cast<size_t>(from_begin);
}

void construct(const Op &op) {
  Values list;
  for (size_t i = 0; i < op.inputs(); ++i) list.push_back(op.in(i));
  op.give_value(0, sequence(op, std::move(list)));
}

void empty(const Op &op) { op.give_value(0, sequence(op, {})); }

void insert(const Op &op) {
  Values list = list_of(op, 0);
  const size_t at = place_in(op, 2, static_cast<int64_t>(list.size()), true);
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), op.in(1));
  op.give_value(0, sequence(op, std::move(list)));
}

void erase(const Op &op) {
  Values list = list_of(op, 0);
  const size_t at = place_in(op, 1, static_cast<int64_t>(list.size()), false);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
  op.give_value(0, sequence(op, std::move(list)));
}

void element_at(const Op &op) {
  const Values &list = list_of(op, 0);
  if (!op.has(1)) fail(Code::corrupt_file, "has no input 1");
  op.give_value(0, list[place_in(op, 1, static_cast<int64_t>(list.size()), false)]);
}

void length(const Op &op) { op.give_value(0, number(static_cast<int64_t>(list_of(op, 0).size()))); }

void split_to_sequence(const Op &op) {
  const Nodes nodes{op};
  const Value &v = op.in(0);
  const int64_t axis = op.axis(v.rank());
  const Dim whole = v.dims[static_cast<size_t>(axis)];
  if (!whole.known()) op.refuse("of a free axis is not supported; export it with that size");
  Ints sizes;
  const bool squeezed = !op.has(1) && !op.flag("keepdims");
  const auto given = op.has(1) ? op.elements(1) : std::nullopt;
  if (op.has(1) && !given) op.refuse("its input 1 is computed by the model; it must be constant");
  if (given && op.in(1).rank() > 0) {
    for (const Dim &d : *given) {
      if (!d.known()) op.refuse("into a part of a free size is not supported");
      sizes.push_back(d.factor);
    }
  } else {
    const int64_t each = given ? (*given)[0].factor : 1;
    if (each < 1 || (given && !(*given)[0].known())) fail(Code::corrupt_file, "splits into parts of ", each);
    op.take(checked_mul(whole.factor / each + 1, static_cast<int64_t>(sizeof(Value) + 64)));
    for (int64_t left = whole.factor; left > 0; left -= each) sizes.push_back(std::min(each, left));
  }
  if (sizes.empty()) return op.give_value(0, sequence(op, {}));
  Values list = computed(op, "Split", {v, numbers(sizes)}, {{"axis", axis}}, sizes.size());
  if (squeezed)
    for (Value &one : list) one = nodes.of("Squeeze", {one, numbers({axis})});
  op.give_value(0, sequence(op, std::move(list)));
}

void concat_of_sequence(const Op &op) {
  const Nodes nodes{op};
  Values list = list_of(op, 0);
  if (list.empty()) op.refuse("of an empty sequence is not supported");
  const bool fresh = op.flag("new_axis");
  const int64_t axis = op.axis(list[0].rank() + (fresh ? 1 : 0));
  if (fresh)
    for (Value &v : list) v = nodes.unsqueeze(v, axis);
  op.give_value(0, nodes.of("Concat", list, {{"axis", axis}}));
}

// Runs once per element of the first sequence; tensors are the same each time.
void map(const Op &op) {
  const File &body = body_of(op, "body");
  const size_t count = list_of(op, 0).size();
  if (body.outputs.size() < op.node.out.size())
    fail(Code::corrupt_file, "has ", op.node.out.size(), " outputs and a body of ", body.outputs.size());
  std::vector<Values> out(op.node.out.size());
  for (size_t n = 0; n < count; ++n) {
    Values in;
    for (size_t i = 0; i < op.inputs(); ++i) {
      const Value &v = op.any(i);
      if (v.list && v.list->size() != count)
        fail(Code::corrupt_file, "goes over sequences of ", count, " and ", v.list->size());
      in.push_back(v.list ? (*v.list)[n] : v);
    }
    const Values of_one = inlined(op, body, in);
    for (size_t i = 0; i < out.size(); ++i) out[i].push_back(of_one[i]);
  }
  for (size_t i = 0; i < out.size(); ++i) op.give_value(i, sequence(op, std::move(out[i])));
}

void optional(const Op &op) {
  Value v;
  v.absent = true;
  op.give_value(0, op.has(0) ? op.any(0) : v);
}

void has_element(const Op &op) { op.give_value(0, number(op.has(0) && !op.any(0).absent ? 1 : 0, Type::boolean)); }

void get_element(const Op &op) {
  if (op.any(0).absent) fail(Code::corrupt_file, "reads an Optional without a value");
  op.give_value(0, op.any(0));
}

}  // namespace

constexpr Row sequence_table[] = {
    {"SequenceConstruct", construct, "inputs+ > output_sequence"},
    {"SequenceEmpty", empty, " > output; dtype:int"},
    {"SequenceInsert", insert, "input_sequence tensor position? > output_sequence"},
    {"SequenceErase", erase, "input_sequence position? > output_sequence"},
    {"SequenceAt", element_at, "input_sequence position > tensor"},
    {"SequenceLength", length, "input_sequence > length"},
    {"SplitToSequence", split_to_sequence, "input split? > output_sequence; axis=0 keepdims=1|0"},
    {"ConcatFromSequence", concat_of_sequence, "input_sequence > concat_result; axis:int! new_axis=0|1"},
    {"SequenceMap", map, "input_sequence additional_inputs* > out_sequence+; body:graph!", slow},
    {"Optional", optional, "input? > output; type:type_proto"},
    {"OptionalHasElement", has_element, "input@-17 input?@18 > output"},
    {"OptionalGetElement", get_element, "input > output"},
};
const std::span<const Row> sequence_rows = sequence_table;

}  // namespace dl4::io::onnx
