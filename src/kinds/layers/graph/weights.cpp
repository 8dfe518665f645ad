// GetWeight and Assign: read and set weights of the graph's layers. Gradients: derivatives of its values, as values.
// ApplyGradients, UpdateStep: the updates of an optimizer, to weights or as values.
#include <set>

#include "kinds/layer.hpp"
#include "kinds/optimizer.hpp"
#include "ops/differentiate.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

// The weight that input i is; refuses other values.
Variable need_variable(Call &c, int i);
// Refuses an input unlike the weight in type or shape.
void need_like(const Call &c, int i, const Variable &v);

// A layer's optimizer; refuses null.
const Optimizer &needed(const Of<Optimizer> &optimizer);
// Refuses the settings of an optimizer that only trainers act on: keys, and whether they are set.
void refuse_of_trainers(std::initializer_list<std::pair<const char *, bool>> settings);

struct GetWeight : LayerOf<GetWeight> {
  static constexpr const char *doc =
      "A weight of a layer of the graph as a value: called on nothing. It is what the weight holds where the call "
      "stands among those that assign it, in the order in which they were added.";
  std::string weight;

  void fields(Fields &f) override {
    f("weight", weight, "its name: \"<layer>/<weight>\", of a layer that has been called")
        .required(R"("dense/kernel")");
  }
  static constexpr PlainFacts plain{.inputs = {}, .outputs = {{"value", "(shape)"}}};
  Arity arity() const override { return {0, 0}; }
  std::vector<Symbol> call(Call &c) const override { return {{c.host.graph_weight(weight)}}; }
};

struct Assign : LayerOf<Assign> {
  static constexpr const char *doc =
      "Sets a weight: calls that were added later read the new value, and after the run it is that of every model "
      "that has the weight. Its output is the new value. No gradient passes.";
  enum class How { assign, add, subtract } how = How::assign;

  void fields(Fields &f) override {
    f("operation", how, {"assign", "assign_add", "assign_sub"},
      "the value takes the weight's place, is added to it or subtracted from it");
  }
  static constexpr PlainFacts plain{.inputs = {{"weight", "(...), of a layer Weight or GetWeight"}, {"value", "(...)"}},
                                    .outputs = {{"value", "(...)"}}};
  Arity arity() const override { return {2, 2}; }
  bool assigns() const override { return true; }

  std::vector<Symbol> call(Call &c) const override {
    need_like(c, 1, need_variable(c, 0));
    const std::vector<ops::Id> values = c.host.values_of(0);
    ops::Id value = c.x(1);
    if (how != How::assign) value = how == How::add ? add(c.e, values.back(), value) : sub(c.e, values.back(), value);
    c.host.assign(0, value);
    return {{value}};
  }
};

struct After : LayerOf<After> {
  static constexpr const char *doc =
      "x as it is, in a model that computes the other inputs too: so a model makes assignments that none of its "
      "outputs reads.";

  static constexpr PlainFacts plain{
      .inputs = {{"x", "(...)"}, {"others", "(...), any number"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  Arity arity() const override { return {1, any_number}; }
  std::vector<Symbol> call(Call &c) const override { return {{c.x(), c.mask()}}; }
};

struct Gradients : LayerOf<Gradients> {
  static constexpr const char *doc =
      "The gradients of targets by other values: called on the targets, then on what to differentiate by. Of several "
      "targets the gradients add up. Gradients may be differentiated again.";
  enum class Unconnected { zeros, refused } unconnected = Unconnected::zeros;
  int64_t targets = 1;
  bool sum = false;

  void fields(Fields &f) override {
    f("targets", targets, "how many of the inputs are targets").within(1, max_dim);
    f("sum", sum, "a target that is not a single number counts as the sum of its elements; else it is refused")
        .example("true");
    f("unconnected", unconnected, {"zeros", "refused"}, "by what no target depends on: zeros, or a refusal");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"targets", "(), with output_gradients or sum (...)"}, {"by", "(...), any number"}},
      .outputs = {{"gradients", "(...), one for each value to differentiate by"}},
      .arguments = {
          {"output_gradients", "tensors", "of each target the gradient by it of what is differentiated; null is 1"}}};
  Arity arity() const override { return {2, any_number}; }

  std::vector<Symbol> call(Call &c) const override {
    const auto n = static_cast<int>(c.in.size()), first = static_cast<int>(std::min<int64_t>(targets, n));
    if (first == n) fail(Code::invalid_argument, "expected inputs behind the ", targets, " targets, got ", n);
    std::vector<ops::Cotangent> from;
    for (int i = 0; i < first; ++i) from.push_back({c.x(i), output_gradient(c, i)});
    std::vector<Id> by;
    std::vector<size_t> ends;
    for (int i = first; i < n; ++i) {
      c.need_float(i);
      std::vector<Id> values = c.host.values_of(i);
      if (values.empty()) values = {c.x(i)};
      by.insert(by.end(), values.begin(), values.end());
      ends.push_back(by.size());
    }
    const std::vector<Id> found = ops::differentiate(c.e, from, by);
    std::vector<Symbol> gradients;
    size_t at = 0;
    for (size_t end : ends) {
      Id all = ops::none;
      for (; at < end; ++at)
        if (found[at] != ops::none) all = all == ops::none ? found[at] : add(c.e, all, found[at]);
      gradients.push_back({all != ops::none ? all : nothing(c, first + static_cast<int>(gradients.size()))});
    }
    return gradients;
  }

 private:
  Id output_gradient(Call &c, int i) const {
    c.need_float(i);
    const auto given = c.symbols("output_gradients");
    if (!given.empty() && std::ssize(given) != targets)
      fail(Code::invalid_argument, "\"output_gradients\": expected ", targets, ", one for each target, got ",
           given.size());
    const Id g = given.empty() ? ops::none : given[static_cast<size_t>(i)].value;
    if (g != ops::none) {
      if (c.e.dtype(g) != DType::f32 || !compatible(c.e.shape(g), c.shape(i)))
        fail(Code::shape_mismatch, "\"output_gradients\": expected float32 ", c.shape(i), " for target ", i, ", got ",
             c.e.dtype(g), ' ', c.e.shape(g));
      return g;
    }
    if (c.shape(i).rank() == 0) return c.e.scalar(1);
    if (sum) return ops::fill(c.e, DType::f32, 1, c.x(i), c.shape(i).rank(), {});
    fail(Code::shape_mismatch, "target ", i,
         ": expected a single number, output_gradients or \"sum\": true, got shape ", c.shape(i));
  }

  Id nothing(Call &c, int i) const {
    if (unconnected == Unconnected::refused)
      fail(Code::invalid_argument, "no target depends on input ", i, ", by which it is to be differentiated");
    return ops::fill(c.e, DType::f32, 0, c.x(i), c.shape(i).rank(), {});
  }
};

const Optimizer &needed(const Of<Optimizer> &optimizer) {
  if (!optimizer) refuse_attribute("optimizer", "expected an optimizer, got null");
  return *optimizer;
}

void refuse_of_trainers(std::initializer_list<std::pair<const char *, bool>> settings) {
  for (const auto &[key, is_set] : settings)
    if (is_set) unsupported_attribute("optimizer", "\"", key, "\" is for trainers; a graph computes such values");
}

Variable need_variable(Call &c, int i) {
  if (auto v = c.host.variable(i)) return *std::move(v);
  fail(Code::invalid_argument, "input ", i,
       ": expected a weight, the output of a layer Weight or GetWeight, got another value");
}

void need_like(const Call &c, int i, const Variable &v) {
  const DType dtype = c.e.dtype(c.x(i));
  if (dtype != v.spec.dtype || c.shape(i) != v.spec.shape)
    fail(Code::shape_mismatch, "input ", i, ": expected ", v.spec.dtype, ' ', v.spec.shape, " for weight \"", v.name,
         "\", got ", dtype, ' ', c.shape(i));
}

Of<Initializer> constant(double v) {
  return parse<Initializer>({{"class_name", "Constant"}, {"config", {{"value", v}}}});
}

// The slots as weights of the layer. An optimizer reads slots as before the update, whichever weight is being updated.
class SlotWeights final : public Slots {
 public:
  explicit SlotWeights(Call &c) : c_(c), first_write_(c.e.program.writes.size()) {}

  // Later calls are for this weight.
  void begin(const Variable &v) { variable_ = &v; }
  Id block(const std::string &name, float start) override {
    return flat(text(name, '/', variable_->name), variable_->spec.shape, start);
  }
  Id number(const std::string &name, float start) override { return slot(name, {}, start); }
  Id of(const Part &part, const std::string &name, const Shape &shape) override {
    return slot(text(name, '/', part.name), shape, 0);
  }
  // Writes the optimizer's new values to the weights.
  void finish() {
    auto &writes = c_.e.program.writes;
    for (size_t i = first_write_; i < writes.size(); ++i) {
      const Slot &slot = slots_.at(names_.at(writes[i].state));
      next_[names_.at(writes[i].state)] = ops::reshape(c_.e, writes[i].value, 0, slot.shape);
    }
    writes.resize(first_write_);
    for (const auto &[name, value] : next_) c_.host.write(name, value);
  }

 private:
  struct Slot {
    Id value;
    Shape shape;
  };
  Id slot(const std::string &name, const Shape &shape, float start) {
    auto it = slots_.find(name);
    if (it == slots_.end()) {
      const Id value = c_.host.weight({.name = name,
                                       .shape = shape,
                                       .initializer = constant(static_cast<double>(start)),
                                       .regularizer = nullptr,
                                       .constraint = nullptr,
                                       .trainable = false});
      it = slots_.emplace(name, Slot{value, shape}).first;
    }
    names_[it->second.value] = name;
    return it->second.value;
  }
  Id flat(const std::string &name, const Shape &shape, float start) {
    const Id value = ops::reshape(c_.e, slot(name, shape, start), 0, Shape{shape.elements()});
    names_[value] = name;
    return value;
  }

  Call &c_;
  const size_t first_write_;
  const Variable *variable_ = nullptr;
  std::map<std::string, Slot> slots_;
  std::map<Id, std::string> names_;
  std::map<std::string, Id> next_;
};

struct ApplyGradients : LayerOf<ApplyGradients> {
  static constexpr const char *doc =
      "One update of an optimizer: called on weights, then on as many gradients, it assigns the weights. Slots, "
      "iterations and, without that argument, the learning rate are weights of the layer. Its output is the number of "
      "updates so far. Averages of weights and the accumulation of gradients are left to graphs.";
  Of<Optimizer> optimizer;
  std::vector<std::string> undecayed;

  void fields(Fields &f) override {
    f("optimizer", optimizer, "the optimizer").required(R"("SGD")");
    f("exclude_from_weight_decay", undecayed,
      "weights that weight_decay leaves alone: whole names, or parts of the last one, such as \"bias\"");
  }
  void check() override {
    const Optimizer &o = needed(optimizer);
    refuse_of_trainers(
        {{"use_ema", o.use_ema}, {"gradient_accumulation_steps", o.gradient_accumulation_steps.value_or(0) != 0}});
  }
  static constexpr PlainFacts plain{.inputs = {{"weights", "(...), any number"}, {"gradients", "(...), as many"}},
                                    .outputs = {{"iterations", "() int64"}},
                                    .weights = {{"iterations", "() int64"},
                                                {"learning_rate", "()", "learning_rate"},
                                                {"slots", "as the weights, under <slot>/<weight>"}},
                                    .arguments = {{"learning_rate", "tensor", "(): instead of the optimizer's"}}};
  Arity arity() const override { return {2, any_number}; }
  bool assigns() const override { return true; }

  std::vector<Symbol> call(Call &c) const override {
    ops::Emit &e = c.e;
    const std::vector<Variable> variables = variables_of(c);
    const auto n = static_cast<int>(variables.size());
    std::vector<Id> gradients;
    for (int i = 0; i < n; ++i) {
      need_like(c, n + i, variables[static_cast<size_t>(i)]);
      gradients.push_back(c.x(n + i));
      if (const auto factor = optimizer->loss_scale_factor) gradients.back() = div(e, c.x(n + i), e.scalar(*factor));
    }
    gradients = clip(e, *optimizer, std::move(gradients));
    const Id rate = learning_rate(c), t = next_iteration(c);
    SlotWeights slots(c);
    for (int i = 0; i < n; ++i) {
      const Variable &v = variables[static_cast<size_t>(i)];
      slots.begin(v);
      c.host.assign(i, updated(c, v, {c.host.values_of(i).back(), gradients[static_cast<size_t>(i)]}, rate, t, slots));
    }
    slots.finish();
    return {{t}};
  }

 private:
  std::vector<Variable> variables_of(Call &c) const {
    if (c.in.size() % 2)
      fail(Code::invalid_argument, "expected as many gradients as weights, got ", c.in.size(), " inputs");
    std::vector<Variable> list;
    std::set<std::string> names;
    for (int i = 0; i < static_cast<int>(c.in.size() / 2); ++i) {
      list.push_back(need_variable(c, i));
      const Variable &v = list.back();
      if (v.spec.dtype != DType::f32)
        fail(Code::invalid_argument, "weight \"", v.name, "\": expected float32, got ", v.spec.dtype);
      if (!names.insert(v.name).second) fail(Code::invalid_argument, "weight \"", v.name, "\" stands twice");
    }
    for (const std::string &word : undecayed)
      if (std::none_of(list.begin(), list.end(), [&](const Variable &v) { return excludes(word, v.name); }))
        refuse_attribute("exclude_from_weight_decay", "none of the weights is meant by \"", word, '"');
    return list;
  }

  Id learning_rate(Call &c) const {
    if (const auto given = c.symbols("learning_rate"); !given.empty() && given[0].value != ops::none) {
      const Id rate = given[0].value;
      if (given.size() != 1 || c.e.dtype(rate) != DType::f32 || c.e.rank(rate) != 0)
        fail(Code::shape_mismatch, "\"learning_rate\": expected one float32 number, got ", c.e.dtype(rate), ' ',
             c.e.shape(rate));
      return rate;
    }
    if (optimizer->learning_rate.schedule)
      unsupported_attribute("optimizer", "a graph does not follow ", optimizer->learning_rate.schedule->entry().name,
                            "; give the learning rate as the argument \"learning_rate\"");
    return c.host.weight({.name = "learning_rate",
                          .shape = {},
                          .initializer = constant(optimizer->learning_rate.value),
                          .regularizer = nullptr,
                          .constraint = nullptr,
                          .trainable = false});
  }

  static Id next_iteration(Call &c) {
    const Id done = c.host.weight({.name = "iterations",
                                   .shape = {},
                                   .initializer = constant(0),
                                   .regularizer = nullptr,
                                   .constraint = nullptr,
                                   .trainable = false,
                                   .dtype = DType::i64});
    const Id t = add(c.e, done, c.e.scalar(1, DType::i64));
    c.host.write("iterations", t);
    return t;
  }

  struct At {
    Id weight, gradient;
  };
  Id updated(Call &c, const Variable &v, At at, Id rate, Id t, SlotWeights &slots) const {
    ops::Emit &e = c.e;
    const auto flat = [&](Id x) { return ops::reshape(e, x, 0, Shape{v.spec.shape.elements()}); };
    const bool decays = std::none_of(undecayed.begin(), undecayed.end(),
                                     [&](const std::string &word) { return excludes(word, v.name); });
    const std::vector<Part> part{{v.name, v.spec.shape, 0, decays}};
    Update u{e, flat(at.weight), flat(at.gradient), rate, t, part, slots};
    const Id next = ops::reshape(e, optimizer->update(u), 0, v.spec.shape);
    return v.spec.constraint ? v.spec.constraint->apply(e, next) : next;
  }
};

// The slots as inputs of the layer, by name in the optimizer's order.
class SlotInputs final : public Slots {
 public:
  SlotInputs(Call &c, std::vector<Slot> slots, int first) : c_(c), slots_(std::move(slots)) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      const Slot &s = slots_[i];
      const int at = first + static_cast<int>(i);
      const Shape wanted = s.own.value_or(c.shape(0));
      if (c.e.dtype(c.x(at)) != DType::f32 || c.shape(at) != wanted)
        fail(Code::shape_mismatch, "slot \"", s.name, "\": expected float32 ", wanted, ", got ", c.e.dtype(c.x(at)),
             ' ', c.shape(at));
      const Id value = ops::reshape(c.e, c.x(at), 0, s.own ? wanted : Shape{wanted.elements()});
      before_[s.name] = now_[value] = value;
    }
  }

  Id block(const std::string &name, float) override { return before_.at(name); }
  Id number(const std::string &name, float) override { return before_.at(name); }
  Id of(const Part &, const std::string &name, const Shape &) override { return before_.at(name); }

  // The new values of all, in order. The writes that the optimizer has added since `first_write` are taken back.
  std::vector<Symbol> finish(size_t first_write) {
    auto &writes = c_.e.program.writes;
    for (size_t i = first_write; i < writes.size(); ++i) now_[writes[i].state] = writes[i].value;
    writes.resize(first_write);
    std::vector<Symbol> all;
    for (const Slot &s : slots_)
      all.push_back({ops::reshape(c_.e, now_.at(before_.at(s.name)), 0, s.own.value_or(c_.shape(0)))});
    return all;
  }

 private:
  Call &c_;
  std::vector<Slot> slots_;
  std::map<std::string, Id> before_;
  std::map<Id, Id> now_;
};

struct UpdateStep : LayerOf<UpdateStep> {
  static constexpr const char *doc =
      "One update of an optimizer that assigns nothing: from a weight, its gradient, the learning rate, the number of "
      "updates so far and the optimizer's slots for it, the new weight and the new slots. Weight decay is the "
      "optimizer's; clipping, averages, the scale of losses and the accumulation of gradients are left to graphs.";
  Of<Optimizer> optimizer;

  void fields(Fields &f) override { f("optimizer", optimizer, "the optimizer").required(R"("SGD")"); }
  void check() override {
    const Optimizer &o = needed(optimizer);
    refuse_of_trainers({{"use_ema", o.use_ema},
                        {"gradient_accumulation_steps", o.gradient_accumulation_steps.has_value()},
                        {"clipnorm", o.clipnorm.has_value()},
                        {"clipvalue", o.clipvalue.has_value()},
                        {"global_clipnorm", o.global_clipnorm.has_value()},
                        {"loss_scale_factor", o.loss_scale_factor.has_value()}});
  }
  static constexpr PlainFacts plain{.inputs = {{"weight", "(...)"},
                                               {"gradient", "(...), as the weight"},
                                               {"learning_rate", "()"},
                                               {"iterations", "(), int64: updates so far"},
                                               {"slots", "(...), as the optimizer's, then its numbers"}},
                                    .outputs = {{"weight", "(...)"}, {"slots", "(...), as the inputs"}}};
  Arity arity() const override { return {first_slot, any_number}; }

  std::vector<Symbol> call(Call &c) const override {
    ops::Emit &e = c.e;
    const Shape shape = c.shape(0);
    want(c, 0, "weight", DType::f32, shape);
    want(c, 1, "gradient", DType::f32, shape);
    want(c, 2, "learning rate", DType::f32, {});
    want(c, 3, "number of updates", DType::i64, {});
    if (!shape.known()) fail(Code::shape_mismatch, "expected a weight of known shape, got ", shape);
    const std::vector<Part> part{{"weight", shape, 0, true}};
    const size_t first_write = e.program.writes.size();
    SlotInputs slots(c, slots_of(c, part[0]), first_slot);
    const auto flat = [&](Id x) { return ops::reshape(e, x, 0, Shape{shape.elements()}); };
    const Id t = add(e, c.x(3), e.scalar(1, DType::i64));
    Update u{e, flat(c.x(0)), flat(c.x(1)), c.x(2), t, part, slots};
    std::vector<Symbol> all{{ops::reshape(e, optimizer->update(u), 0, shape)}};
    for (const Symbol &s : slots.finish(first_write)) all.push_back(s);
    return all;
  }

 private:
  static constexpr int first_slot = 4;

  static void want(const Call &c, int i, const char *what, DType t, const Shape &shape) {
    if (c.e.dtype(c.x(i)) != t || c.shape(i) != shape)
      fail(Code::shape_mismatch, what, ": expected ", t, ' ', shape, ", got ", c.e.dtype(c.x(i)), ' ', c.shape(i));
  }

  // Refuses other numbers of inputs.
  std::vector<Slot> slots_of(const Call &c, const Part &part) const {
    std::vector<Slot> list;
    for (const std::vector<Slot> &group : optimizer->slots(part))
      for (const Slot &s : group)
        if (*s.name) list.push_back(s);
    for (Slot s : optimizer->numbers()) {
      s.own = Shape{};
      list.push_back(s);
    }
    if (c.in.size() != first_slot + list.size())
      fail(Code::invalid_argument, optimizer->entry().name, " has ", list.size(), " slots for a weight, got ",
           c.in.size() - first_slot);
    return list;
  }
};

}  // namespace

DL4_KINDS(graph_weights, GetWeight, Assign, After, Gradients, ApplyGradients, UpdateStep)

}  // namespace dl4::kinds
