// LSTM: long short-term memory, gate order i f c o.
#include "kinds/layers/core/masks.hpp"
#include "kinds/layers/recurrent/recurrent.hpp"

namespace dl4::kinds {
namespace {

struct LstmCell : CellAttributes {
  static constexpr int64_t gates = 4;
  LstmBias bias;

  void fields(Fields &f) { CellAttributes::fields(f, gates), bias.fields(f); }
  void check() const { bias.check(weights); }
  std::vector<Shape> states() const { return {Shape{units}, Shape{units}}; }
  static std::vector<Port> ports() {
    return {{"kernel", "(I, 4 units)"}, {"recurrent_kernel", "(units, 4 units)"}, {"bias", "(4 units)", "use_bias"}};
  }

  // Whether the whole-sequence kernels apply.
  bool is_plain() const {
    return activation.name() == "tanh" && recurrent_activation.name() == "sigmoid" && recurrent_dropout == 0 &&
           (implementation == 2 || dropout == 0);
  }

  struct Weights {
    ops::Id kernel, recurrent_kernel, bias;
  };
  Weights ask(Call &c) const {
    return {weights.kernel(c, {c.last_dim(), checked_mul(gates, units)}), recurrent_kernel(c, gates),
            bias.ask(c, weights, units)};
  }

  Cell call(Call &c) const {
    const Weights w = ask(c);
    const ops::Id masks = input_masks(c, gates), h_masks = recurrent_masks(c, gates);
    return {states(), [=, this](const Inside &in, ops::Id x, const Ids &states) {
              auto here = [&](ops::Id v) { return v == ops::none ? v : in.constant(v); };
              ops::Emit &e = in.e;
              const Ids from_x = products_by_gate(e, x, here(masks), here(w.kernel), here(w.bias), units, gates);
              const Ids from_h =
                  products_by_gate(e, states[0], here(h_masks), here(w.recurrent_kernel), ops::none, units, gates);
              return lstm_step(e, from_x, from_h, states[1], activation, recurrent_activation);
            }};
  }
};

struct LSTM : RecurrentLayer<LstmCell> {
  static constexpr const char *doc =
      "Long short-term memory over (batch, time, features). Gates in the order i, f, c, o; "
      "c = f * c' + i * activation(z_c), h = o * activation(c). At a masked step the states stay and the output "
      "repeats.";

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    c.as_float(0);
    const ops::Id used = how.mask(c);
    const std::vector<Shape> states = cell.states();
    const Ids first = how.begin(c, states);
    // The output repeated at masked steps may come from the previous call.
    const bool carried = first[0] != ops::none && c.symbols("initial_state").empty();
    if (!cell.is_plain() || (carried && used != ops::none))
      return how.run(c, cell.call(c), cell.weights.activity_regularizer);
    const LstmCell::Weights w = cell.ask(c);
    const ops::Id masks = cell.input_masks(c, LstmCell::gates);
    const ops::Id x = masks == ops::none ? c.x() : ops::mul(c.e, c.x(), ops::expand_dims(c.e, masks, 1));
    auto [y, h, last] =
        ops::lstm(c.e, x, w.kernel, w.recurrent_kernel, w.bias, first[0], first[1], used, how.go_backwards);
    how.end(c, states, {h, last});
    ops::Id out = how.return_sequences ? y : h;
    if (how.zero_output_for_mask && used != ops::none)
      out = zeroed(c, out, used);
    else if (!how.return_sequences && used != ops::none && first[0] != ops::none)  // the output starts at 0, h does not
      out = ops::select(c.e, ops::reduce(c.e, ops::Reduce::max, used, {1}, true), out, c.e.scalar(0));
    c.penalize(cell.weights.activity_regularizer, out);
    std::vector<Symbol> outputs{{out, how.return_sequences ? c.mask() : ops::none}};
    for (ops::Id s : {h, last}) {
      if (!how.return_state) break;
      c.penalize(cell.weights.activity_regularizer, s);
      outputs.push_back({s});
    }
    return outputs;
  }

 private:
  ops::Id zeroed(Call &c, ops::Id out, ops::Id mask) const {
    if (how.return_sequences) return where_valid(c.e, how.go_backwards ? ops::flip(c.e, mask, 1) : mask, out, 0);
    ops::Id last = ops::slice(c.e, mask, 1, how.go_backwards ? 0 : -1, 1);
    return ops::select(c.e, last, out, c.e.scalar(0));
  }
};

struct LSTMCell : OneStep<LstmCell> {
  static constexpr const char *doc = "One step of an LSTM.";
};

}  // namespace
DL4_KINDS(lstm, LSTM, LSTMCell)
}  // namespace dl4::kinds
