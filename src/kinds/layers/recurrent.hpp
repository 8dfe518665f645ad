// What recurrent layers have in common: a cell that does one step, and its run over the steps of a sequence.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kinds/layers/weights.hpp"

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

// A layer that is a cell: of x and the `states`, the output and the new states.
class CellLayer : public Layer {
 public:
  virtual std::vector<Shape> states() const = 0;  // of one sequence
  std::vector<Symbol> call(Call &c) const final;

 protected:
  virtual Cell begin(Call &c) const = 0;
};
// The same as facts.
Facts facts_of_cell(const char *state, std::vector<Port> weights);

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

// The attributes of Keras's three cells.
struct CellAttributes {
  int64_t units = 0, implementation = 2;
  Activation activation = Activation::parse("tanh"), recurrent_activation = Activation::parse("sigmoid");
  Of<Initializer> recurrent_initializer = parse<Initializer>("Orthogonal");
  Of<Regularizer> recurrent_regularizer;
  Of<Constraint> recurrent_constraint;
  double dropout = 0, recurrent_dropout = 0;
  std::optional<int64_t> seed;
  KernelAndBias weights;

  // gates: how many stand beside each other in the weights; one has no activation of its own.
  void fields(Fields &f, int64_t gates);
  bool drops_by_gate() const { return implementation == 1 || recurrent_dropout != 0; }
  ops::Id recurrent_kernel(Call &c, int64_t gates) const;
  // Masks (B, size) or, by gate, (B, gates * size); none where nothing is dropped.
  ops::Id input_masks(Call &c, int64_t gates) const;
  ops::Id recurrent_masks(Call &c, int64_t gates) const;
};

// From what the gates i f c o get by the input and by the state, and the cell state before.
Cell::Step lstm_step(ops::Emit &e, const Ids &from_x, const Ids &from_h, ops::Id c, const Activation &activation,
                     const Activation &recurrent_activation);
// The bias of an LSTM at the start: ones for the forget gate, the other three as their initializer says.
Of<Initializer> with_unit_forget_bias(Of<Initializer> others);
// Gate number `gate`, or more from there on, of what has those of `units` side by side in its last axis.
ops::Id gate_of(ops::Emit &e, ops::Id v, int64_t units, int64_t gate, int64_t count = 1);
// x as each gate sees it: times its mask where there is one.
ops::Id masked_for(ops::Emit &e, ops::Id x, ops::Id masks, int64_t gate);
// By gate: x times its columns of the kernel, plus its part of the bias. What has no mask by gate is one product.
Ids products_by_gate(ops::Emit &e, ops::Id x, ops::Id masks, ops::Id kernel, ops::Id bias, int64_t units,
                     int64_t gates);

}  // namespace dl4::kinds
