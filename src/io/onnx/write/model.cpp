
#include "io/onnx/onnx.hpp"
#include "io/onnx/reader.hpp"
#include "io/onnx/write/writer.hpp"

namespace dl4::io {
namespace onnx {

constexpr int64_t written_opset = 20, written_ir = 9;
constexpr size_t most_bytes = (size_t{1} << 31) - 1;  // limit of Protocol Buffers messages

int64_t type_of(DType t) {
  Value v;
  v.dtype = t;
  return static_cast<int64_t>(t == DType::f64 ? Type::float64 : v.onnx_type());
}

MessageWriter value_info(std::string_view name, DType type, const Shape &shape,
                         const std::vector<std::string> &symbols) {
  MessageWriter dims, tensor, of, info;
  for (int i = 0; i < shape.rank(); ++i) {
    MessageWriter dim;
    if (shape[i] != free_dim)
      dim.varint(1, shape[i]);
    else if (static_cast<size_t>(i) < symbols.size())
      dim.text(2, symbols[static_cast<size_t>(i)]);
    dims.message(1, dim);
  }
  tensor.varint(1, type_of(type));
  tensor.message(2, dims);
  of.message(1, tensor);
  info.text(1, name);
  info.message(2, of);
  return info;
}

// ---- attributes of ops
// ------------------------------------------------------------------------------------------------

const ops::Attribute *Listed::find(std::string_view name) const {
  const auto it = std::find_if(attributes_.begin(), attributes_.end(), [&](const auto &a) { return a.name == name; });
  return it == attributes_.end() ? nullptr : &*it;
}

const ops::Attribute &Listed::at(std::string_view name) const {
  const ops::Attribute *a = find(name);
  if (!a) fail(Code::internal, "an op lists no \"", name, '"');
  return *a;
}

int64_t Listed::number(std::string_view name) const { return at(name).integers.at(0); }

const Ints &Listed::numbers(std::string_view name) const {
  static const Ints none;
  return flag(name) ? at(name).integers : none;
}

// ---- names and initializers ----------------------------------------------------------------------------------------

Name Whole::unique(std::string_view wanted, std::string_view behind) {
  const std::string name = dl4::text(wanted, behind);
  auto added = names.insert(name.empty() ? "value" : name);
  for (int i = 1; !added.second; ++i) added = names.insert(dl4::text(name, '_', i));
  return Name(*added.first);
}

Name Whole::constant(const Tensor &t, std::string_view name) {
  MessageWriter m;
  for (int64_t d : t.shape) m.varint(1, d);
  m.varint(2, type_of(t.dtype));
  const Name called = unique(name);
  m.text(8, called);
  if (t.dtype == DType::string)
    for (const String &s : strings(t)) m.text(6, s.view());
  else
    m.text(9, t.chars());
  if (initializers.bytes.size() + m.bytes.size() > most_bytes)
    fail(Code::unsupported, "the model takes more than the 2 GiB that an ONNX file may");
  initializers.message(5, m);
  return called;
}

Writer::Writer(Whole &whole, const ops::Program &p, std::map<ops::Id, Tensor> values)
    : whole_(whole), program_(p), values_(std::move(values)), uses_(ops::uses(p)), producers_(ops::producers(p)) {}

Name Writer::name_of(ops::Id v) {
  Name &name = names_[v];
  if (!name.empty()) return name;
  const ops::Value &value = program_[v];
  if (value.role == ops::Role::constant) return name = whole_.constant(value.data, "constant");
  const auto held = values_.find(v);
  if (held == values_.end()) refuse(dl4::text("reads what the file can't hold, \"", value.name, '"'));
  return name = whole_.constant(held->second, value.name);
}

const Tensor &Writer::numbers(size_t i, const char *what) const {
  const ops::Value &value = program_[step_->src[i]];
  if (value.role == ops::Role::constant) return value.data;
  const auto held = values_.find(step_->src[i]);
  if (held == values_.end()) refuse(dl4::text("its ", what, " is computed, where ONNX requires a constant"));
  return held->second;
}

std::optional<Tensor> Writer::held(ops::Id v) const {
  const ops::Value &value = program_[v];
  if (value.role == ops::Role::constant) return value.data;
  if (const auto weight = values_.find(v); weight != values_.end()) return weight->second;
  const ops::Step *s = maker(v);
  const bool part = s && s->op->name() == "view";
  if (!s || !(part || s->op->name() == "reshape") || !value.shape.known()) return {};
  const auto whole = held(s->src[0]);
  if (!whole || whole->dtype != DType::f32) return {};
  Tensor t = make_tensor(DType::f32, value.shape);
  const int64_t offset = part ? Listed(*s->op).number("offset") : 0;
  std::copy_n(whole->as<float>() + offset, t.elements(), t.as<float>());
  return t;
}

const std::optional<Recurrence> &Writer::recurrence(const ops::Step &step) {
  const auto known = recurrences_.find(&step);
  return known != recurrences_.end() ? known->second
                                     : recurrences_.emplace(&step, find_recurrence(*this, step)).first->second;
}

void Writer::refuse(std::string_view what) const {
  const std::string scope = step_ ? step_->scope : "";
  throw Error(Code::unsupported, dl4::text(scope.empty() ? "the model" : "layer \"" + scope + '"', ": ", what,
                                           "; ONNX files can't be written of it"))
      .with("layer", scope);
}

// ---- nodes ---------------------------------------------------------------------------------------------------------

namespace {

MessageWriter attribute(const Said &said) {
  MessageWriter m;
  m.text(1, said.name);
  const int64_t field = said.type + 1;
  if (said.type == Said::real || said.type == Said::reals) m.real(field, said.f);
  if (said.type == Said::integer) m.varint(field, said.i);
  if (said.type == Said::text || said.type == Said::texts) m.text(field, said.s);
  if (said.type == Said::graph) m.message(field, *said.body);
  if (said.type == Said::list)
    for (int64_t i : *said.ints) m.varint(field, i);
  m.varint(20, said.type);
  return m;
}

}  // namespace

Names Writer::nodes_of(const char *op, ArrayRef<Name> in, size_t outputs, ArrayRef<Said> said) {
  const std::string base = step_ && !step_->scope.empty() ? step_->scope + '/' + op : std::string(op);
  MessageWriter m;
  Names out;
  size_t last = in.size();
  while (last > 0 && in[last - 1].empty()) --last;
  for (size_t i = 0; i < last; ++i) m.text(1, in[i]);
  for (size_t i = 0; i < outputs; ++i) m.text(2, out.emplace_back(whole_.unique(base, "_out")));
  m.text(3, whole_.unique(base));
  m.text(4, op);
  for (const Said &s : said) m.message(5, attribute(s));
  nodes.message(1, m);
  return out;
}

Name Writer::node(const char *op, ArrayRef<Name> in, ArrayRef<Said> said) { return nodes_of(op, in, 1, said)[0]; }

Name Writer::ints(ArrayRef<int64_t> list, bool scalar) {
  return tensor(tensor_of(Ints(list.begin(), list.end()), scalar));
}
Name Writer::real(double v) { return tensor(scalar(v)); }
Name Writer::tensor(const Tensor &t, std::string_view name) { return whole_.constant(t, name); }
Name Writer::transposed(Name x, ArrayRef<int64_t> perm) {
  return node("Transpose", {x}, {{"perm", Ints(perm.begin(), perm.end())}});
}
Name Writer::cast(Name x, DType to) { return node("Cast", {x}, {{"to", type_of(to)}}); }
Name Writer::dims(Name x, int64_t from, int64_t to) { return node("Shape", {x}, {{"start", from}, {"end", to}}); }
Name Writer::reversed(Name x, int64_t axis) {
  return node("Slice", {x, ints({-1}), ints({std::numeric_limits<int64_t>::min()}), ints({axis}), ints({-1})});
}
Name Writer::repeated(Name x, int64_t axis, int64_t rank, int64_t times) {
  Ints tiles(static_cast<size_t>(rank) + 1, 1);
  tiles[static_cast<size_t>(axis) + 1] = times;
  const Name many = node("Tile", {node("Unsqueeze", {x, ints({axis + 1})}), ints(tiles)});
  Names parts;
  if (axis > 0) parts.push_back(dims(x, 0, axis));
  parts.push_back(ints({-1}));
  if (axis + 1 < rank) parts.push_back(dims(x, axis + 1, rank));
  return node("Reshape", {many, node("Concat", parts, {{"axis", 0}})});
}
Name Writer::range_over(Name x, int64_t axis) {
  const Name n = node("Squeeze", {dims(x, axis, axis + 1), ints({0})});
  return node("Range", {ints({0}, true), n, ints({1}, true)});
}

void Writer::steps() {
  ops::PerValue<bool> live(program_);
  for (ops::Id v : program_.outputs) live[v] = true;
  std::vector<bool> needed(program_.steps.size());
  for (size_t i = needed.size(); i-- > 0;) {
    const ops::Step &s = program_.steps[i];
    needed[i] = std::any_of(s.dst.begin(), s.dst.end(), [&](ops::Id v) { return live[v]; });
    if (!needed[i]) continue;
    std::vector<ops::Id> read = s.src;
    if (const auto &r = recurrence(s))
      read = {r->x, r->first};
    else if (const auto bytes = bytes_of_product(*this, s))
      read[1] = *bytes;
    else if (s.op->name() == "straight_through")
      read.resize(1);  // the other source is only for gradients
    for (ops::Id v : read)
      if (v != ops::none) live[v] = true;
  }
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i]) step(program_.steps[i]);
}

void Writer::step(const ops::Step &step) {
  step_ = &step;
  const std::string_view op = step.op->name();
  for (const auto rows : {plain_ops, larger_ops, segment_ops, text_ops})
    for (const auto &[name, write] : rows)
      if (name == op) {
        write(*this, Listed(*step.op));
        step_ = nullptr;
        return;
      }
  refuse(dl4::text("it computes \"", op, "\", which ONNX has no op for"));
}

namespace {

MessageWriter graph_of(const graph::Model &m) {
  if (m.assigns()) fail(Code::unsupported, "the model assigns weights, which has no place in an ONNX file");
  graph::Inference of = graph::inference(m);
  Whole whole;
  std::map<ops::Id, Tensor> held;
  const auto weights = m.held();
  for (size_t i = 0; i < weights.size() && i < of.program.states.size(); ++i)
    held[of.program.states[i]] = weights[i]->spec.kept ? make_zeros(DType::f32, weights[i]->spec.shape)  // as at first
                                                       : weights[i]->value();
  Writer w(whole, of.program, std::move(held));
  MessageWriter graph, ports;
  for (ops::Id v : of.program.inputs) {
    const ops::Value &value = of.program[v];
    const Name name = whole.unique(value.name);
    w.call(v, name);
    std::vector<std::string> symbols;
    for (int i = 0; i < value.shape.rank(); ++i)
      symbols.push_back(i == 0 ? "batch" : dl4::text(std::string_view(name), "_axis_", i));
    ports.message(11, value_info(name, value.dtype, value.shape, symbols));
  }
  Names outputs;
  for (const std::string &name : of.output_names) outputs.push_back(whole.unique(name));
  w.steps();
  for (size_t i = 0; i < of.program.outputs.size(); ++i) {
    const ops::Id v = of.program.outputs[i];
    MessageWriter identity;
    identity.text(1, w.name_of(v));
    identity.text(2, outputs[i]);
    identity.text(3, whole.unique(outputs[i], "/Identity"));
    identity.text(4, "Identity");
    w.nodes.message(1, identity);
    ports.message(12, value_info(outputs[i], of.program[v].dtype, of.program[v].shape));
  }
  graph.bytes = std::move(w.nodes.bytes);
  graph.text(2, "dl4");
  graph.bytes += whole.initializers.bytes;
  graph.bytes += ports.bytes;
  return graph;
}

}  // namespace
}  // namespace onnx

std::string onnx_bytes(const graph::Model &m) {
  onnx::MessageWriter model, opset;
  model.varint(1, onnx::written_ir);
  model.text(2, "dl4");
  model.text(3, DL4_PROJECT_VERSION);
  model.message(7, onnx::graph_of(m));
  opset.text(1, "");
  opset.varint(2, onnx::written_opset);
  model.message(8, opset);
  if (model.bytes.size() > onnx::most_bytes)
    fail(Code::unsupported, "the model takes more than the 2 GiB that an ONNX file may");
  return std::move(model.bytes);
}

}  // namespace dl4::io
