// Building graphs: names, seeds, and calls, whose shapes the ops check.
#include "graph/graph.hpp"

#include <set>

#include "base/hash.hpp"
#include "graph/model.hpp"

namespace dl4::graph {

using kinds::Symbol;

void Weight::initialise() {
  Tensor first = make_zeros(spec.dtype, spec.shape);
  if (spec.dtype == DType::f32) spec.initializer->fill(first, seed);
  value() = std::move(first);
}

bool Layer::is_trainable(const std::string &inside) const {
  bool any = false;
  for (const auto &w : weights) {
    if (!w->spec.name.starts_with(inside)) continue;
    if (!w->frozen()) return true;
    any = true;
  }
  return !any && trainable;
}

// The host of calls while a graph is built: creates weights in a layer's first call and finds them in later ones.
class Graph::Builder final : public kinds::Host {
 public:
  Builder(Graph &g, ops::Emit &e, LayerId layer, const std::vector<Node> &in)
      : g_(g), e_(e), layer_(g.layers_[layer]), in_(in), first_(layer_.calls == 0) {
    if (layer_.kind->gives_weight()) gives = WeightAt{layer, 0};
  }

  ops::Id weight(const kinds::WeightSpec &spec) override {
    if (!spec.shape.known())
      fail(Code::shape_mismatch, "weight \"", spec.name, "\" needs a known shape, got ", spec.shape);
    auto &weights = layer_.weights;
    auto it = std::find_if(weights.begin(), weights.end(), [&](const auto &w) { return w->spec.name == spec.name; });
    if (it != weights.end()) {
      if ((*it)->spec.shape != spec.shape)
        fail(Code::shape_mismatch, "was built with weight \"", spec.name, "\" of shape ", (*it)->spec.shape,
             ", this call needs ", spec.shape);
    } else if (!first_) {
      fail(Code::shape_mismatch, "was built without weight \"", spec.name, "\", this call needs it");
    } else {
      auto w = make_weight(spec.name);
      w->spec = spec;
      if (!spec.initializer) w->spec.initializer = kinds::parse<kinds::Initializer>("GlorotUniform");
      w->name = layer_.name + "/" + spec.name;
      if (!w->value().data) w->frozen() = !layer_.trainable || spec.frozen;
      w->seed = {g_.settings_.seed, w->spec.initializer->is_random() ? g_.seed_of(w->name) : 0};
      weights.push_back(std::move(w));
      it = weights.end() - 1;
    }
    return value(**it);
  }
  uint64_t random_seed(std::optional<int64_t> own) override {
    if (!own && !layer_.random_seed) layer_.random_seed = g_.seed_of(layer_.name);
    return 0;  // building a graph draws nothing
  }
  ops::Id draws() override { return e_.state("draws", DType::i64, {}); }
  void add_loss(ops::Id) override {}
  void write(const std::string &, ops::Id) override {}
  ops::Id carried(const std::string &name, const Shape &shape, bool stateful) override {
    return stateful
               ? weight({name, shape, kinds::parse<kinds::Initializer>("Zeros"), nullptr, nullptr, false, false, true})
               : ops::none;
  }
  void carry(const std::string &, ops::Id, bool) override {}
  bool trainable(const std::string &inside) const override { return layer_.is_trainable(inside); }
  ops::Id graph_weight(const std::string &name) override {
    gives = g_.find_weight(name);
    return value(*g_.weight(*gives));
  }
  std::optional<kinds::Variable> variable(int input) override { return graph::variable(g_, in_, input); }
  std::vector<ops::Id> values_of(int input) override {
    const auto &w = g_.weight(in_[static_cast<size_t>(input)]);
    return w ? std::vector{value(*w)} : std::vector<ops::Id>{};
  }
  void assign(int, ops::Id) override {}

  std::optional<WeightAt> gives;  // the weight that the call returns

 private:
  // The same value for all calls, for gradients.
  ops::Id value(const Weight &w) {
    const auto it = g_.weights_.find(w.stored.get());
    if (it != g_.weights_.end()) return it->second;
    return g_.weights_[w.stored.get()] = e_.state(w.spec.name, w.spec.dtype, w.spec.shape);
  }
  // A weight of the layer, or of a given model.
  std::shared_ptr<Weight> make_weight(const std::string &name) const {
    for (const auto &[prefix, model] : layer_.given)
      if (name.rfind(prefix, 0) == 0)
        return std::make_shared<Weight>(model->weight(name.substr(prefix.size()))->stored);
    return std::make_shared<Weight>();
  }

  Graph &g_;
  ops::Emit &e_;
  Layer &layer_;
  const std::vector<Node> &in_;
  bool first_;
};

namespace {

std::optional<LayerId> draws_of(const Graph &g) {
  for (LayerId l : g.layers().ids())
    if (const auto &kind = g.layers()[l].kind; kind && is_draws(*kind)) return l;
  return std::nullopt;
}

constexpr size_t max_layers = 100000, max_name = 1024;

// Refuses unknown arguments, values that are not symbols, and flags other than true, false or null. A list of nulls
// becomes an empty list, as in files.
void check_arguments(const kinds::Layer &layer, Arguments &arguments) {
  const kinds::Facts facts = layer.facts();
  std::vector<std::string> allowed;
  for (const kinds::CallArgument &a : facts.arguments) allowed.emplace_back(a.name);
  allowed.emplace_back("training");
  auto takes_values = [&](const std::string &key) {
    return std::any_of(facts.arguments.begin(), facts.arguments.end(), [&](const kinds::CallArgument &a) {
      return key == a.name && std::string_view(a.type) != "bool";
    });
  };
  auto refuse = [&](const std::string &key) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) return;
    throw Error(Code::invalid_argument, text("unknown call argument \"", key, '"'))
        .with("attribute", key)
        .suggest(key, allowed);
  };
  auto refuse_value = [](const std::string &key, const char *wanted, const std::string &got) {
    throw Error(Code::invalid_argument, text('"', key, "\": expected ", wanted, ", got ", got)).with("argument", key);
  };
  for (const auto &[key, list] : arguments.nodes) {
    refuse(key);
    if (!takes_values(key)) refuse_value(key, "true or false", "symbolic values");
  }
  const Json given = std::move(arguments.plain);
  arguments.plain = Json::object();
  for (const auto &[name, value] : given.items()) {
    const std::string key(name);
    refuse(key);
    const bool values = takes_values(key);
    if (values && value.is_array() &&
        std::all_of(value.begin(), value.end(), [](const Json &v) { return v.is_null(); }))
      arguments.nodes[key].assign(value.size(), no_node);
    else if (value.is_null())
      arguments.plain[key] = value;
    else if (!values && (value.is_boolean() || value == 0 || value == 1))
      arguments.plain[key] = kinds::from_json<bool>(value);
    else
      refuse_value(key, values ? "symbolic values" : "true or false", value.shown());
  }
}

// The prefix of a given model's weights: the names of the inner layers that contain it. A layer named differently in
// the config is another layer.
std::string prefix_of(const kinds::Layer &layer, const Given &given) {
  const std::string &attribute = given.path[0];
  if (given.model->in_training())
    throw Error(Code::busy, text('"', attribute, "\": the model is in training")).with("attribute", attribute);
  std::string prefix;
  Json config = layer.config();
  for (const std::string &key : given.path) {
    if (key == "config") continue;
    const Json *inner = config.find(key), *inside = inner ? inner->find("config") : nullptr;
    if (inner && is_architecture(*inner)) return prefix;  // the weights are the containing layer's
    const Json *name = inside ? inside->find("name") : nullptr;
    if (!name || !name->is_string()) kinds::unsupported_attribute(attribute, "a model is not accepted here");
    prefix += name->get<std::string>() + '/';
    config = Json(*inside);
  }
  return prefix;
}

}  // namespace

Graph::Graph(const Settings &settings) : settings_(settings), op_seeds_(settings.seed) {}

// Hash of the graph's seed, then the name. 63 bits, which any JSON reader can hold as an integer.
uint64_t Graph::seed_of(std::string_view name) {
  if (settings_.scheme == SeedScheme::tensorflow) return static_cast<uint64_t>(op_seeds_.next());
  Fnv1a hash;
  for (int shift = 0; shift < 64; shift += 8) hash.add(settings_.seed >> shift & 0xFF);
  return hash.add(name).value >> 1;
}

std::string Graph::unique_name(const std::string &wanted, const std::string &kind) {
  if (layers_.size() >= max_layers) fail(Code::invalid_argument, "a graph holds at most ", max_layers, " layers");
  if (!wanted.empty()) {
    kinds::need_name(wanted);
    if (wanted.size() > max_name)
      fail(Code::invalid_argument, "a name of ", wanted.size(), " bytes; at most ", max_name);
    if (names_.count(wanted)) fail(Code::invalid_argument, "a layer named \"", wanted, "\" is in the graph already");
    return wanted;
  }
  std::string base = kinds::snake_case(kind), name = base;
  for (int64_t &i = numbers_[base]; names_.count(name = i ? text(base, '_', i) : base); ++i) {
  }
  return name;
}

Node Graph::check(Node n) const {
  if (!origins_.has(n)) fail(Code::invalid_argument, "node ", n, " is not in this graph, which has ", origins_.size());
  return n;
}

const Shape &Graph::shape(Node n) const { return scratch_[symbols_[check(n)].value].shape; }

DType Graph::dtype(Node n) const { return scratch_[symbols_[check(n)].value].dtype; }

bool Graph::masked(Node n) const { return symbols_[check(n)].mask != ops::none; }

const std::shared_ptr<Weight> &Graph::weight(Node n) const {
  static const std::shared_ptr<Weight> none;
  const std::optional<WeightAt> &at = calls_[origin(n).call].weight;
  return at ? weight(*at) : none;
}

WeightAt Graph::find_weight(const std::string &name) const {
  std::vector<std::string> known;
  for (LayerId layer : layers_.ids())
    for (size_t i = 0; i < layers_[layer].weights.size(); ++i) {
      if (layers_[layer].weights[i]->name == name) return {layer, i};
      known.push_back(layers_[layer].weights[i]->name);
    }
  throw Error(Code::not_found,
              text("the graph has no weight \"", name, "\"; a layer has its weights from its first call on"))
      .with("weight", name)
      .suggest(name, known);
}

std::optional<kinds::Variable> variable(const Graph &g, const std::vector<Node> &in, int i) {
  const auto &w = g.weight(in[static_cast<size_t>(i)]);
  if (!w) return std::nullopt;
  return kinds::Variable{w->name, w->spec};
}

Node Graph::add_source(Layer layer, const std::function<ops::Id(ops::Emit &)> &emit) {
  const Node n = origins_.next();
  layer.calls = 1;
  Call record{layers_.next(), 0, {}, {}, {n}};
  layers_.make_room(1);
  calls_.make_room(1);
  origins_.make_room(1);
  symbols_.make_room(1);
  size_t values = scratch_.values.size(), inputs = scratch_.inputs.size();
  try {
    ops::Emit e(scratch_);
    ops::Id value = emit(e);
    names_.insert(layer.name);
    symbols_.push_back({value, ops::none});
  } catch (...) {
    scratch_.values.shrink(values);
    scratch_.inputs.resize(inputs);
    throw;
  }
  layers_.push_back(std::move(layer));
  origins_.push_back({calls_.next(), 0});
  calls_.push_back(std::move(record));
  return n;
}

Node Graph::input(const std::string &name, DType dtype, const Shape &shape) {
  if (dtype == DType::f64) fail(Code::unsupported, "an input of dtype float64; the graph computes in float32");
  Layer l;
  l.name = unique_name(name, "InputLayer");
  l.input = {dtype, shape};
  std::string symbol = l.name;
  return add_source(std::move(l), [&](ops::Emit &e) { return e.input(std::move(symbol), dtype, shape); });
}

Node Graph::constant(const std::string &name, Tensor value) {
  if (value.dtype == DType::f64) fail(Code::unsupported, "a constant of dtype float64; the graph computes in float32");
  if (value.dtype == DType::string)
    fail(Code::unsupported, "a constant of dtype string; strings are inputs and outputs of a graph");
  need_room(value.bytes());
  Layer l;
  l.name = unique_name(name, "Constant");
  l.constant = clone(value);
  Tensor data = l.constant;
  Node n = add_source(std::move(l), [&](ops::Emit &e) { return e.constant(std::move(data)); });
  constant_bytes_ += value.bytes();
  return n;
}

void Graph::need_room(int64_t bytes) const {
  if (checked_add(constant_bytes_, bytes) > settings_.memory_limit)
    fail(Code::out_of_memory, "the constants of the graph would take ", constant_bytes_ + bytes,
         " bytes, the memory limit is ", settings_.memory_limit);
}

LayerId Graph::layer(const std::string &kind, const std::string &name, Json attributes,
                     const std::vector<Given> &given) {
  const kinds::Entry &entry = kinds::find("layer", kind);
  if (attributes.is_null()) attributes = Json::object();
  if (!attributes.is_object())
    fail(Code::invalid_argument, "attributes of a layer are an object, got ", attributes.shown());
  Layer l;
  std::string wanted = name;
  if (const Json *its_own = attributes.find("name")) {
    kinds::need_name(*its_own);
    if (wanted.empty() && its_own->is_string()) wanted = its_own->get<std::string>();
    attributes.erase("name");
  }
  l.name = unique_name(wanted, entry.name);
  try {
    if (const Json *yes = attributes.find("trainable")) {
      if (!yes->is_boolean()) kinds::refuse_attribute("trainable", "expected true or false, got ", yes->shown());
      l.trainable = yes->get<bool>();
      attributes.erase("trainable");
    }
    if (const Json *dtype = attributes.find("dtype"); dtype && kinds::is_mixed_bfloat16(*dtype)) {
      l.mixed_bfloat16 = true;
      attributes.erase("dtype");
    }
    l.kind = std::static_pointer_cast<const kinds::Layer>(entry.make(attributes));
    if (!given.empty() && !l.trainable)
      kinds::unsupported_attribute(
          "trainable", "weights that are shared with a model are frozen in that, by dl4_model_set_trainable()");
    for (const Given &model : given) l.given[prefix_of(*l.kind, model)] = model.model;
  } catch (Error &error) {
    error.in("layer \"" + l.name + "\"").with("layer", l.name);
    throw;
  }
  layers_.make_room(1);
  names_.insert(l.name);
  return layers_.push_back(std::move(l));
}

LayerId Graph::share(const Graph &from, LayerId layer, const std::string &name) {
  if (!from.layers_.has(layer))
    fail(Code::invalid_argument, "layer ", layer, " is not in the other graph, which has ", from.layers_.size());
  const Layer &its = from.layers_[layer];
  if (!its.kind || its.calls == 0)
    throw Error(Code::invalid_argument, text("layer \"", its.name, "\": expected a layer that has been called, got ",
                                             its.kind ? "one that has not" : "an input or a constant"))
        .with("layer", its.name);
  Layer l;
  l.name = unique_name(name.empty() ? its.name : name, its.kind->entry().name);
  l.kind = its.kind;
  l.trainable = its.trainable;
  l.mixed_bfloat16 = its.mixed_bfloat16;
  l.random_seed = its.random_seed;
  for (const auto &w : its.weights) {
    auto same = std::make_shared<Weight>(w->stored);
    same->spec = w->spec;
    same->name = l.name + "/" + w->spec.name;
    same->seed = w->seed;
    l.weights.push_back(std::move(same));
  }
  layers_.make_room(1);
  names_.insert(l.name);
  return layers_.push_back(std::move(l));
}

std::vector<Node> Graph::add(const std::string &kind, const std::string &name, Json attributes, Arguments arguments,
                             const std::vector<Node> &in, size_t asked, const std::vector<Given> &given) {
  const LayerId l = layer(kind, name, std::move(attributes), given);
  try {
    return call(l, std::move(arguments), in, asked);
  } catch (...) {
    names_.erase(layers_.back().name);
    layers_.pop_back();
    throw;
  }
}

Graph::Emitted Graph::emit(LayerId layer, const Arguments &arguments, const std::vector<Node> &in) {
  const Layer &l = layers_[layer];
  const auto symbol = [&](Node n) { return n == no_node ? Symbol{} : symbols_[check(n)]; };
  kinds::Arguments given{arguments.plain, {}};
  for (const auto &[key, list] : arguments.nodes)
    for (Node n : list) given.symbols[key].push_back(symbol(n));
  std::vector<Symbol> symbols;
  for (Node n : in) symbols.push_back(symbol(n));
  ops::Emit e(scratch_);
  e.scope = l.name;
  Builder host(*this, e, layer, in);
  kinds::Call c(e, host, symbols, given, true);
  std::vector<Symbol> out = l.kind->call(c);
  return {std::move(out), host.gives};
}

std::vector<Node> Graph::record(LayerId layer, Arguments arguments, const std::vector<Node> &in,
                                const Emitted &emitted) {
  Layer &l = layers_[layer];
  const std::vector<Symbol> &out = emitted.out;
  std::vector<Node> outputs(out.size());
  Call call{layer, l.calls, in, std::move(arguments), outputs, emitted.weight};
  calls_.make_room(1);
  origins_.make_room(out.size());
  symbols_.make_room(out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    outputs[i] = call.out[i] = origins_.push_back({calls_.next(), static_cast<int32_t>(i)});
    symbols_.push_back(out[i]);
  }
  calls_.push_back(std::move(call));
  ++l.calls;
  return outputs;
}

std::vector<Node> Graph::call(LayerId layer, Arguments arguments, const std::vector<Node> &in, size_t asked) {
  if (!layers_.has(layer))
    fail(Code::invalid_argument, "layer ", layer, " is not in this graph, which has ", layers_.size());
  Layer &l = layers_[layer];
  if (!l.kind) fail(Code::invalid_argument, "\"", l.name, "\" is an input or a constant and can't be called");
  for (Node n : in) check(n);

  // All or nothing: a refused call leaves no weight, seed or step behind.
  size_t values = scratch_.values.size(), steps = scratch_.steps.size(), weights = l.weights.size();
  size_t inputs = scratch_.inputs.size(), states = scratch_.states.size();
  OpSeeds seeds = op_seeds_;
  auto random_seed = l.random_seed;
  auto undo = [&] {
    scratch_.values.shrink(values);
    scratch_.steps.resize(steps);
    scratch_.inputs.resize(inputs);
    scratch_.states.resize(states);
    l.weights.resize(weights);
    op_seeds_ = seeds;
    l.random_seed = random_seed;
    std::erase_if(weights_, [&](const auto &w) { return static_cast<size_t>(w.second) >= values; });
  };
  try {
    l.kind->arity().check(in.size());
    check_arguments(*l.kind, arguments);
    const Emitted emitted = emit(layer, arguments, in);
    const size_t outputs = emitted.out.size();
    if (outputs < asked)
      fail(Code::invalid_argument, "has ", outputs, outputs == 1 ? " output, " : " outputs, ", asked,
           " were asked for");
    const bool assigns = l.kind->assigns();
    std::vector<Node> made = record(layer, std::move(arguments), in, emitted);
    if (assigns && !draws_of(*this)) add("Draws", "", {}, {}, {}, 1);
    return made;
  } catch (Error &error) {
    undo();
    error.in("layer \"" + l.name + "\"").with("layer", l.name);
    throw;
  } catch (...) {
    undo();
    throw;
  }
}

std::vector<Node> Call::sources() const {
  std::vector<Node> all = in;
  for (const auto &[key, list] : arguments.nodes)
    std::ranges::copy_if(list, std::back_inserter(all), [](Node n) { return n != no_node; });
  return all;
}

std::vector<CallId> needed_calls(const Graph &g, const std::vector<Node> &in, const std::vector<Node> &out) {
  std::set<CallId> needed, given;
  for (Node n : in) {
    const CallId call = g.origin(n).call;
    if (!g.layer_of(call).input) fail(Code::invalid_argument, "node ", n, " is not an input of the graph");
    if (!given.insert(call).second) fail(Code::invalid_argument, "node ", n, " occurs twice among the inputs");
  }
  std::vector<CallId> open;
  const auto draws = draws_of(g);
  auto need = [&](Node n) {
    if (needed.insert(g.origin(n).call).second) open.push_back(g.origin(n).call);
  };
  for (Node n : out) need(g.check(n));
  while (!open.empty()) {
    const Call &c = g.calls()[open.back()];
    const Layer &l = g.layers()[c.layer];
    if (l.input && !given.count(open.back()))
      fail(Code::invalid_argument, "the outputs need input \"", l.name, "\", which is not among the model's inputs");
    open.pop_back();
    if (draws && l.kind && l.kind->assigns())
      for (CallId call : g.calls().ids())
        if (g.calls()[call].layer == *draws) needed.insert(call);
    for (Node n : c.sources()) need(n);
  }
  needed.insert(given.begin(), given.end());
  return {needed.begin(), needed.end()};
}

}  // namespace dl4::graph
