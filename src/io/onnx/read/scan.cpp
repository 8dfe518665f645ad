// ONNX's Scan: its body is a model, which is the cell of an RNN.
#include <algorithm>

#include "base/error.hpp"
#include "graph/model.hpp"
#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

// Time behind the batch, and back.
Perm time_second(int rank) {
  Perm perm = plain(rank);
  std::swap(perm[0], perm[1]);
  return perm;
}

struct Parts {
  const File &body;
  size_t states, sequences, stacked;
  Ints backwards = {}, reversed = {};  // the steps of each sequence; each that is stacked
  bool lone = false;                   // its states have no batch: they get one of 1
  std::vector<Value> in = {};

  const Port &port(size_t i) const { return body.inputs[i]; }
};

// A number for each of so many.
Ints each(const Op &op, const char *name, size_t count) {
  const Ints list = op.integers(name).value_or(Ints(count, 0));
  if (list.size() != count) fail(Code::corrupt_file, "has ", list.size(), " \"", name, "\" for ", count);
  return list;
}

// An input with an axis of 1.
Value with_batch(const Op &op, size_t i, int axis) {
  Value v = op.in(i);
  if (v.rank() < axis) fail(Code::corrupt_file, "has a sequence without axes");
  v.dims.insert(v.dims.begin() + axis, Dim{1, {}});
  v.forms = {{plain(v.rank()), op.layer("ExpandDims", {{"axis", axis}}, {op.x(i)})}};
  v.filled.reset(), v.constant.reset(), v.sizes.reset();
  return v;
}

Parts parts(const Op &op) {
  const Attribute *said = op.node.find("body");
  if (op.r.is_body()) op.refuse("inside a body is not supported");
  if (op.opset() < 9) op.refuse("before opset 9 is not supported");
  if (!said || !said->graph) fail(Code::corrupt_file, "has no \"body\"");
  const int64_t sequences = op.integer("num_scan_inputs", 0);
  const size_t inputs = op.inputs(), outputs = said->graph->outputs.size();
  if (sequences < 1 || static_cast<size_t>(sequences) > inputs || said->graph->inputs.size() != inputs)
    fail(Code::corrupt_file, "has ", inputs, " inputs and a body of ", said->graph->inputs.size());
  const size_t states = inputs - static_cast<size_t>(sequences);
  if (outputs < states || op.node.out.size() > outputs)
    fail(Code::corrupt_file, "has ", op.node.out.size(), " outputs and a body of ", outputs);
  Parts p{*said->graph, states, inputs - states, outputs - states};
  if (p.states == 0) op.refuse("without a state is not supported");
  for (const char *axes : {"scan_input_axes", "scan_output_axes"})
    for (int64_t axis : each(op, axes, axes[5] == 'i' ? p.sequences : p.stacked))
      if (axis != 0) op.refuse("\"", axes, "\" other than 0 are not supported");
  p.backwards = each(op, "scan_input_directions", p.sequences);
  p.reversed = each(op, "scan_output_directions", p.stacked);
  p.lone = op.in(0).rank() < 2;
  for (size_t i = 0; i < inputs; ++i) p.in.push_back(p.lone ? with_batch(op, i, i < states ? 0 : 1) : op.in(i));
  return p;
}

// An input of the body's graph, its first axis free if it is not one of 1.
Node entry(Reader &r, const char *name, const std::vector<Dim> &dims) {
  Ints shape{dims[0] == Dim{} ? 1 : free_dim};
  for (size_t i = 1; i < dims.size(); ++i) shape.push_back(dims[i].factor);
  return r.graph().input(r.free_name(name), DType::f32, Shape(shape));
}

void set_input(Reader &r, const Parts &p, size_t i, Node n, std::vector<Dim> dims) {
  if (p.lone) {
    n = Op(r, named("step")).layer("Squeeze", {{"axis", 0}}, {n});
    dims.erase(dims.begin());
  }
  Value v;
  v.dtype = r.graph().dtype(n);
  v.type = v.dtype == DType::f32 ? Type::float32 : Type::boolean;
  v.dims = std::move(dims);
  v.forms.push_back({plain(v.rank()), n});
  r.set(p.port(i).name, std::move(v));
}

bool known_behind(const std::vector<Dim> &dims, size_t from) {
  return dims.size() >= from && std::all_of(dims.begin() + static_cast<std::ptrdiff_t>(from), dims.end(),
                                            [](const Dim &d) { return d.known(); });
}

// The sequences side by side as one of floats, (B, T, ...); in the body each is itself again. Gives that of the body.
Node sequences(const Op &op, Reader &inside, Parts &p, Node &x) {
  std::vector<Node> all;
  std::vector<int64_t> sizes;
  int64_t features = 0;
  for (size_t i = p.states; i < op.inputs(); ++i) {
    Value &v = p.in[i];
    const Value &first = p.in[p.states];
    const bool alone = p.sequences == 1 && v.dtype == DType::f32 && v.rank() > 2;
    if (v.rank() < 2 || !known_behind(v.dims, 2) || (v.dtype != DType::f32 && v.dtype != DType::boolean))
      op.refuse("over a sequence of ", v.dtype, " with ", v.rank(), " axes is not supported");
    if (v.dims[1] != first.dims[1]) op.refuse("over sequences of different batches is not supported");
    x = op.as(v, time_second(v.rank()));
    // The loop goes one way, that of the first.
    if ((p.backwards[i - p.states] != 0) != (p.backwards[0] != 0)) x = op.layer("Flip", {{"axis", 1}}, {x});
    if (alone) {
      const std::vector<Dim> step(v.dims.begin() + 1, v.dims.end());
      const Node n = entry(inside, "x", step);
      set_input(inside, p, i, n, step);
      return n;
    }
    sizes.push_back(1);
    for (size_t k = 2; k < v.dims.size(); ++k) sizes.back() = checked_mul(sizes.back(), v.dims[k].factor);
    const Ints flat{v.dims[0].known() ? v.dims[0].factor : free_dim, sizes.back()};
    if (v.rank() != 3) x = op.layer("Reshape", {{"target_shape", flat}}, {x});
    all.push_back(op.cast(x, DType::f32));
    features = checked_add(features, sizes.back());
  }
  x = all.size() == 1 ? all[0] : op.layer("Concatenate", {{"axis", -1}}, all);
  const Node n = entry(inside, "x", {p.in[p.states].dims[1], {features, {}}});
  const NodeProto sequence = named("sequence");
  const Op in(inside, sequence);
  for (size_t i = 0, at = 0; i < sizes.size(); at += static_cast<size_t>(sizes[i]), ++i) {
    const Value &v = p.in[p.states + i];
    Node part = in.cut(n, 1, static_cast<int64_t>(at), sizes[i]);
    Ints own;
    for (size_t k = 2; k < v.dims.size(); ++k) own.push_back(v.dims[k].factor);
    if (own.empty()) part = in.layer("Squeeze", {{"axis", 1}}, {part});
    if (own.size() > 1) part = in.layer("Reshape", {{"target_shape", own}}, {part});
    set_input(inside, p, p.states + i, in.cast(part, v.dtype), {v.dims.begin() + 1, v.dims.end()});
  }
  return n;
}

// What an output of the body is, as a layer of that name.
Node result(Reader &inside, const Parts &p, const Port &port, const char *name) {
  Value &v = inside.value(port.name);
  const NodeProto end = named(name);
  const Op op(inside, end);
  const Node n = op.as(v, plain(v.rank()));
  return p.lone ? op.layer("ExpandDims", {{"axis", 0}}, {n}) : op.layer("Identity", Json::object(), {n});
}

// A step of one that is stacked: its type, its dims behind the batch, and how many numbers of each sample they hold.
struct Stacked {
  DType dtype;
  Ints dims;
  int64_t size = 1;
};

// Those of a body side by side as one of floats, (B, n), which the cell gives.
Node joined(const Op &op, Reader &inside, const std::vector<Node> &steps, std::vector<Stacked> &stacked) {
  const NodeProto end = named("stacked");
  const Op in(inside, end);
  std::vector<Node> all;
  for (const Node n : steps) {
    const Shape &shape = in.shape(n);
    Stacked s{inside.graph().dtype(n), Ints(shape.begin() + std::min(shape.rank(), 1), shape.end())};
    if (shape.rank() == 0 || std::count(s.dims.begin(), s.dims.end(), free_dim) ||
        (s.dtype != DType::f32 && s.dtype != DType::boolean))
      op.refuse("that stacks several values, one of ", s.dtype, ' ', shape, ", is not supported");
    for (int64_t d : s.dims) s.size = checked_mul(s.size, d);
    all.push_back(in.cast(n, DType::f32));
    if (s.dims.size() != 1) all.back() = in.layer("Reshape", {{"target_shape", Ints{s.size}}}, {all.back()});
    stacked.push_back(std::move(s));
  }
  return in.layer("Concatenate", {{"axis", -1}}, all);
}

// One of those, over all steps: (B, T, ...).
Node part_of(const Op &op, Node y, int64_t at, const Stacked &s) {
  Ints target{op.shape(y)[1]};
  target.insert(target.end(), s.dims.begin(), s.dims.end());
  const Node part = op.cut(y, 2, at, s.size);
  return op.cast(s.dims.size() == 1 ? part : op.layer("Reshape", {{"target_shape", target}}, {part}), s.dtype);
}

void scan(const Op &op) {
  Parts p = parts(op);
  Reader inside(p.body, op.r.graph().settings(), op.r.outside(), &op.r);
  Node x = graph::no_node;
  std::vector<Node> in, out, seen;
  graph::Arguments arguments;
  for (size_t i = 0; i < p.states; ++i) {
    Value &v = p.in[i];
    if (v.rank() < (p.lone ? 1 : 2) || v.dtype != DType::f32 || !known_behind(v.dims, 1))
      op.refuse("with a state of ", v.dtype, " and ", v.rank(), " axes is not supported, only floats of each sample");
    in.push_back(entry(inside, "state", v.dims));
    set_input(inside, p, i, in.back(), v.dims);
    if (v.filled != 0.0) arguments.nodes["initial_state"].push_back(op.as(v, plain(v.rank())));
  }
  if (!arguments.nodes.empty() && arguments.nodes["initial_state"].size() != p.states)
    op.refuse("with some states that are zeros along a free axis is not supported");
  in.push_back(sequences(op, inside, p, x));
  const Dim time = p.in[p.states].dims[0], batch = p.in[p.states].dims[1];
  for (size_t i = 0; i < p.states; ++i)
    if (p.in[i].dims[0] != batch) op.refuse("with a state of another batch than the sequence's is not supported");
  inside.nodes();
  for (const Port &port : p.body.outputs) out.push_back(result(inside, p, port, out.size() < p.states ? "next" : "y"));
  std::vector<Stacked> stacked;
  if (p.stacked > 1) {
    const auto first = out.begin() + static_cast<std::ptrdiff_t>(p.states);
    const Node all = joined(op, inside, {first, out.end()}, stacked);
    out.erase(first, out.end());
    out.push_back(all);
  }
  const auto model = inside.body(in, out, seen);
  Weights weights;
  for (const auto &w : model->weights()) weights.emplace_back("graph_cell/" + w->name, w->value);
  Json becomes = Json::object();
  for (size_t i = 0; i < p.states; ++i) becomes[model->input_name(i)] = model->output_name(i);
  if (!seen.empty()) arguments.nodes["constants"] = seen;
  const Json cell{{"class_name", "GraphCell"},
                  {"config", {{"model", graph::to_json(model->architecture())}, {"states", becomes}}}};
  const auto y = op.layers("RNN",
                           {{"cell", cell},
                            {"return_sequences", p.stacked > 0},
                            {"return_state", true},
                            {"go_backwards", p.backwards[0] != 0}},
                           {x}, arguments, weights);
  const auto alone = [&](Node n) { return op.layer("Squeeze", {{"axis", 0}}, {n}); };
  for (size_t i = 0; i < p.states; ++i) {
    if (!p.lone) op.give(i, y[i + 1], {batch});
    if (p.lone && op.wants(i)) op.give(i, alone(y[i + 1]));
  }
  for (size_t i = 0, at = 0; i < p.stacked; at += stacked.empty() ? 0 : static_cast<size_t>(stacked[i].size), ++i) {
    if (!op.wants(p.states + i)) continue;
    Node steps = stacked.empty() ? y[0] : part_of(op, y[0], static_cast<int64_t>(at), stacked[i]);
    if (p.reversed[i] != 0) steps = op.layer("Flip", {{"axis", 1}}, {steps});
    if (p.lone)
      op.give(p.states + i, alone(steps), {time});
    else
      op.give(p.states + i, steps, {time, batch}, time_second(op.shape(steps).rank()));
  }
}

}  // namespace

std::span<const Row> scan_rows() {
  static constexpr Row rows[] = {{"Scan", scan}};
  return rows;
}

}  // namespace dl4::io::onnx
