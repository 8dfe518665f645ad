// A Program as an op's attribute: its bits, its shapes, and a writer whose body may read the Program around it.
// branch and while: conditional and repeated bodies, and their writers; ensure_size.
#pragma once

#include <map>

#include "ops/op.hpp"

namespace dl4::ops {

// Equal bits mean equal computations.
std::string bits_of(const Program &p);
// The Programs that an op contains.
std::vector<const Program *> bodies(const Op &op);
// Whether any of its steps is volatile.
bool some_volatile(const Program &p);
// Indents the listing of a nested Program.
std::string indented(const std::string &lines);
// Kinds of all its values for these inputs. Refuses inputs that don't fit.
PerValue<Operand> infer_body(const Program &p, Operands inputs);

class BodyWriter {
 public:
  explicit BodyWriter(Emit &around) : body(program_, around), around_(around) {}
  BodyWriter(const BodyWriter &) = delete;
  BodyWriter &operator=(const BodyWriter &) = delete;

  // Makes a value of the enclosing Program available.
  Id constant(Id outside);
  // An additional input.
  Id own(const std::string &name, const Operand &what);

  struct Written {
    std::shared_ptr<const Program> body;
    std::vector<Id> outside;  // by input after its own
  };
  Written written(const std::vector<Id> &outputs);

 private:
  Program program_;

 public:
  Emit body;

 private:
  Emit &around_;
  std::map<Id, Id> constants_;  // by outside value
  std::vector<Id> outside_, own_, seen_;
};

// Runs one of two bodies, selected by a flag. Sources: the flag, then what the bodies read.
struct BranchOp final : NotDifferentiable<BranchOp, "branch"> {
  struct Part {
    std::shared_ptr<const Program> body;
    std::vector<int> src;  // by body input: index of the source
  };
  Part then, otherwise;
  bool own_shapes = false;  // bodies with different shapes: a run cuts the Program here, as at range

  BranchOp(Part then, Part otherwise, bool own_shapes)
      : then(std::move(then)), otherwise(std::move(otherwise)), own_shapes(own_shapes) {}
  void fields(auto &f) const {
    f("then", then.src), f("otherwise", otherwise.src), f("own_shapes", own_shapes);
    if constexpr (requires { f.bits; }) f("", bits_of(*then.body)), f("", bits_of(*otherwise.body));
  }
  // A body that does not fit these shapes is an error only if the flag selects it.
  std::vector<Operand> infer(Operands src) const override;
  bool is_volatile() const override;
};

// Repeats a body: a given number of times, while a flag that it computes is set. Sources: the number of steps, or none;
// the flag before the first step, or none (set); the initial states; what the body reads. Body inputs: the step number
// from 0, the states, the rest. Body outputs: the new states, then the flag, if any. Destinations: the final states.
struct WhileOp final : NotDifferentiable<WhileOp, "while"> {
  int states = 0;
  std::shared_ptr<const Program> body;

  WhileOp(int states, std::shared_ptr<const Program> body) : states(states), body(std::move(body)) {}
  void fields(auto &f) const {
    f("states", states);
    if constexpr (requires { f.bits; }) f("", bits_of(*body));
  }
  std::vector<Operand> infer(Operands src) const override;
  bool is_volatile() const override { return some_volatile(*body); }
  bool makes_flag() const { return body->outputs.size() > static_cast<size_t>(states); }
};

// x itself; refuses if this axis of `of` has another size.
Id ensure_size(Emit &e, Id x, Id of, int axis, int64_t size);

// The values of a branch on a flag, whose bodies are these writers' with these outputs.
std::vector<Id> branch(Emit &e, Id flag, BodyWriter &then, const std::vector<Id> &then_outputs, BodyWriter &otherwise,
                       const std::vector<Id> &other_outputs, bool own_shapes = false);

// Writes a repeated body, and then the step.
class While {
 public:
  explicit While(Emit &e) : writer_(e), e_(e), step_(writer_.own("step", {DType::i64, {}})) {}

  Emit &body() { return writer_.body; }
  Id step() const { return step_; }  // int64 scalar
  Id state(Id at_first);
  Id constant(Id outside) { return writer_.constant(outside); }
  // The final states. steps, on, more: none if absent. Refuses states that change shape.
  std::vector<Id> emit(const std::vector<Id> &next, Id steps, Id on, Id more);

 private:
  BodyWriter writer_;
  Emit &e_;
  Id step_;
  std::vector<Id> first_;
};

}  // namespace dl4::ops
