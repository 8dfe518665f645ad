// If, Loop and Scan that remain control flow at run time.
#include "io/onnx/read/loops.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

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
Node steps(const Op &op, const Dim &trips) {
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
    in.push_back(steps(op, *p.trips));
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

}  // namespace dl4::io::onnx
