// SimpleRNN: a recurrent layer without gates.
#include "kinds/layers/recurrent/recurrent.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct SimpleCell : CellAttributes {
  static constexpr int64_t gates = 1;

  void fields(Fields &f) { CellAttributes::fields(f, gates); }
  std::vector<Shape> states() const { return {Shape{units}}; }
  static std::vector<Port> ports() {
    return {{"kernel", "(I, units)"}, {"recurrent_kernel", "(units, units)"}, {"bias", "(units)", "use_bias"}};
  }

  Cell call(Call &c) const {
    const Id w = weights.kernel(c, {c.last_dim(), units}), r = recurrent_kernel(c, gates), b = weights.bias(c, units);
    const Id masks = input_masks(c, gates), h_masks = recurrent_masks(c, gates);
    return {states(), [=, this](const Inside &in, Id x, const Ids &states) {
              auto here = [&](Id v) { return v == ops::none ? v : in.constant(v); };
              const Id from_x = ops::matmul(in.e, masked_for(in.e, x, here(masks), 0), here(w), {}, here(b));
              const Id from_h = ops::matmul(in.e, masked_for(in.e, states[0], here(h_masks), 0), here(r));
              const Id h = activation(in.e, ops::add(in.e, from_x, from_h));
              return Cell::Step{h, {h}};
            }};
  }
};

struct SimpleRNN : RecurrentLayer<SimpleCell> {
  static constexpr const char *doc =
      "Recurrence over (batch, time, features): h = activation(x kernel + h' recurrent_kernel + bias). At a masked "
      "step the state stays and the output repeats. Its activity_regularizer, which Keras 3.15.1 loses, is a penalty.";
};
struct SimpleRNNCell : OneStep<SimpleCell> {
  static constexpr const char *doc = "One step of a SimpleRNN.";
};

}  // namespace
DL4_KINDS(simple_rnn, SimpleRNN, SimpleRNNCell)
}  // namespace dl4::kinds
