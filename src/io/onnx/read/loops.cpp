// If, Loop and Scan that remain control flow at run time.
#include "io/onnx/read/loops.hpp"

#include <numeric>

namespace dl4::io::onnx {

void Inside::input(size_t i, const Value &like, const std::vector<Dim> &dims) {
  Value v;
  v.type = like.type;
  v.dtype = like.dtype;
  v.dims = dims;
  in.push_back(
      reader.graph().input(reader.free_name(std::string(body.inputs[i].name)), v.dtype, Shape(sizes_of(dims))));
  v.forms.push_back({plain(v.rank()), in.back()});
  reader.set(body.inputs[i].name, std::move(v));
}

void Inside::output(Value &v) {
  if (v.list || v.absent) op_.refuse("has a body that gives a sequence or an Optional, and runs as one");
  const NodeProto end = named("output");
  const Op op(reader, end);
  out.push_back(op.layer("Identity", {}, {op.as(v, plain(v.rank()))}));
}

Json Inside::layer(const char *name, Weights &weights) {
  constexpr int64_t model_bytes = 16 << 10;  // a separate graph, whose layers are copied into the layer
  op_.take(model_bytes);
  const auto model = reader.body(in, out, seen);
  for (const auto &w : model->weights()) weights.emplace_back(text(name, '/', w->name), w->value());
  return {{"class_name", "Functional"}, {"config", {{"name", name}, {"model", graph::to_json(model->architecture())}}}};
}

std::vector<Node> Inside::scan(std::vector<Node> from, size_t states, size_t sequences, const Ints &backwards,
                               const Ints &reversed) {
  Weights weights;
  const Json config{{"body", layer("body", weights)},
                    {"states", static_cast<int64_t>(states)},
                    {"sequences", static_cast<int64_t>(sequences)},
                    {"backwards", backwards},
                    {"reversed", reversed}};
  from.insert(from.end(), seen.begin(), seen.end());
  return op_.layers("Scan", config, from, {}, weights);
}

void give_like(const Op &op, size_t i, Node n, const Value &like, std::vector<Dim> dims, Perm perm) {
  if (!op.wants(i)) return;
  op.give(i, n, std::move(dims), std::move(perm));
  op.r.value(op.node.out[i]).type = like.type;
}

namespace {

Node scalar_input(const Op &op, size_t i) {
  const Node n = op.x(i);
  return op.shape(n).rank() == 0 ? n : op.reshape(n, {});
}

}  // namespace

void branch(const Op &op, const File &then, const File &otherwise) {
  Inside sides[]{{op, then}, {op, otherwise}};
  std::vector<Values> values;
  for (Inside &side : sides) {
    if (!side.body.inputs.empty()) fail(Code::corrupt_file, "has a branch of ", side.body.inputs.size(), " inputs");
    side.reader.is_branch();
    side.reader.nodes();
    values.emplace_back();
    for (const Port &p : side.body.outputs) {
      Value &v = side.reader.value(p.name);
      side.output(v);
      values.back().push_back(v);
    }
  }
  bool own_shapes = false;
  for (size_t i = 0; i < op.node.out.size(); ++i) {
    const Value &a = values[0][i], &b = values[1][i];
    own_shapes = own_shapes || (a.dims != b.dims && op.r.counts());
    if (a.dtype != b.dtype || a.rank() != b.rank())
      op.refuse("on a condition that the model computes, with branches that give ", a.dtype, " of ", a.rank(),
                " axes and ", b.dtype, " of ", b.rank(), " as output ", i, ", is not supported");
  }
  Weights weights;
  Json first = sides[0].layer("then", weights), second = sides[1].layer("otherwise", weights);
  std::vector<Node> in{scalar_input(op, 0)};
  for (const Inside &side : sides) in.insert(in.end(), side.seen.begin(), side.seen.end());
  const auto y = op.layers("Cond",
                           {{"then", std::move(first)},
                            {"otherwise", std::move(second)},
                            {"inputs", static_cast<int64_t>(sides[0].seen.size())},
                            {"own_shapes", own_shapes}},
                           in, {}, weights);
  for (size_t i = 0; i < op.node.out.size(); ++i) {
    std::vector<Dim> dims = values[0][i].dims;
    for (size_t a = 0; a < dims.size(); ++a)
      if (dims[a] != values[1][i].dims[a]) dims[a] = {1, {op.r.fresh()}};
    give_like(op, i, y[i], values[0][i], std::move(dims));
  }
}

namespace {

// 0, 1, ... for the loop's steps.
Node numbered_steps(const Op &op, const Dim &trips) {
  if (trips.known()) {
    op.take(checked_mul(8, trips.factor));
    Ints list(static_cast<size_t>(trips.factor));
    std::iota(list.begin(), list.end(), 0);
    return op.constant_node(tensor_of(list));
  }
  const auto at = op.r.axis_of_size(trips);
  if (!at) op.refuse("of as many steps as a size that no value has is not supported");
  const Node x = op.as(*at->first, plain(at->first->rank()));
  return op.cast(op.layer("Arange", {{"axis", at->second}}, {x}), DType::i64);
}

// A state's initial value, with fixed shape.
Node first_of(const Op &op, size_t i, const Value &v) {
  Value &there = op.in(i);
  if (there.forms.empty() && !op.constant_of(there) && there.sizes)
    op.refuse("carries the size of a free axis, which no layer gives; export it with that size");
  return op.as(there, plain(v.rank()));
}

// y: of the layer, the states that move and then the sequences. values: of the body.
void give_results(const Op &op, const LoopParts &p, const std::vector<size_t> &moving, const std::vector<Node> &y,
                  const Values &values) {
  const size_t states = p.states.size();
  for (size_t i = 0; i < states; ++i)
    if (p.still(i)) op.give_value(i, p.states[i]);
  for (size_t i = 0; i < moving.size(); ++i)
    give_like(op, moving[i], y[i], values[moving[i] + 1], p.states[moving[i]].dims);
  for (size_t i = moving.size(); i < y.size(); ++i) {
    const size_t out = i - moving.size() + states;
    std::vector<Dim> dims = values[out + 1].dims;
    dims.insert(dims.begin(), *p.trips);
    give_like(op, out, y[i], values[out + 1], std::move(dims));
  }
}

}  // namespace

void run_loop(const Op &op, const LoopParts &p) {
  Inside inside(op, p.body);
  const size_t states = p.states.size();
  std::vector<size_t> moving;  // by state of the layer: index among the loop's
  std::vector<Node> in, y;
  inside.input(0, number(0), {});
  inside.known(1, number(1, Type::boolean));  // there is a step
  for (size_t i = 0; i < states; ++i) {
    if (p.still(i)) {
      inside.known(i + 2, inside.reader.brought_in(op.in(i + 2)));
      continue;
    }
    moving.push_back(i);
    inside.input(i + 2, p.states[i], p.states[i].dims);
    in.push_back(first_of(op, i + 2, p.states[i]));
  }
  std::vector<std::string_view> names;
  for (const Port &port : p.body.outputs)
    if (!p.to_the_end || &port != &p.body.outputs[0]) names.push_back(port.name);  // the condition is not needed
  inside.reader.only_for(names);
  inside.reader.nodes();
  Values values(1);
  for (size_t i = 1; i < p.body.outputs.size(); ++i) values.push_back(inside.reader.value(p.body.outputs[i].name));
  std::optional<bool> more = true;
  if (!p.to_the_end) {
    values[0] = inside.reader.value(p.body.outputs[0].name);
    const auto t = Op(inside.reader, NodeProto{}).constant_of(values[0]);
    more = t && t->elements() == 1 ? std::optional(t->as<uint8_t>()[0] != 0) : std::nullopt;
  }
  for (size_t i : moving)
    if (values[i + 1].dtype != p.states[i].dtype || values[i + 1].rank() != p.states[i].rank())
      op.refuse("carries ", p.states[i].dtype, " of ", p.states[i].rank(), " axes, which become ", values[i + 1].dtype,
                " of ", values[i + 1].rank());
  for (size_t i : moving) inside.output(values[i + 1]);
  Weights weights;
  const auto count = static_cast<int64_t>(moving.size());
  if (p.to_the_end || (p.trips && p.on == true && more == true)) {
    // The step number is an element of a sequence, so it comes after the states.
    std::rotate(inside.in.begin(), inside.in.begin() + 1, inside.in.end());
    for (size_t i = states + 1; i < values.size(); ++i) inside.output(values[i]);
    Json layer = inside.layer("body", weights);
    in.push_back(numbered_steps(op, *p.trips));
    in.insert(in.end(), inside.seen.begin(), inside.seen.end());
    y = op.layers("Scan", {{"body", std::move(layer)}, {"states", count}}, in, {}, weights);
  } else {
    for (size_t i = states; i + 1 < values.size(); ++i)
      if (op.wants(i)) op.refuse("stacks values of a number of steps that the model computes");
    if (more != true || !op.has(0)) inside.output(values[0]);
    Json layer = inside.layer("body", weights);
    std::vector<Node> before;
    if (op.has(0)) before.push_back(scalar_input(op, 0));
    if (!p.on) before.push_back(scalar_input(op, 1));
    in.insert(in.begin(), before.begin(), before.end());
    in.insert(in.end(), inside.seen.begin(), inside.seen.end());
    y = op.layers("WhileLoop",
                  {{"body", std::move(layer)}, {"states", count}, {"counted", op.has(0)}, {"flagged", !p.on}}, in, {},
                  weights);
  }
  give_results(op, p, moving, y, values);
}

namespace {

// An attribute with `count` numbers.
Ints each(const Op &op, const char *name, size_t count) {
  const Ints list = op.integers(name).value_or(Ints(count, 0));
  if (list.size() != count) fail(Code::corrupt_file, "has ", list.size(), " \"", name, "\" for ", count);
  return list;
}

// Indices of nonzero entries.
Ints set_among(const Ints &list) {
  Ints numbers;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] != 0) numbers.push_back(static_cast<int64_t>(i));
  return numbers;
}

// Moves the axis to the front.
Perm first(int rank, int64_t axis) {
  Perm perm = plain(rank);
  perm.erase(perm.begin() + axis);
  perm.insert(perm.begin(), static_cast<int>(axis));
  return perm;
}

struct Parts {
  const File &body;
  size_t states, sequences, stacked;
  Ints axes, backwards, out_axes, reversed;
};

Parts parts(const Op &op) {
  const File &body = body_of(op, "body");
  const int64_t sequences = op.integer("num_scan_inputs");
  const size_t inputs = op.inputs(), outputs = body.outputs.size();
  if (sequences < 1 || static_cast<size_t>(sequences) > inputs || body.inputs.size() != inputs)
    fail(Code::corrupt_file, "has ", inputs, " inputs and a body of ", body.inputs.size());
  const size_t states = inputs - static_cast<size_t>(sequences);
  if (outputs < states || op.node.out.size() > outputs)
    fail(Code::corrupt_file, "has ", op.node.out.size(), " outputs and a body of ", outputs);
  Parts p{body, states, inputs - states, outputs - states, {}, {}, {}, {}};
  p.axes = each(op, "scan_input_axes", p.sequences);
  p.out_axes = each(op, "scan_output_axes", p.stacked);
  p.backwards = each(op, "scan_input_directions", p.sequences);
  p.reversed = each(op, "scan_output_directions", p.stacked);
  return p;
}

void scan_all(const Op &op) {
  const Parts p = parts(op);
  Inside inside(op, p.body);
  std::vector<Node> in;
  Dim time{};
  for (size_t i = 0; i < p.states + p.sequences; ++i) {
    Value &v = op.in(i);
    std::vector<Dim> dims = v.dims;
    Perm perm = plain(v.rank());
    if (i >= p.states) {
      if (dims.empty()) fail(Code::corrupt_file, "has a sequence without axes");
      const int64_t axis = op.axis_of(p.axes[i - p.states], v.rank());
      const auto at = dims.begin() + axis;
      if (i > p.states && at->known() && time.known() && *at != time)
        fail(Code::corrupt_file, "goes over sequences of ", time.factor, " and ", at->factor, " steps");
      if (i == p.states || at->known()) time = *at;
      perm = first(v.rank(), axis);
      dims.erase(at);
    }
    inside.input(i, v, dims);
    in.push_back(op.as(v, perm));
  }
  inside.reader.nodes();
  Values values;
  for (const Port &port : p.body.outputs) {
    Value &v = inside.reader.value(port.name);
    inside.output(v);
    values.push_back(v);
  }
  const auto y = inside.scan(in, p.states, p.sequences, set_among(p.backwards), set_among(p.reversed));
  for (size_t i = 0; i < op.node.out.size(); ++i) {
    std::vector<Dim> dims = i < p.states ? op.in(i).dims : values[i].dims;
    Perm perm = plain(static_cast<int>(dims.size()));
    if (i >= p.states) {
      const int rank = static_cast<int>(dims.size()) + 1;
      const int64_t axis = op.axis_of(p.out_axes[i - p.states], rank);
      dims.insert(dims.begin() + axis, time);
      perm = first(rank, axis);
    }
    give_like(op, i, y[i], values[i], std::move(dims), std::move(perm));
  }
}

// Before opset 9 inputs have a batch axis, and each sample is a separate Scan.
void batched(const Op &op) {
  if (op.has(0)) op.refuse("with lengths of the sequences is not supported");
  const size_t inputs = op.inputs() - 1;
  if (inputs == 0 || op.in(1).rank() == 0 || !op.in(1).dims[0].known())
    op.refuse("of a free batch is not supported before opset 9");
  const int64_t batch = op.in(1).dims[0].factor;
  if (batch < 1) op.refuse("of an empty batch is not supported");
  Attributes said = op.node.attributes;
  for (Attribute &a : said)
    if (a.name == "directions") a.name = "scan_input_directions";
  std::vector<Values> out(op.node.out.size());
  for (int64_t b = 0; b < batch; ++b) {
    Values in;
    for (size_t i = 1; i <= inputs; ++i) in.push_back(Nodes{op}.at(op.in(i), 0, b));
    const Values of_one = computed(op, "Scan", in, said, out.size());
    for (size_t i = 0; i < out.size(); ++i) out[i].push_back(of_one[i]);
  }
  for (size_t i = 0; i < out.size(); ++i) op.give_value(i, stacked(op, out[i], {}));
}

void scan(const Op &op) { op.opset() < 9 ? batched(op) : scan_all(op); }

}  // namespace

constexpr Row scan_table[] = {{"Scan", scan,
                               "sequence_lens?@-8 initial_state_and_scan_inputs+ > final_state_and_scan_outputs+; "
                               "body:graph! directions@-8:ints "
                               "num_scan_inputs:int! scan_input_axes@9:ints scan_input_directions@9:ints "
                               "scan_output_axes@9:ints scan_output_directions@9:ints",
                               slow}};
const std::span<const Row> scan_rows = scan_table;

}  // namespace dl4::io::onnx
