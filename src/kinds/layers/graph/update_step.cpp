// UpdateStep: an optimizer's update of one weight, as values.
#include <map>

#include "base/error.hpp"
#include "kinds/layers/graph/variables.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

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

  void fields(Fields &f) override { f("optimizer", optimizer).required(R"("SGD")").doc("the optimizer"); }
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
DL4_KINDS(update_step, UpdateStep)
}  // namespace dl4::kinds
