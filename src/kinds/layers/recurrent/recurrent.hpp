// Shared by recurrent layers: a cell that computes one step, and its run over the steps of a sequence.
#pragma once

#include "kinds/layers/core/quantization.hpp"

namespace dl4::kinds {

using Ids = std::vector<ops::Id>;

// Where a step is emitted: in a scan's body or in the Program itself.
struct Inside {
  ops::Emit &e;
  std::function<ops::Id(ops::Id)> constant;  // makes a value available that is the same at every step
};

// A cell after its call: its weights and dropout masks exist.
struct Cell {
  struct Step {
    ops::Id output;
    Ids states;
  };
  std::vector<Shape> states;  // per sequence
  std::function<Step(const Inside &, ops::Id x, const Ids &states)> step;
};

// A layer that is a cell: from x, the `states` and the `constants` to the output and the new states.
class CellLayer : public Layer {
 public:
  virtual std::vector<Shape> states() const = 0;  // per sequence
  virtual size_t constants() const { return 0; }  // number of constants
  virtual int rank() const { return 2; }          // of x
  std::vector<Symbol> call(Call &c) const final;

 protected:
  virtual Cell begin(Call &c) const = 0;
};
// The same as facts.
Facts facts_of_cell(const std::string &states, std::vector<Port> weights);
inline constexpr CallArgument constants_argument{
    "constants", "tensors", "the same at every step, in the order of the cell's inputs: of a GraphCell"};
// Description of the states for facts: h, or h and c; step: their axes after the batch.
std::string told(size_t states, const std::string &step);

// States passed as `key`, in order, or none; refuses states that don't fit.
Ids given_states(Call &c, const char *key, const std::vector<Shape> &states);

// How a cell is run over (B, T, ...).
struct Sequencing {
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false, unroll = false;
  bool zero_output_for_mask = false;

  void fields(Fields &f);
  // The mask for the steps. As in Keras, a carried mask is used only in a call without other tensors.
  ops::Id mask(Call &c) const;
  // The initial states: passed, or from the previous call; none: zeros.
  Ids begin(Call &c, const std::vector<Shape> &states) const;
  // Stores the final states for the next call.
  void end(Call &c, const std::vector<Shape> &states, const Ids &last) const;
  std::vector<Symbol> run(Call &c, const Cell &cell, const Of<Regularizer> &activity) const;
};

// Facts of layers that run a cell: mask rule, and states that are h, or h and c.
inline constexpr const char *mask_of_run =
    "used, but with initial_state, as in Keras, only one that is given; passed on with return_sequences";
inline constexpr CallArgument mask_argument{"mask", "tensor", "(B, T) bool: the steps to take"};
Facts facts_of_run(const char *x, const std::string &step, size_t states, std::vector<Port> weights);

// Attributes of all of Keras's cells, including convolutional ones.
struct Recurrence {
  Activation activation = Activation::parse("tanh"), recurrent_activation = Activation::parse("sigmoid");
  Of<Initializer> recurrent_initializer = parse<Initializer>("Orthogonal");
  Of<Regularizer> recurrent_regularizer;
  Of<Constraint> recurrent_constraint;
  double dropout = 0, recurrent_dropout = 0;
  std::optional<int64_t> seed;
  KernelAndBias weights;

  // gates: number of gates side by side in the weights; with one gate there is no recurrent activation.
  void fields(Fields &f, int64_t gates);
  ops::Id recurrent_kernel(Call &c, const Shape &shape) const;
};

// Attributes of cells with matrix products.
struct CellAttributes : Recurrence {
  int64_t units = 0, implementation = 2;

  void fields(Fields &f, int64_t gates);
  bool drops_by_gate() const { return implementation == 1 || recurrent_dropout != 0; }
  ops::Id recurrent_kernel(Call &c, int64_t gates) const;
  // Masks (B, size) or, by gate, (B, gates * size); none if nothing is dropped.
  ops::Id input_masks(Call &c, int64_t gates) const;
  ops::Id recurrent_masks(Call &c, int64_t gates) const;
  void check() const {}
};

// The bias of an LSTM; the forget gate's may start at 1.
struct LstmBias {
  bool unit_forget = true;

  void fields(Fields &f);
  void check(const KernelAndBias &weights) const;
  ops::Id ask(Call &c, const KernelAndBias &weights, int64_t units) const;  // none without use_bias
};

// A step from the pre-activations of gates i f c o by input and state, and the previous cell state.
Cell::Step lstm_step(ops::Emit &e, const Ids &from_x, const Ids &from_h, ops::Id c, const Activation &activation,
                     const Activation &recurrent_activation);
// Gates [gate, gate + count) of a value with gates of `units` side by side on its last axis.
ops::Id gate_of(ops::Emit &e, ops::Id v, int64_t units, int64_t gate, int64_t count = 1);
// x as a gate reads it: multiplied by its mask, if any.
ops::Id masked_for(ops::Emit &e, ops::Id x, ops::Id masks, int64_t gate);
// By gate: x times its kernel columns plus its bias. A single product without masks by gate.
Ids products_by_gate(ops::Emit &e, ops::Id x, ops::Id masks, ops::Id kernel, ops::Id bias, int64_t units,
                     int64_t gates);

// The layer that runs a Cell with CellAttributes.
template <class C>
struct RecurrentLayer : Layer {
  C cell;
  Sequencing how;

  void fields(Fields &f) override {
    cell.fields(f);
    how.fields(f);
    if (C::gates > 1)
      f("implementation", cell.implementation,
        "1: each gate has a dropout mask of its own; no other effect on the result")
          .within(1, 2);
  }
  void check() override { cell.check(); }
  Facts facts() const override { return facts_of_run("(B, T, I)", "units", cell.states().size(), C::ports()); }
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    c.as_float(0);
    return how.run(c, cell.call(c), cell.weights.activity_regularizer);
  }
};

// A Cell with CellAttributes as a layer.
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
