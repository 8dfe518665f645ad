// Replays a model's calls into a Program.
#include "graph/lower.hpp"

#include "base/cpu.hpp"
#include "base/float_mode.hpp"
#include "graph/replay.hpp"
#include "plan/differentiate.hpp"
#include "plan/fold.hpp"

namespace dl4::graph {
namespace {

using kinds::Symbol;
// A weight's current value, and all earlier ones, to which no gradient of later ones flows.
struct Values {
  ops::Id now;
  std::vector<ops::Id> all;
};
using WeightValues = std::unordered_map<const Weight *, Values>;

// The host of calls in a Program: weights are existing values, or values that an earlier call wrote.
class CallHost final : public kinds::Host {
 public:
  CallHost(ops::Emit &e, const Graph &graph, const Call &call, WeightValues &weights, ops::Id draws, Lowering how,
           Lowered &lowered)
      : e_(e),
        graph_(graph),
        record_(call),
        layer_(graph.layers()[call.layer]),
        call_(call.number),
        weights_(weights),
        draws_(draws),
        how_(how),
        lowered_(lowered) {}

  ops::Id weight(const kinds::WeightSpec &spec) override { return weights_.at(&find(spec.name)).now; }
  uint64_t random_seed(std::optional<int64_t> own) override {
    // Each call of a shared layer draws its own numbers.
    uint64_t seed = own ? static_cast<uint64_t>(*own) : layer_.random_seed.value_or(0);
    return seed + static_cast<uint64_t>(call_) * 0x9E3779B97F4A7C15u;
  }
  ops::Id draws() override { return draws_; }
  std::shared_ptr<ops::Collective> collective() override { return how_.collective; }
  void add_loss(ops::Id scalar) override { lowered_.penalties.push_back(scalar); }
  void write(const std::string &name, ops::Id value) override {
    const Weight &w = find(name);
    if (w.spec.trainable && !w.spec.assigned) fail(Code::internal, "weight \"", name, "\" is trained, not written");
    if (e_.shape(value) != w.spec.shape)
      fail(Code::internal, "weight \"", name, "\" of shape ", w.spec.shape, " can't hold ", e_.shape(value));
    if (!w.written()) return;
    if (!w.trainable()) return set(w, value);
    ops::Id &now = weights_.at(&w).now;
    now = straight_through(e_, value, now);
  }
  ops::Id carried(const std::string &name, const Shape &shape, bool stateful) override {
    if (!how_.part) return stateful ? weights_.at(&find(name)).now : ops::none;
    const std::string full = full_name(name, stateful);
    if (Carried *known = find_carried(full)) return known->after;
    const ops::Id before = e_.input(full, DType::f32, shape);
    lowered_.carried.push_back({full, before, before});
    return before;
  }
  void carry(const std::string &name, ops::Id value, bool stateful) override {
    if (how_.part)
      find_carried(full_name(name, stateful))->after = value;
    else if (stateful)
      set(find(name), value);
  }
  bool trainable(const std::string &inside) const override { return layer_.is_trainable(inside); }
  void refuse_training(const std::string &why) override {
    throw Error(Code::unsupported, text("layer \"", layer_.name, "\" (", layer_.kind->entry().name, "): ", why))
        .with("layer", layer_.name);
  }
  ops::Id graph_weight(const std::string &) override { return weights_.at(graph_.weight(*record_.weight).get()).now; }
  std::optional<kinds::Variable> variable(int input) override { return graph::variable(graph_, record_.in, input); }
  std::vector<ops::Id> values_of(int input) override {
    const auto &w = graph_.weight(record_.in[static_cast<size_t>(input)]);
    return w ? weights_.at(w.get()).all : std::vector<ops::Id>{};
  }
  void assign(int input, ops::Id value) override { set(*graph_.weight(record_.in[static_cast<size_t>(input)]), value); }

 private:
  void set(const Weight &w, ops::Id value) {
    Values &values = weights_.at(&w);
    values.now = stop_gradient(e_, value);
    values.all.push_back(values.now);
  }
  // Calls of a layer that is not stateful have separate states.
  std::string full_name(const std::string &name, bool stateful) const {
    const std::string full = text(layer_.name, '/', name);
    return stateful || call_ == 0 ? full : text(full, " of call ", call_);
  }
  Carried *find_carried(const std::string &full) {
    for (Carried &c : lowered_.carried)
      if (c.name == full) return &c;
    return nullptr;
  }
  const Weight &find(const std::string &name) const {
    for (const auto &w : layer_.weights)
      if (w->spec.name == name) return *w;
    fail(Code::internal, "weight \"", name, "\" was not made when the graph was built");
  }

  ops::Emit &e_;
  const Graph &graph_;
  const Call &record_;
  const Layer &layer_;
  int32_t call_;
  WeightValues &weights_;
  ops::Id draws_;
  Lowering how_;
  Lowered &lowered_;
};

}  // namespace

Lowered lower(ops::Emit &e, const Model &model, const std::vector<ops::Id> &held, ops::Id draws, Lowering how) {
  FlushToZero flush;  // constants are rounded here
  const Graph &g = model.graph();
  Lowered lowered;
  WeightValues value_of;
  const auto all = model.held();
  for (size_t i = 0; i < held.size(); ++i) value_of[all[i].get()] = {held[i], {held[i]}};
  using Mixed = ops::Emit::Mixed;
  e.mixed = !how.training                                                   ? Mixed::no
            : g.settings().emulate_bfloat16 || cpu::has_bfloat16_products() ? Mixed::yes
                                                                            : Mixed::missing;
  std::vector<Symbol> in;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const Node n = model.inputs()[i];
    in.push_back({e.input(model.input_name(i), g.dtype(n), g.shape(n)), ops::none});
  }
  lowered.outputs = replay(e, model, in,
                           [&](const Layer &layer, const Call &call, std::vector<Symbol> from,
                               const kinds::Arguments &arguments, bool again) {
                             e.scope = layer.name;
                             CallHost host(e, g, call, value_of, draws, how, lowered);
                             Traceless traceless(host);
                             kinds::Call c(e, again ? static_cast<kinds::Host &>(traceless) : host, std::move(from),
                                           arguments, how.training);
                             std::vector<Symbol> out = layer.kind->call(c);
                             e.scope.clear();
                             return out;
                           });
  for (size_t i = 0; i < held.size(); ++i) {
    const ops::Id now = value_of.at(all[i].get()).now;
    lowered.writes.push_back(now == held[i] ? ops::none : now);
  }
  return lowered;
}

namespace {

// The values to differentiate with respect to.
std::vector<ops::Id> find_all(const std::vector<std::string> &names, const ops::Program &p, const Model &model,
                              const std::vector<ops::Id> &weights) {
  std::vector<ops::Id> found;
  std::vector<std::string> known;
  for (ops::Id v : p.inputs) known.push_back(p[v].name);
  for (const auto &w : model.weights()) known.push_back(w->name);
  for (const std::string &name : names) {
    auto at = static_cast<size_t>(std::find(known.begin(), known.end(), name) - known.begin());
    if (at == known.size())
      throw Error(Code::not_found, text("the model has no input or weight \"", name, '"'))
          .with("got", name)
          .suggest(name, known);
    ops::Id v = at < p.inputs.size() ? p.inputs[at] : weights[at - p.inputs.size()];
    if (p[v].dtype != DType::f32)
      throw Error(Code::invalid_argument, text("input \"", name, "\": expected float32, got ", p[v].dtype))
          .with("expected", "float32")
          .with("got", to_string(p[v].dtype));
    if (std::find(found.begin(), found.end(), v) != found.end())
      throw Error(Code::invalid_argument, text('"', name, "\" is listed twice")).with("got", name);
    found.push_back(v);
  }
  return found;
}

// The sum of all outputs, each times its cotangent if requested.
ops::Id objective(ops::Emit &e, const Model &model, const std::vector<Symbol> &outputs, bool cotangents,
                  Inference &in) {
  ops::Id sum = ops::none;
  for (size_t i = 0; i < outputs.size(); ++i) {
    ops::Id y = outputs[i].value;
    if (e.dtype(y) != DType::f32) continue;
    if (cotangents) {
      const std::string name = "cotangent of " + model.output_name(i);
      ops::Id cotangent = e.input(name, DType::f32, e.shape(y));
      e.scope = text("input \"", name, '"');
      y = mul(e, y, cotangent);
      in.cotangent_of.push_back(i);
    }
    y = reduce(e, ops::Reduce::sum, y, {});
    sum = sum == ops::none ? y : add(e, sum, y);
    e.scope.clear();
  }
  if (sum == ops::none) fail(Code::invalid_argument, "the model has no float32 output to differentiate");
  return sum;
}

void add_gradients(ops::Emit &e, const Model &model, const InferenceOptions &options,
                   const std::vector<ops::Id> &weights, const std::vector<Symbol> &outputs, Inference &in) {
  try {
    const std::vector<ops::Id> wrt = find_all(options.gradients, e.program, model, weights);
    const std::vector<ops::Id> found =
        plan::differentiate(e, objective(e, model, outputs, options.cotangents, in), wrt);
    for (size_t i = 0; i < wrt.size(); ++i) {
      const int rank = e.rank(wrt[i]);
      e.output(found[i] == ops::none ? fill(e, DType::f32, 0, wrt[i], rank, {}) : found[i]);
      in.output_names.push_back("gradient of " + options.gradients[i]);
    }
  } catch (Error &error) {
    throw error.with("attribute", "gradients").in("\"gradients\"");
  }
}


struct Draws final : kinds::LayerOf<Draws> {
  static constexpr const char *doc =
      "The number of runs in which a model that assigns weights drew random numbers: made by the first assignment of a "
      "graph, and saved with its models.";

  static constexpr kinds::PlainFacts plain{
      .inputs = {}, .outputs = {{"count", "() int64"}}, .weights = {{"count", "() int64"}}};
  kinds::Arity arity() const override { return {0, 0}; }
  bool gives_weight() const override { return true; }
  std::vector<kinds::Symbol> call(kinds::Call &c) const override {
    return {{c.host.weight({.name = "count",
                            .shape = {},
                            .initializer = kinds::parse<kinds::Initializer>("Zeros"),
                            .regularizer = nullptr,
                            .constraint = nullptr,
                            .trainable = false,
                            .dtype = DType::i64})}};
  }
};

// The weight that counts the draws of a model that assigns weights.
std::optional<size_t> counter_of(const Model &model) {
  const auto held = model.held();
  for (size_t i = 0; model.assigns() && i < held.size(); ++i)
    for (const Layer &l : model.graph().layers())
      if (l.kind && is_draws(*l.kind) && !l.weights.empty() && l.weights[0] == held[i]) return i;
  return std::nullopt;
}

}  // namespace

bool is_draws(const kinds::Layer &kind) { return dynamic_cast<const Draws *>(&kind); }

Inference inference(const Model &model, const InferenceOptions &options) {
  Inference in;
  ops::Emit e(in.program);
  std::vector<ops::Id> weights;
  if (model.assigns() && (options.states || !options.gradients.empty()))
    fail(Code::unsupported, '"', options.states ? "states" : "gradients", "\": the model assigns weights");
  for (const auto &w : model.held()) weights.push_back(e.state(w->name, w->spec.dtype, w->spec.shape));
  const std::optional<size_t> counter = counter_of(model);
  const ops::Id draws = counter ? weights[*counter] : e.state("draws", DType::i64, {});
  const Lowered lowered = lower(e, model, weights, draws, {options.training, options.states});
  const std::vector<Symbol> &outputs = lowered.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    e.output(outputs[i].value);
    in.output_names.push_back(model.output_name(i));
    in.masked.push_back(outputs[i].mask != ops::none);
  }
  in.states = lowered.carried.size();
  for (const Carried &c : lowered.carried) {
    e.output(c.after);
    in.output_names.push_back(c.name);
  }
  if (!options.gradients.empty()) add_gradients(e, model, options, weights, outputs, in);
  for (size_t i = 0; model.assigns() && i < weights.size(); ++i) {
    in.written.push_back(lowered.writes[i] != ops::none);
    if (in.written.back()) e.write(weights[i], lowered.writes[i]);
  }
  const bool drawn = uses(in.program)[draws] > 0;
  if (counter && drawn) {
    e.write(draws, add(e, draws, e.scalar(1, DType::i64)));
    in.written[*counter] = true;
  }
  in.counts = !counter && drawn;
  if (!counter && !drawn) in.program.states.pop_back();
  return in;
}

namespace {

// A step's scope for messages; inside a layer, that layer: layer "a" (Conv1D).
std::string who(const Graph &g, const std::string &scope) {
  for (const Layer &l : g.layers())
    if (l.kind && (l.name == scope || scope.starts_with(l.name + "/")))
      return text("layer \"", l.name, "\" (", l.kind->entry().name, ')');
  return ops::who(scope);
}

void add_tick(Pinned &p, const Model &model, const InferenceOptions &options) {
  p.why_no_tick = !options.states              ? "it was made with neither \"streamable\": true nor \"states\": true"
                  : !options.gradients.empty() ? "the session was made with \"gradients\""
                  : options.training           ? "the session was made with \"training\": true"
                                               : "";
  if (!p.why_no_tick.empty()) return;
  try {
    p.tick = plan::tick_of(p.in.program, p.in.states, options.cache,
                           [&](const std::string &scope) { return who(model.graph(), scope); });
  } catch (const Error &error) {
    if (error.code != Code::unsupported) throw;
    p.why_no_tick = error.what();
  }
}

}  // namespace

Pinned pinned(const Model &model, const InferenceOptions &options, const std::vector<std::string> &passes_off) {
  Pinned p{inference(model, options), {}, std::nullopt, {}, std::nullopt, {}};
  const bool assigns = !p.in.written.empty();
  if (assigns)
    for (const auto &w : model.held()) p.states.push_back(w->value());
  else
    p.states = model.pin();
  if (p.in.counts) {
    p.run_counter = p.states.size();
    p.states.push_back(make_zeros(DType::i64, {}));
  }
  if (options.gradients.empty() && !assigns) plan::fold_weights(p.in.program, p.states, passes_off);
  const size_t inputs = model.inputs().size(), outputs = model.outputs().size();
  for (size_t i = 0; i < p.in.states; ++i) p.alike.emplace_back(inputs + i, outputs + i);
  for (size_t i = 0; i < p.in.cotangent_of.size(); ++i)
    p.alike.emplace_back(inputs + p.in.states + i, p.in.cotangent_of[i]);
  add_tick(p, model, options);
  return p;
}

std::optional<std::vector<Tensor>> evaluated(const Model &model, int64_t most_bytes) {
  FlushToZero flush;  // as in a run
  Inference in = inference(model);
  ops::Program &p = in.program;
  if (in.counts || model.assigns()) return {};
  const std::vector<Tensor> held = model.pin();
  for (size_t i = 0; i < held.size(); ++i) {
    p[p.states[i]].role = ops::Role::constant;
    p[p.states[i]].data = held[i];
  }
  for (const ops::Step &step : p.steps) {
    const std::vector<ops::Operand> now = step.op->infer(ops::operands(p, step.src));  // all sizes are known here
    for (size_t i = 0; i < now.size(); ++i) p[step.dst[i]].shape = now[i].shape;
    if (!plan::fold(p, step, most_bytes)) return {};
  }
  std::vector<Tensor> out;
  for (ops::Id v : p.outputs) out.push_back(p[v].data);
  return out;
}

}  // namespace dl4::graph

namespace dl4::kinds {
using graph::Draws;
DL4_KINDS(draws, Draws)
}  // namespace dl4::kinds
