// LSTM: long short-term memory, gates i f c o.
#include "kinds/layers/masks.hpp"
#include "kinds/layers/recurrent.hpp"

namespace dl4::kinds {
namespace {

struct LstmCell : CellAttributes {
  static constexpr int64_t gates = 4;
  bool unit_forget_bias = true;

  void fields(Fields &f) {
    CellAttributes::fields(f, gates);
    f("unit_forget_bias", unit_forget_bias).doc("whether the forget gate's bias starts at 1");
  }
  void check() const {
    if (weights.use_bias && unit_forget_bias && !weights.bias_initializer)
      throw Error(Code::invalid_argument,
                  "\"bias_initializer\": expected an initializer with unit_forget_bias, got null")
          .with("attribute", "bias_initializer");
  }

  // Can the kernels for whole sequences do it?
  bool is_plain() const {
    return activation.name() == "tanh" && recurrent_activation.name() == "sigmoid" && recurrent_dropout == 0 &&
           (implementation == 2 || dropout == 0);
  }

  struct Weights {
    ops::Id kernel, recurrent_kernel, bias;
  };
  Weights ask(Call &c) const {
    Weights w{weights.kernel(c, {c.last_dim(), checked_mul(gates, units)}), recurrent_kernel(c, gates), ops::none};
    if (!weights.use_bias) return w;
    Of<Initializer> start = weights.bias_initializer;
    if (unit_forget_bias) start = with_unit_forget_bias(start);
    w.bias = c.weight("bias", {gates * units}, start, weights.bias_regularizer, weights.bias_constraint);
    return w;
  }

  Cell call(Call &c) const {
    const Weights w = ask(c);
    const ops::Id masks = input_masks(c, gates), h_masks = recurrent_masks(c, gates);
    return {{Shape{units}, Shape{units}}, [=, this](const Inside &in, ops::Id x, const Ids &states) {
              auto here = [&](ops::Id v) { return v == ops::none ? v : in.constant(v); };
              ops::Emit &e = in.e;
              const Ids from_x = products_by_gate(e, x, here(masks), here(w.kernel), here(w.bias), units, gates);
              const Ids from_h =
                  products_by_gate(e, states[0], here(h_masks), here(w.recurrent_kernel), ops::none, units, gates);
              return lstm_step(e, from_x, from_h, states[1], activation, recurrent_activation);
            }};
  }
};

struct LSTM : Layer {
  static constexpr const char *name = "LSTM";
  static constexpr const char *doc =
      "Long short-term memory over (batch, time, features). Gates in the order i, f, c, o; "
      "c = f * c' + i * activation(z_c), h = o * activation(c). At a masked step the states stay and the output "
      "repeats.";
  LstmCell cell;
  Sequencing how;

  void fields(Fields &f) override {
    cell.fields(f);
    how.fields(f);
    f("implementation", cell.implementation)
        .at_least(1)
        .at_most(2)
        .doc("1: each gate has a dropout mask of its own; no other effect on the result");
  }
  Facts facts() const override {
    return {.inputs = {{"x", "(B, T, I)"}},
            .outputs = {{"y", "(B, units), with return_sequences (B, T, units)"},
                        {"h", "(B, units)", "return_state"},
                        {"c", "(B, units)", "return_state"}},
            .weights = {{"kernel", "(I, 4 units)"},
                        {"recurrent_kernel", "(units, 4 units)"},
                        {"bias", "(4 units)", "use_bias"}},
            .arguments = {{"mask", "tensor", "(B, T) bool: the steps to take"},
                          {"initial_state", "tensors", "h and c, (B, units) each; zeros by default"}},
            .mask =
                "used, but with initial_state, as in Keras, only one that is given; passed on with "
                "return_sequences"};
  }

  void check() override { cell.check(); }

  bool by_step(int) const override { return !how.go_backwards; }
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    c.need_float(0);
    const ops::Id used = how.mask(c);
    const bool zeroes_back = how.zero_output_for_mask && used != ops::none && how.go_backwards && how.return_sequences;
    const std::vector<Shape> states{Shape{cell.units}, Shape{cell.units}};
    const Ids first = how.begin(c, states);
    // What a masked step repeats may be of the call before.
    const bool carried = first[0] != ops::none && c.symbols("initial_state").empty();
    if (!cell.is_plain() || zeroes_back || (carried && used != ops::none))
      return how.run(c, cell.call(c), cell.weights.activity_regularizer);
    const LstmCell::Weights w = cell.ask(c);
    const ops::Id masks = cell.input_masks(c, LstmCell::gates);
    const ops::Id x = masks == ops::none ? c.x() : ops::mul(c.e, c.x(), ops::expand_dims(c.e, masks, 1));
    auto [y, h, last] =
        ops::lstm(c.e, x, w.kernel, w.recurrent_kernel, w.bias, first[0], first[1], used, how.go_backwards);
    how.end(c, states, {h, last});
    ops::Id out = how.return_sequences ? y : h;
    if (how.zero_output_for_mask && used != ops::none) out = zeroed(c, out, used);
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

struct LSTMCell : CellLayer {
  static constexpr const char *name = "LSTMCell";
  static constexpr const char *doc = "One step of an LSTM.";
  LstmCell cell;

  void fields(Fields &f) override { cell.fields(f), f.drop("activity_regularizer"); }
  void check() override { cell.check(); }
  Facts facts() const override {
    return facts_of_cell(
        "h and c, (B, units) each",
        {{"kernel", "(I, 4 units)"}, {"recurrent_kernel", "(units, 4 units)"}, {"bias", "(4 units)", "use_bias"}});
  }
  std::vector<Shape> states() const override { return {Shape{cell.units}, Shape{cell.units}}; }

 protected:
  Cell begin(Call &c) const override { return cell.call(c); }
};

}  // namespace
DL4_KIND(LSTM)
DL4_KIND(LSTMCell)
}  // namespace dl4::kinds
