// LSTM, GRU and SimpleRNN, and their cells as layers.
#include "kinds/layers/core/masks.hpp"
#include "kinds/layers/recurrent/recurrent.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id;

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

struct GruCell : CellAttributes {
  static constexpr int64_t gates = 3;
  bool reset_after = true;

  void fields(Fields &f) {
    CellAttributes::fields(f, gates);
    f("reset_after", reset_after,
      "whether the reset gate comes after the product with the recurrent kernel; then each product has a bias");
  }

  std::vector<Shape> states() const { return {Shape{units}}; }
  static std::vector<Port> ports() {
    return {{"kernel", "(I, 3 units)"},
            {"recurrent_kernel", "(units, 3 units)"},
            {"bias", "(2, 3 units): of the inputs, of the state; without reset_after (3 units)", "use_bias"}};
  }

  Cell call(Call &c) const {
    const int64_t all = checked_mul(gates, units);
    const Id w = weights.kernel(c, {c.last_dim(), all}), r = recurrent_kernel(c, gates);
    Id b = ops::none, recurrent_b = ops::none;
    if (weights.use_bias) {
      const Shape shape = reset_after ? Shape{2, all} : Shape{all};
      b = c.weight("bias", shape, weights.bias_initializer, weights.bias_regularizer, weights.bias_constraint);
      if (reset_after) {
        const Id both = ops::reshape(c.e, b, 0, {2 * all});
        recurrent_b = ops::view(c.e, both, all, {all});
        b = ops::view(c.e, both, 0, {all});
      }
    }
    const Id masks = input_masks(c, gates), h_masks = recurrent_masks(c, gates);
    return {states(), [=, this](const Inside &in, Id x, const Ids &states) {
              auto here = [&](Id v) { return v == ops::none ? v : in.constant(v); };
              if (is_plain()) {
                const Id from_x = ops::matmul(in.e, masked_for(in.e, x, here(masks), 0), here(w), {}, here(b));
                const Id from_h = ops::matmul(in.e, states[0], here(r), {}, here(recurrent_b));
                const Id h = ops::gru_cell(in.e, from_x, from_h, states[0]);
                return Cell::Step{h, {h}};
              }
              const Ids from_x = products_by_gate(in.e, x, here(masks), here(w), here(b), units, gates);
              const Id h = step(in.e, from_x, states[0], here(r), here(recurrent_b), here(h_masks));
              return Cell::Step{h, {h}};
            }};
  }

 private:
  // Whether one op can do everything but the products.
  bool is_plain() const {
    return reset_after && recurrent_dropout == 0 && (implementation == 2 || dropout == 0) &&
           activation.name() == "tanh" && recurrent_activation.name() == "sigmoid";
  }
  Id step(Emit &e, const Ids &x, Id h, Id r, Id bias, Id masks) const {
    auto gate = [&](Id from_x, Id from_h) { return recurrent_activation(e, ops::add(e, from_x, from_h)); };
    const int64_t with_h = reset_after ? 3 : 2;  // number of gates whose product uses the unmodified h
    Ids parts;
    if (masks == ops::none) {
      const Id inner = ops::matmul(e, h, gate_of(e, r, units, 0, with_h), {}, bias);
      for (int64_t g = 0; g < with_h; ++g) parts.push_back(gate_of(e, inner, units, g));
    } else {
      for (int64_t g = 0; g < with_h; ++g)
        parts.push_back(ops::matmul(e, masked_for(e, h, masks, g), gate_of(e, r, units, g), {},
                                    bias == ops::none ? bias : gate_of(e, bias, units, g)));
    }
    const Id z = gate(x[0], parts[0]), reset = gate(x[1], parts[1]);
    const Id inner = reset_after
                         ? ops::mul(e, reset, parts[2])
                         : ops::matmul(e, ops::mul(e, reset, masked_for(e, h, masks, 2)), gate_of(e, r, units, 2));
    const Id candidate = activation(e, ops::add(e, x[2], inner));
    return ops::add(e, candidate, ops::mul(e, z, ops::sub(e, h, candidate)));
  }
};

struct GRU : RecurrentLayer<GruCell> {
  static constexpr const char *doc =
      "Gated recurrent units over (batch, time, features). Gates in the order z, r, h; "
      "h = z * h' + (1 - z) * candidate. At a masked step the state stays and the output repeats.";
};
struct GRUCell : OneStep<GruCell> {
  static constexpr const char *doc = "One step of a GRU.";
};

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

DL4_KINDS(cells, LSTM, LSTMCell, GRU, GRUCell, SimpleRNN, SimpleRNNCell)

}  // namespace dl4::kinds
