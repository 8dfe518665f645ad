// LSTM: long short-term memory, gates i f c o.
#include <algorithm>
#include <cstring>

#include "kinds/layers/dropping.hpp"
#include "kinds/layers/masks.hpp"
#include "kinds/layers/weights.hpp"

namespace dl4::kinds {
namespace {

// The bias at the start: ones for the forget gate, the other three as their initializer says.
class UnitForgetBias final : public Initializer {
 public:
  explicit UnitForgetBias(Of<Initializer> others) : others_(std::move(others)) {}
  bool is_random() const override { return others_->is_random(); }
  void fill(Tensor &t, const Seed &seed) const override {
    int64_t units = t.elements() / 4;
    float *bias = t.as<float>();
    // Two draws from one seed, as Keras makes them: one gate, then two.
    auto draw = [&](int64_t n, float *to) {
      Tensor part = make_tensor(DType::f32, {n});
      others_->fill(part, seed);
      if (n > 0) std::memcpy(to, part.data.get(), static_cast<size_t>(part.bytes()));
    };
    draw(units, bias);
    std::fill(bias + units, bias + 2 * units, 1.0f);
    draw(2 * units, bias + 2 * units);
  }

 private:
  Of<Initializer> others_;
};

struct LSTM : Layer {
  static constexpr const char *name = "LSTM";
  static constexpr const char *doc =
      "Long short-term memory over (batch, time, features). Gates in the order i, f, c, o; "
      "c = f * c' + i * tanh(z_c), h = o * tanh(c). At a masked step the states stay and the output repeats.";
  int64_t units = 0, implementation = 2;
  Activation activation = Activation::parse("tanh"), recurrent_activation = Activation::parse("sigmoid");
  Of<Initializer> recurrent_initializer = parse<Initializer>("Orthogonal");
  Of<Regularizer> recurrent_regularizer;
  Of<Constraint> recurrent_constraint;
  bool unit_forget_bias = true, return_sequences = false, return_state = false, go_backwards = false;
  bool stateful = false, unroll = false, zero_output_for_mask = false;
  double dropout = 0, recurrent_dropout = 0;
  std::optional<int64_t> seed;
  KernelAndBias weights;

  void fields(Fields &f) override {
    f("units", units).required().at_least(1).at_most(max_dim / 4).doc("size of the output and of each state");
    f("activation", activation).default_only().doc("only \"tanh\" is supported");
    f("recurrent_activation", recurrent_activation).default_only().doc("of the gates; only \"sigmoid\" is supported");
    f("recurrent_initializer", recurrent_initializer).doc("fills the recurrent kernel at the start");
    f("unit_forget_bias", unit_forget_bias).doc("whether the forget gate's bias starts at 1");
    f("recurrent_regularizer", recurrent_regularizer).doc("penalty on the recurrent kernel, added to the loss");
    f("recurrent_constraint", recurrent_constraint).doc("applied to the recurrent kernel after every update");
    f("dropout", dropout)
        .at_least(0)
        .at_most(1)
        .doc(
            "fraction of the input features to drop in training, the same at every step; 1 drops none, as in "
            "Keras");
    f("recurrent_dropout", recurrent_dropout).default_only().at_least(0).at_most(1).doc("only 0 is supported");
    f("seed", seed).doc("seed of the dropout; null = from the context's");
    f("return_sequences", return_sequences).doc("whether the output has every step or only the last");
    f("return_state", return_state).doc("whether h and c are outputs too");
    f("go_backwards", go_backwards).doc("takes the steps from the last to the first; the output stays in that order");
    f("stateful", stateful).default_only().doc("only false is supported");
    f("unroll", unroll).doc("has no effect on the result");
    f("zero_output_for_mask", zero_output_for_mask).doc("whether the output of a masked step is 0");
    f("implementation", implementation)
        .at_least(1)
        .at_most(2)
        .doc("has no effect on the result; 1 is not supported with dropout");
    weights.fields(f);
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

  void check() override {
    if (implementation != 2 && dropout != 0)
      throw Error(Code::unsupported, text("\"implementation\": only 2 is supported with dropout, got ", implementation))
          .with("attribute", "implementation");
    if (weights.use_bias && unit_forget_bias && !weights.bias_initializer)
      throw Error(Code::invalid_argument,
                  "\"bias_initializer\": expected an initializer with unit_forget_bias, got null")
          .with("attribute", "bias_initializer");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    c.need_float(0);
    ops::Id w = weights.kernel(c, {c.last_dim(), checked_mul(4, units)});
    ops::Id r = c.weight("recurrent_kernel", {units, 4 * units}, recurrent_initializer, recurrent_regularizer,
                         recurrent_constraint);
    ops::Id b = ops::none;
    if (weights.use_bias) {
      Of<Initializer> start = weights.bias_initializer;
      if (unit_forget_bias) start = std::make_shared<UnitForgetBias>(start);
      b = c.weight("bias", {4 * units}, start, weights.bias_regularizer, weights.bias_constraint);
    }
    ops::Id h0 = ops::none, c0 = ops::none;
    if (auto given = c.symbols("initial_state"); !given.empty()) {
      h0 = state(c, given, 0);
      c0 = state(c, given, 1);
    }
    ops::Id mask = c.mask();
    if (mask != ops::none && c.e.rank(mask) != 2)
      fail(Code::shape_mismatch, "\"mask\": expected shape (batch, time), got ", c.e.shape(mask));
    // As in Keras, where a carried mask reaches only a call with no other tensor.
    ops::Id used = h0 != ops::none && c.symbols("mask").empty() ? ops::none : mask;
    auto [y, h, cell] = ops::lstm(c.e, dropped_input(c), w, r, b, h0, c0, used, go_backwards);
    ops::Id out = return_sequences ? y : h;
    if (zero_output_for_mask && used != ops::none) out = zeroed(c, out, used);
    c.penalize(weights.activity_regularizer, out);
    std::vector<Symbol> outputs{{out, return_sequences ? mask : ops::none}};
    if (return_state) {
      for (ops::Id s : {h, cell}) {
        c.penalize(weights.activity_regularizer, s);
        outputs.push_back({s});
      }
    }
    return outputs;
  }

 private:
  ops::Id state(Call &c, std::span<const Symbol> given, size_t i) const {
    if (given.size() != 2)
      fail(Code::invalid_argument, "\"initial_state\": expected 2 tensors, h and c, got ", given.size());
    ops::Id s = given[i].value;
    if (s == ops::none) fail(Code::invalid_argument, "\"initial_state\": expected 2 tensors, h and c, got null");
    Shape wanted{c.shape()[0], units};
    if (!compatible(c.e.shape(s), wanted))
      fail(Code::shape_mismatch, "\"initial_state\": expected shape ", wanted, ", got ", c.e.shape(s));
    if (c.e.dtype(s) != DType::f32)
      fail(Code::invalid_argument, "\"initial_state\": expected dtype=float32, found dtype=", c.e.dtype(s));
    return s;
  }

  // One mask for all steps of a sequence.
  ops::Id dropped_input(Call &c) const {
    if (dropout == 1) return c.x();
    ops::Id keep = keep_mask(c, dropout, seed, c.x(), 1, {1, c.last_dim()});
    return keep == ops::none ? c.x() : ops::mul(c.e, c.x(), keep);
  }

  ops::Id zeroed(Call &c, ops::Id out, ops::Id mask) const {
    if (!return_sequences) {
      ops::Id last = ops::slice(c.e, mask, 1, go_backwards ? 0 : -1, 1);
      return ops::select(c.e, last, out, c.e.scalar(0));
    }
    if (go_backwards)
      fail(Code::unsupported,
           "\"zero_output_for_mask\": not supported together with both go_backwards and return_sequences");
    return where_valid(c.e, mask, out, 0);
  }
};

}  // namespace
DL4_KIND(LSTM)
}  // namespace dl4::kinds
