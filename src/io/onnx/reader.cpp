#include "io/onnx/reader.hpp"

#include "io/onnx/onnx.hpp"

namespace dl4::io::onnx {
namespace {

constexpr int64_t node_bytes = 256;                  // of a node that is read again
constexpr size_t value_bytes = sizeof(Value) + 256;  // including name and references

// A node's name in messages.
std::string who(const NodeProto &node) {
  const std::string name(node.name.empty() && !node.out.empty() ? node.out[0] : node.name);
  return text("node \"", name, "\" (", std::string(node.op), ')');
}

// Whether it is ONNX's own domain.
bool is_own(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

std::string hint(const NodeProto &node) {
  if (node.domain == "com.microsoft.nchwc")
    return ": the domain \"com.microsoft.nchwc\" is of one processor's layouts; save the model with "
           "ORT_ENABLE_EXTENDED at most";
  if (!is_own(node.domain))
    return text(": the domain \"", std::string(node.domain), "\" is not ONNX's own; export the model without it");
  return ": no layer of ours computes it";
}

void need_floats(const Value &v) {
  if (v.dtype != DType::f32) fail(Code::unsupported, "is supported for floats, not for ", v.dtype);
}

// The inputs of a node and of its bodies.
std::set<std::string_view> names_read(const NodeProto &n) {
  std::set<std::string_view> names(n.in.begin(), n.in.end());
  for (const Attribute &a : n.attributes) {
    if (!a.graph) continue;
    std::set<std::string_view> inside, own;
    for (const NodeProto &inner : a.graph->nodes) {
      inside.merge(names_read(inner));
      own.insert(inner.out.begin(), inner.out.end());
    }
    for (const Port &p : a.graph->inputs) own.insert(p.name);
    for (const Numbers &t : a.graph->initializers) own.insert(t.name);
    for (const Port &p : a.graph->outputs) inside.insert(p.name);
    for (std::string_view name : inside)
      if (!own.count(name)) names.insert(name);
  }
  return names;
}

// Nodes in topological order, otherwise in file order.
std::vector<const NodeProto *> sorted(const std::vector<NodeProto> &nodes,
                                      const std::map<std::string_view, std::vector<const NodeProto *>> &readers) {
  std::vector<size_t> waits_for(nodes.size(), 0);  // outputs of other nodes
  const auto each_reader = [&](const NodeProto &n, auto f) {
    for (std::string_view name : n.out)
      if (const auto it = readers.find(name); !name.empty() && it != readers.end())
        for (const NodeProto *reader : it->second) f(static_cast<size_t>(reader - nodes.data()));
  };
  std::set<std::string_view> given;
  for (const NodeProto &n : nodes) {
    for (std::string_view name : n.out)
      if (!name.empty() && !given.insert(name).second)
        fail(Code::corrupt_file, '"', std::string(name), "\" is given twice");
    each_reader(n, [&](size_t i) { ++waits_for[i]; });
  }
  std::set<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waits_for[i] == 0) ready.insert(ready.end(), i);
  std::vector<const NodeProto *> order;
  while (!ready.empty()) {
    const size_t next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(&nodes[next]);
    each_reader(nodes[next], [&](size_t i) {
      if (--waits_for[i] == 0) ready.insert(i);
    });
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waits_for[i] != 0)
      fail(Code::corrupt_file, "the nodes go round in a circle: ", who(nodes[i]),
           " waits for its own output, or for a node that does");
  return order;
}

const Row *find(std::span<const Row> rows, std::string_view op) {
  const auto it = std::find_if(rows.begin(), rows.end(), [&](const Row &row) { return row.op == op; });
  return it == rows.end() ? nullptr : &*it;
}

constexpr int64_t largest = 64 << 20;  // bytes of a constant

// Is a constant of that shape small, and quickly made where each of its numbers takes `steps`? A free shape depends on
// the numbers.
bool is_quick(const Shape &shape, int64_t steps) {
  constexpr int64_t most_steps = 1 << 28;
  if (!shape.known()) return checked_mul(steps, steps) <= most_steps;
  return checked_mul(shape.elements(), 8) <= largest && checked_mul(steps, shape.elements()) <= most_steps;
}

}  // namespace

const Row *row_of(std::string_view op) {
  constexpr const std::span<const Row> *families[] = {
      &math_rows,    &activation_rows,  &shape_rows,    &index_rows,    &space_rows,     &pool_rows,
      &pad_rows,     &resize_rows,      &norm_rows,     &product_rows,  &attention_rows, &recurrent_rows,
      &scan_rows,    &flow_rows,        &sequence_rows, &training_rows, &quantized_rows, &signal_rows,
      &step_rows,    &chosen_rows,      &integer_rows,  &slice_rows,    &type_rows,      &text_rows,
      &counted_rows, &experimental_rows};
  for (const auto *rows : families)
    if (const Row *row = find(*rows, op)) return row;
  return find(named_rows(), op);
}

namespace {

const Row *row_of(const NodeProto &node) {
  if (node.domain == "ai.onnx.ml") return find(ml_rows, node.op);
  if (node.domain == "com.microsoft") return find(microsoft_rows, node.op);
  if (node.domain == "ai.onnx.preview") return node.op == "FlexAttention" ? onnx::row_of(node.op) : nullptr;
  if (!is_own(node.domain)) return nullptr;
  if (const Row *row = onnx::row_of(node.op)) return row;
  return node.op == "SimplifiedLayerNormalization" ? find(microsoft_rows, node.op) : nullptr;
}

}  // namespace

Reader::Reader(const File &file, const graph::Settings &settings, Outside &outside, Reader *outer)
    : file_(file), outside_(outside), outer_(outer), graph_(std::make_shared<graph::Graph>(settings)) {
  if (!outer && (file.opset < oldest_opset || file.opset > newest_opset))
    fail(Code::unsupported, "the file is of opset ", file.opset, "; opsets ", oldest_opset, " to ", newest_opset,
         " are read (onnx.version_converter makes one of another)");
  begin();
}

Reader::Reader(const File &body, Reader &around)
    : file_(body), outside_(around.outside_), outer_(&around), inlined_(true), graph_(around.graph_) {
  begin();
}

int64_t Reader::opset(std::string_view domain) const {
  if (is_own(domain)) return opset();
  for (const auto &[name, version] : root().other_opsets)
    if (name == domain) return version;
  return newest_opset;
}

void Reader::begin() {
  const auto nodes = static_cast<int64_t>(file_.nodes.size());
  if (outer_) outside_.budget.take(checked_add(layer_bytes, checked_mul(node_bytes, nodes)), "a body");
  for (const Numbers &t : file_.initializers) waiting_[t.name] = &t;
  for (const NodeProto &n : file_.nodes)
    for (std::string_view name : names_read(n)) readers_[name].push_back(&n);
  order_ = sorted(file_.nodes, readers_);
  for (const Port &p : file_.outputs) {
    names_.insert(std::string(p.name));
    outputs_.insert(std::string(p.name));
  }
  for (const Port &p : file_.inputs) names_.insert(std::string(p.name));
}

void Reader::add_input(const Port &p) {
  const std::string name(p.name);
  if (waiting_.count(p.name)) return;  // its default value, in old files
  if (!p.is_tensor || !p.ranked)
    fail(Code::unsupported, "input \"", name, "\": expected a tensor whose number of axes is known");
  if (p.dims.size() > max_rank) fail(Code::unsupported, "input \"", name, "\" has ", p.dims.size(), " axes");
  Value v;
  Ints dims;
  for (size_t i = 0; i < p.dims.size(); ++i) {
    dims.push_back(p.dims[i].value_or(free_dim));
    const std::string_view symbol = p.symbols[i];
    if (p.dims[i]) {
      v.dims.push_back({*p.dims[i], {}});
      continue;
    }
    const auto known = named_.find(symbol);
    const int number = symbol.empty() || known == named_.end() ? fresh() : known->second;
    if (!symbol.empty()) named_[symbol] = number;
    v.dims.push_back({1, {number}});
  }
  v.type = p.type;
  v.dtype = stands_for(p.type);
  v.forms.push_back({plain(v.rank()), graph_->input(name, v.dtype, Shape(dims))});
  set(p.name, std::move(v));
}

Value &Reader::value(std::string_view name) {
  if (const auto it = values_.find(name); it != values_.end()) return it->second;
  const auto waiting = waiting_.find(name);
  if (waiting == waiting_.end() && outer_) return inlined_ ? outer_->value(name) : from_outside(name);
  if (waiting == waiting_.end())
    fail(Code::corrupt_file, "no node computes \"", std::string(name), "\", which a node reads");
  return values_[std::string(name)] = constant_value(read(*waiting->second, outside_), waiting->second->type);
}

void Reader::set(std::string_view name, Value v) {
  const size_t listed = v.sizes ? v.sizes->size() : 0, values = v.list ? v.list->size() : 0;
  outside_.budget.take(static_cast<int64_t>((values + 1) * value_bytes + (v.dims.size() + listed) * sizeof(Dim)),
                       "a value");
  for (size_t i = 0; !v.forms.empty() && i < v.dims.size(); ++i) {
    const Dim &d = v.dims[i];
    if (d.factor == 1 && d.symbols.size() == 1)
      axes_.try_emplace(d.symbols[0], v.forms[0].node, inverse(v.forms[0].perm)[i]);
  }
  if (!values_.emplace(std::string(name), std::move(v)).second)
    fail(Code::corrupt_file, '"', std::string(name), "\" is given twice");
}

const NodeProto *Reader::only_reader(std::string_view name) const {
  const auto it = readers_.find(name);
  return it == readers_.end() || it->second.size() != 1 || is_output(name) ? nullptr : it->second[0];
}

bool Reader::is_read(std::string_view name) const {
  const auto it = readers_.find(name);
  return is_output(name) || (it != readers_.end() && std::ranges::any_of(it->second, [&](const NodeProto *n) {
                               return skipped_.count(n) == 0;
                             }));
}

std::optional<std::pair<Value *, int>> Reader::axis_of_size(const Dim &size) {
  for (auto &[name, v] : values_)
    for (int axis = 0; axis < v.rank() && !v.forms.empty(); ++axis)
      if (v.dims[static_cast<size_t>(axis)] == size) return {{&v, axis}};
  return inlined_ ? outer_->axis_of_size(size) : std::nullopt;
}

std::pair<Node, int> Reader::axis_of(int symbol) {
  if (const auto it = axes_.find(symbol); it != axes_.end()) return it->second;
  if (!outer_) fail(Code::unsupported, "reads the size of an axis that no value has; export it with that size");
  const auto [node, axis] = outer_->axis_of(symbol);
  return axes_[symbol] = {inlined_ ? node : seen(node), axis};
}

std::optional<Tensor> Reader::constant_named(std::string_view name) {
  if (!exists(name) && !waiting_.count(name)) return {};
  return value(name).constant;
}

std::string Reader::free_name(const std::string &wanted) {
  if (inlined_) return outer_->free_name(wanted);
  std::string base;
  for (char c : wanted) base += c == '/' ? '_' : c;
  base.erase(0, base.find_first_not_of('_'));
  if (base.empty()) base = "node";
  size_t size = std::min<size_t>(base.size(), 200);
  while (size > 0 && size < base.size() && (base[size] & 0xC0) == 0x80) --size;  // keeps characters whole
  base.resize(size);
  std::string name = base;
  while (!names_.insert(name).second) name = text(base, '_', ++numbered_[base]);
  return name;
}

std::optional<Reader::Named> Reader::computed(const NodeProto &node, const Row &row) {
  // A synthesized node has another opset than a body passed to it.
  const bool mixed = opset() != root().opset &&
                     std::ranges::any_of(node.attributes, [](const Attribute &a) { return a.graph != nullptr; });
  if (folding() || mixed) return {};
  const Op op(*this, node, &row);
  std::map<std::string_view, Value *> given;
  for (std::string_view name : node.in) {
    if (name.empty()) continue;
    Value &v = value(name);
    if (v.list || v.absent || v.dtype == DType::string || !(v.around || op.constant_of(v))) return {};
    given[name] = &v;
  }
  if (given.empty()) return {};
  int64_t most_in = 0;
  File alone;
  alone.opset = opset(), alone.other_opsets = root().other_opsets;
  Reader r(alone, graph_->settings(), outside_);
  r.folding_ = true;
  for (const auto &[name, v] : given) {
    Value constant = *v;
    if (v->around) constant.constant = v->around;
    most_in = std::max(most_in, constant.constant->elements());
    constant.forms.clear();
    r.set(name, std::move(constant));
  }
  std::vector<Node> made;
  try {
    r.run(node);
    for (std::string_view name : node.out) {
      if (name.empty()) continue;
      Value &v = r.value(name);
      if (v.list || v.absent) return {};
      if (v.dtype == DType::string) return {};  // its bytes would belong to a run
      if (op.constant_of(v)) continue;
      made.push_back(Op(r, node).as(v, plain(v.rank())));
      const Shape shape = r.graph_->shape(made.back());
      if (!is_quick(shape, row.trait == slow ? most_in : 0)) return {};
      if (shape.known()) outside_.budget.take(checked_mul(shape.elements(), 8), "a constant");
    }
  } catch (const Error &) {
    return {};  // refused when it is read
  }
  std::optional<std::vector<Tensor>> results;
  if (!made.empty() && !(results = graph::evaluated(graph::Model(r.graph_, {}, made, false), largest))) return {};
  Named values;
  size_t next = 0;
  for (std::string_view name : node.out) {
    if (name.empty()) continue;
    Value v = r.value(name);
    if (!v.constant) {
      v.constant = (*results)[next++];
      v.dims = dims_of(v.constant->shape);
      v.filled.reset(), v.quantized.reset();
    }
    v.forms.clear();
    values.emplace_back(name, std::move(v));
  }
  return values;
}

bool Reader::folded(const NodeProto &node, const Row &row) {
  Budget &budget = outside_.budget;
  const int64_t left = budget.left();
  std::optional<Named> values = computed(node, row);
  budget.give_back(left - budget.left());
  if (!values) return false;
  for (auto &[name, v] : *values) {
    if (v.constant->data.use_count() == 1) budget.take(checked_mul(v.constant->elements(), 8), "a constant");
    set(name, std::move(v));
    if (const auto readers = readers_.find(name); readers != readers_.end() && !is_output(name))
      unread_[name] = readers->second.size();
  }
  return true;
}

void Reader::free_read(const NodeProto &node) {
  for (std::string_view name : names_read(node)) {
    const auto unread = unread_.find(name);
    if (unread == unread_.end() || --unread->second > 0) continue;
    const Tensor &t = *values_.find(name)->second.constant;
    if (t.data.use_count() == 1) outside_.budget.give_back(checked_mul(t.elements(), 8));
    values_.erase(values_.find(name));
    unread_.erase(unread);
  }
}

void Reader::run(const NodeProto &node) {
  if (skipped_.count(&node)) return;
  try {
    const Row *row = row_of(node);
    if (node.out.empty()) fail(Code::corrupt_file, "has no outputs");
    if (!row) throw Error(Code::unsupported, "is not supported" + hint(node)).with("op", std::string(node.op));
    const Schema schema(row->schema, opset(node.domain));
    if (!row->schema.empty()) schema.check(node);
    for (size_t i = 0; i < node.in.size(); ++i)
      if (!node.in[i].empty() && schema.of_floats(i)) need_floats(value(node.in[i]));
    const Handler old = is_own(node.domain) ? old_reader_of(node.op, opset()) : nullptr;
    if (!folded(node, *row)) (old ? old : row->read)(Op(*this, node, row));
    for (size_t i = 0; i < node.out.size(); ++i) {
      const std::string_view name = node.out[i];
      const size_t from = schema.type_of(i);
      const Type type = from < node.in.size() && exists(node.in[from]) ? value(node.in[from]).type : Type::none;
      if (type != Type::none && exists(name))
        if (Value &v = value(name); v.type == Type::none && v.dtype == stands_for(type)) v.type = type;
      if (name.empty() || exists(name)) continue;
      if (is_read(name)) fail(Code::unsupported, "its output ", i, " is not supported");
    }
  } catch (Error &error) {
    // What layers refuse is not the file's fault.
    if (error.code == Code::invalid_argument || error.code == Code::shape_mismatch) error.code = Code::unsupported;
    throw error.in(who(node)).with("node", std::string(node.name)).with("op", std::string(node.op));
  }
}

// A sequence becomes an output per value, with a number appended to its name.
std::vector<Node> Reader::outputs(const Port &p) {
  const std::string name(p.name);
  Value &v = value(p.name);
  if (v.absent) fail(Code::unsupported, "output \"", name, "\" is an Optional without a value");
  if (!v.list) return {output(p, name, v)};
  std::vector<Node> all;
  for (Value one : *v.list) {
    if (one.list || one.absent)
      fail(Code::unsupported, "output \"", name, "\" is a sequence of values that are not tensors");
    const std::string numbered = text(name, '_', all.size());
    all.push_back(output(p, names_.insert(numbered).second ? numbered : free_name(numbered), one));
  }
  return all;
}

Node Reader::output(const Port &p, const std::string &name, Value &v) {
  const NodeProto end = named(p.name);
  const Op op(*this, end);
  Node n = op.as(v, plain(v.rank()));
  const DType wanted = p.is_tensor && p.type != Type::none ? stands_for(p.type) : graph_->dtype(n);
  const bool same = graph_->dtype(n) == wanted;
  if (same && graph_->layer_of(graph_->origin(n).call).name == name) return n;  // an input
  const Json config = same ? Json::object() : Json{{"to", to_string(wanted)}};
  return graph_->add(same ? "Identity" : "Cast", name, config, {}, {n})[0];
}

Value &Reader::from_outside(std::string_view name) {
  return values_[std::string(name)] = brought_in(outer_->value(name));
}

// Values other than lists of integers become inputs of the body.
Value Reader::brought_in(Value &there) {
  Value v = there;
  v.forms.clear();
  v.quantized.reset();
  if (v.list) {
    std::vector<Value> list;
    for (Value one : *v.list) list.push_back(brought_in(one));
    v.list = std::make_shared<const std::vector<Value>>(std::move(list));
    return v;
  }
  const bool listed = v.constant && (v.constant->dtype != DType::f32 || v.constant->elements() == 1);
  if (!listed && !v.sizes && !v.filled && !v.absent && !v.asked) {
    const NodeProto none{};
    v.forms.push_back({plain(v.rank()), seen(Op(*outer_, none).as(there, plain(v.rank())))});
    v.around = std::move(v.constant);
    v.constant.reset();
  }
  return v;
}

Node Reader::seen(Node outside) {
  for (const auto &[there, here] : seen_)
    if (there == outside) return here;
  const graph::Graph &around = outer_->graph();
  const Node here = graph_->input(free_name("seen"), around.dtype(outside), around.shape(outside));
  seen_.emplace_back(outside, here);
  return here;
}

Node Reader::constant(Tensor t) {
  if (inlined_) return outer_->constant(std::move(t));
  if (outer_) return seen(outer_->constant(std::move(t)));
  outside_.budget.take(checked_add(checked_mul(2, t.bytes()), layer_bytes), "a constant");  // it is copied
  return graph_->constant(free_name("constant"), std::move(t));
}

void Reader::nodes() {
  for (const NodeProto *n : order_) {
    run(*n);
    free_read(*n);
  }
}

void Reader::only_for(const std::vector<std::string_view> &names) {
  std::set<std::string_view> needed(names.begin(), names.end());
  for (size_t i = order_.size(); i-- > 0;) {
    const NodeProto &n = *order_[i];
    if (std::any_of(n.out.begin(), n.out.end(), [&](std::string_view name) { return needed.count(name) > 0; }))
      needed.merge(names_read(n));
    else
      skipped_.insert(&n);
  }
}

std::shared_ptr<graph::Model> Reader::body(std::vector<Node> in, const std::vector<Node> &out,
                                           std::vector<Node> &seen) {
  std::set<Node> read(out.begin(), out.end());  // what was read may have become a layer's weight
  for (const graph::Call &c : graph_->calls()) {
    read.insert(c.in.begin(), c.in.end());
    for (const auto &[name, nodes] : c.arguments.nodes) read.insert(nodes.begin(), nodes.end());
  }
  for (const auto &[there, here] : seen_)
    if (read.count(here)) seen.push_back(there), in.push_back(here);
  return std::make_shared<graph::Model>(graph_, in, out, false);
}

std::shared_ptr<graph::Model> Reader::model() {
  for (const Port &p : file_.inputs) add_input(p);
  nodes();
  std::vector<Node> in, out;
  for (const Port &p : file_.outputs)
    for (const Node n : outputs(p)) out.push_back(n);
  for (const Port &p : file_.inputs)
    if (!waiting_.count(p.name)) in.push_back(value(p.name).forms[0].node);
  if (out.empty()) fail(Code::corrupt_file, "the graph has no outputs");
  return std::make_shared<graph::Model>(graph_, in, out, false);
}

}  // namespace dl4::io::onnx
