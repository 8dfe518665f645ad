// What recurrent layers have in common: a cell that does one step, and its run over the steps of a sequence.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kinds/layers/core/weights.hpp"

namespace dl4::kinds {

using Ids = std::vector<ops::Id>;

// Where a step is written: in the body of a scan, or in the Program itself.
struct Inside {
  ops::Emit &e;
  std::function<ops::Id(ops::Id)> constant;  // a value that is the same at every step
};

// A cell that has been called: its weights and the masks of its dropout are there.
struct Cell {
  struct Step {
    ops::Id output;
    Ids states;
  };
  std::vector<Shape> states;  // of one sequence
  std::function<Step(const Inside &, ops::Id x, const Ids &states)> step;
};

// A layer that is a cell: of x, the `states` and the `constants`, the output and the new states.
class CellLayer : public Layer {
 public:
  virtual std::vector<Shape> states() const = 0;  // of one sequence
  virtual size_t constants() const { return 0; }  // how many it reads
  virtual int rank() const { return 2; }          // of x
  std::vector<Symbol> call(Call &c) const final;

 protected:
  virtual Cell begin(Call &c) const = 0;
};
// The same as facts.
Facts facts_of_cell(const std::string &states, std::vector<Port> weights);
inline constexpr CallArgument constants_argument{
    "constants", "tensors", "the same at every step, in the order of the cell's inputs: of a GraphCell"};
// h, or h and c, as facts tell of them; step: their axes behind the batch.
std::string told(size_t states, const std::string &step);

// Tensors given as `key`, or none; refuses what does not fit the states, in whose order they stand.
Ids given_states(Call &c, const char *key, const std::vector<Shape> &states);

// How a cell is run over (B, T, ...).
struct Sequencing {
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false, unroll = false;
  bool zero_output_for_mask = false;

  void fields(Fields &f);
  // The mask that the steps obey: as in Keras a carried one reaches only a call with no other tensor.
  ops::Id mask(Call &c) const;
  // The states before the first step: given, or carried from the call before; none: zeros.
  Ids begin(Call &c, const std::vector<Shape> &states) const;
  // The states after the last step, to be carried to the next call.
  void end(Call &c, const std::vector<Shape> &states, const Ids &last) const;
  std::vector<Symbol> run(Call &c, const Cell &cell, const Of<Regularizer> &activity) const;
};

// Of the layers that run a cell: the words for their masks; the facts of those whose states are h, or h and c.
inline constexpr const char *mask_of_run =
    "used, but with initial_state, as in Keras, only one that is given; passed on with return_sequences";
inline constexpr CallArgument mask_argument{"mask", "tensor", "(B, T) bool: the steps to take"};
Facts facts_of_run(const char *x, const std::string &step, size_t states, std::vector<Port> weights);

// What Keras's cells have in common, those of convolutions too.
struct Recurrence {
  Activation activation = Activation::parse("tanh"), recurrent_activation = Activation::parse("sigmoid");
  Of<Initializer> recurrent_initializer = parse<Initializer>("Orthogonal");
  Of<Regularizer> recurrent_regularizer;
  Of<Constraint> recurrent_constraint;
  double dropout = 0, recurrent_dropout = 0;
  std::optional<int64_t> seed;
  KernelAndBias weights;

  // gates: how many stand beside each other in the weights; one has no activation of its own.
  void fields(Fields &f, int64_t gates);
  ops::Id recurrent_kernel(Call &c, const Shape &shape) const;
};

// The attributes of those whose products are with matrices.
struct CellAttributes : Recurrence {
  int64_t units = 0, implementation = 2;

  void fields(Fields &f, int64_t gates);
  bool drops_by_gate() const { return implementation == 1 || recurrent_dropout != 0; }
  ops::Id recurrent_kernel(Call &c, int64_t gates) const;
  // Masks (B, size) or, by gate, (B, gates * size); none where nothing is dropped.
  ops::Id input_masks(Call &c, int64_t gates) const;
  ops::Id recurrent_masks(Call &c, int64_t gates) const;
  void check() const {}
};

// The bias of an LSTM; that of the forget gate may start at 1.
struct LstmBias {
  bool unit_forget = true;

  void fields(Fields &f);
  void check(const KernelAndBias &weights) const;
  ops::Id ask(Call &c, const KernelAndBias &weights, int64_t units) const;  // none without use_bias
};

// From what the gates i f c o get by the input and by the state, and the cell state before.
Cell::Step lstm_step(ops::Emit &e, const Ids &from_x, const Ids &from_h, ops::Id c, const Activation &activation,
                     const Activation &recurrent_activation);
// Gate number `gate`, or more from there on, of what has those of `units` side by side in its last axis.
ops::Id gate_of(ops::Emit &e, ops::Id v, int64_t units, int64_t gate, int64_t count = 1);
// x as each gate sees it: times its mask where there is one.
ops::Id masked_for(ops::Emit &e, ops::Id x, ops::Id masks, int64_t gate);
// By gate: x times its columns of the kernel, plus its part of the bias. What has no mask by gate is one product.
Ids products_by_gate(ops::Emit &e, ops::Id x, ops::Id masks, ops::Id kernel, ops::Id bias, int64_t units,
                     int64_t gates);

// The layer that runs a Cell of CellAttributes.
template <class C>
struct RecurrentLayer : Layer {
  C cell;
  Sequencing how;

  void fields(Fields &f) override {
    cell.fields(f);
    how.fields(f);
    if (C::gates > 1)
      f("implementation", cell.implementation)
          .at_least(1)
          .at_most(2)
          .doc("1: each gate has a dropout mask of its own; no other effect on the result");
  }
  void check() override { cell.check(); }
  Facts facts() const override { return facts_of_run("(B, T, I)", "units", cell.states().size(), C::ports()); }
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    c.as_float(0);
    return how.run(c, cell.call(c), cell.weights.activity_regularizer);
  }
};

// A Cell of CellAttributes as a layer.
template <class C>
struct OneStep : CellLayer {
  C cell;

  void fields(Fields &f) override { cell.fields(f), f.drop("activity_regularizer"); }
  void check() override { cell.check(); }
  Facts facts() const override { return facts_of_cell(told(cell.states().size(), "units"), C::ports()); }
  std::vector<Shape> states() const override { return cell.states(); }

 protected:
  Cell begin(Call &c) const override { return cell.call(c); }
};

}  // namespace dl4::kinds
