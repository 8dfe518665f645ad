// SimpleRNN: a recurrent layer without gates.
#include "kinds/layers/recurrent.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct SimpleCell : CellAttributes {
  void fields(Fields &f) { CellAttributes::fields(f, 1); }

  Cell call(Call &c) const {
    const Id w = weights.kernel(c, {c.last_dim(), units}), r = recurrent_kernel(c, 1), b = weights.bias(c, units);
    const Id masks = input_masks(c, 1), h_masks = recurrent_masks(c, 1);
    return {{Shape{units}}, [=, this](const Inside &in, Id x, const Ids &states) {
              auto here = [&](Id v) { return v == ops::none ? v : in.constant(v); };
              const Id from_x = ops::matmul(in.e, masked_for(in.e, x, here(masks), 0), here(w), {}, here(b));
              const Id from_h = ops::matmul(in.e, masked_for(in.e, states[0], here(h_masks), 0), here(r));
              const Id h = activation(in.e, ops::add(in.e, from_x, from_h));
              return Cell::Step{h, {h}};
            }};
  }
};

struct SimpleRNN : Layer {
  static constexpr const char *name = "SimpleRNN";
  static constexpr const char *doc =
      "Recurrence over (batch, time, features): h = activation(x kernel + h' recurrent_kernel + bias). At a masked "
      "step "
      "the state stays and the output repeats. Its activity_regularizer, which Keras 3.15.1 loses, is a "
      "penalty.";
  SimpleCell cell;
  Sequencing how;

  void fields(Fields &f) override {
    cell.fields(f);
    how.fields(f);
  }
  Facts facts() const override {
    return {
        .inputs = {{"x", "(B, T, I)"}},
        .outputs = {{"y", "(B, units), with return_sequences (B, T, units)"}, {"h", "(B, units)", "return_state"}},
        .weights = {{"kernel", "(I, units)"}, {"recurrent_kernel", "(units, units)"}, {"bias", "(units)", "use_bias"}},
        .arguments = {{"mask", "tensor", "(B, T) bool: the steps to take"},
                      {"initial_state", "tensors", "h, (B, units); zeros by default"}},
        .mask =
            "used, but with initial_state, as in Keras, only one that is given; passed on with "
            "return_sequences"};
  }
  bool by_step(int) const override { return !how.go_backwards; }
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    c.need_float(0);
    return how.run(c, cell.call(c), cell.weights.activity_regularizer);
  }
};

struct SimpleRNNCell : CellLayer {
  static constexpr const char *name = "SimpleRNNCell";
  static constexpr const char *doc = "One step of a SimpleRNN.";
  SimpleCell cell;

  void fields(Fields &f) override { cell.fields(f), f.drop("activity_regularizer"); }
  Facts facts() const override {
    return facts_of_cell(
        "h, (B, units)",
        {{"kernel", "(I, units)"}, {"recurrent_kernel", "(units, units)"}, {"bias", "(units)", "use_bias"}});
  }
  std::vector<Shape> states() const override { return {Shape{cell.units}}; }

 protected:
  Cell begin(Call &c) const override { return cell.call(c); }
};

}  // namespace
DL4_KIND(SimpleRNN)
DL4_KIND(SimpleRNNCell)
}  // namespace dl4::kinds
