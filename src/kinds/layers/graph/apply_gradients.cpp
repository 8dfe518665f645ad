// ApplyGradients: an optimizer's update of weights by gradients, as a layer of a graph.
#include <map>
#include <set>

#include "base/error.hpp"
#include "kinds/constraint.hpp"
#include "kinds/initializer.hpp"
#include "kinds/layers/graph/variables.hpp"
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

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
    f("optimizer", optimizer).required(R"("SGD")").doc("the optimizer");
    f("exclude_from_weight_decay", undecayed)
        .doc("weights that weight_decay leaves alone: whole names, or parts of the last one, such as \"bias\"");
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

}  // namespace
DL4_KINDS(apply_gradients, ApplyGradients)
}  // namespace dl4::kinds
