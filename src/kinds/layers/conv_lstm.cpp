// ConvLSTM1D, ConvLSTM2D, ConvLSTM3D: an LSTM whose products are convolutions.
#include <algorithm>
#include <array>

#include "kinds/layers/data_format.hpp"
#include "kinds/layers/dropping.hpp"
#include "kinds/layers/recurrent.hpp"
#include "ops/conv.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit;
using ops::Id;

constexpr int64_t gates = 4;
constexpr const char *mask =
    "used, but with initial_state, as in Keras, only one that is given; passed on with return_sequences";
const std::vector<CallArgument> arguments{{"mask", "tensor", "(B, T) bool: the steps to take"},
                                          {"initial_state", "tensors", "h and c; zeros by default"}};

// N: how many axes the kernels move along.
template <size_t N>
struct ConvLstm : Layer {
  int64_t filters = 0;
  std::array<int64_t, N> kernel_size{}, strides{}, dilation_rate{};
  ops::Padding padding = ops::Padding::valid;
  DataFormat data_format;
  Activation activation = Activation::parse("tanh"), recurrent_activation = Activation::parse("sigmoid");
  Of<Initializer> recurrent_initializer = parse<Initializer>("Orthogonal");
  Of<Regularizer> recurrent_regularizer;
  Of<Constraint> recurrent_constraint;
  bool unit_forget_bias = true;
  double dropout = 0, recurrent_dropout = 0;
  std::optional<int64_t> seed;
  KernelAndBias weights;
  Sequencing how;

  ConvLstm() {
    strides.fill(1);
    dilation_rate.fill(1);
  }
  void fields(Fields &f) override {
    f("filters", filters).required().at_least(1).at_most(max_dim / gates).doc("channels of the output and each state");
    f("kernel_size", kernel_size).required().at_least(1).at_most(max_dim).doc("size of both windows");
    f("strides", strides).at_least(1).at_most(max_dim).doc("steps of the window over the input");
    f("padding", padding, {"valid", "same"})
        .doc(
            "of the input, \"valid\": none; \"same\": zeros around; the state is always padded so as to keep its size");
    data_format.fields(f);
    f("dilation_rate", dilation_rate)
        .at_least(1)
        .at_most(max_dim)
        .doc("distance between the places of the input that the window reads");
    f("activation", activation).doc("of the candidate for the new state, and of that state");
    f("recurrent_activation", recurrent_activation).doc("of the gates");
    f("recurrent_initializer", recurrent_initializer).doc("fills the recurrent kernel at the start");
    f("unit_forget_bias", unit_forget_bias).doc("whether the forget gate's bias starts at 1");
    f("recurrent_regularizer", recurrent_regularizer).doc("penalty on the recurrent kernel, added to the loss");
    f("recurrent_constraint", recurrent_constraint).doc("applied to the recurrent kernel after every update");
    f("dropout", dropout)
        .at_least(0)
        .at_most(1)
        .doc("fraction of the input to drop in training, the same at every step, apart for each gate; 1 drops none");
    f("recurrent_dropout", recurrent_dropout)
        .at_least(0)
        .at_most(1)
        .doc("fraction of the state to drop in training, the same at every step, apart for each gate; 1 drops none");
    f("seed", seed).doc("seed of the dropout; null = from the context's");
    weights.fields(f);
    how.fields(f);
  }
  void check() override {
    auto largest = [](const std::array<int64_t, N> &v) { return *std::max_element(v.begin(), v.end()); };
    if (largest(strides) > 1 && largest(dilation_rate) > 1)
      throw Error(Code::invalid_argument, "strides > 1 are not supported together with dilation_rate > 1")
          .with("attribute", "dilation_rate");
    if (weights.use_bias && unit_forget_bias && !weights.bias_initializer)
      throw Error(Code::invalid_argument,
                  "\"bias_initializer\": expected an initializer with unit_forget_bias, got null")
          .with("attribute", "bias_initializer");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(N) + 3);
    c.need_float(0);
    const Shape x = c.shape().without(1);  // of one step
    if (!x.last(static_cast<int>(N) + 1).known())
      fail(Code::shape_mismatch,
           "all dimensions of a step of input 0 should be known. Full shape received: ", c.shape());
    const Id w = weights.kernel(c, window(x.last()));
    const Id r = c.weight("recurrent_kernel", window(filters), recurrent_initializer, recurrent_regularizer,
                          recurrent_constraint);
    Id b = ops::none;
    if (weights.use_bias) {
      const auto start = unit_forget_bias ? with_unit_forget_bias(weights.bias_initializer) : weights.bias_initializer;
      b = c.weight("bias", {checked_mul(gates, filters)}, start, weights.bias_regularizer, weights.bias_constraint);
    }
    return how.run(c, cell(c, x, w, r, b), weights.activity_regularizer);
  }

 private:
  Shape window(int64_t channels) const {
    std::vector<int64_t> shape(kernel_size.begin(), kernel_size.end());
    shape.push_back(channels);
    shape.push_back(checked_mul(gates, filters));
    return Shape(shape);
  }
  ops::Conv over_input() const {
    return {.strides{strides.begin(), strides.end()},
            .dilation{dilation_rate.begin(), dilation_rate.end()},
            .padding = padding};
  }
  static ops::Conv over_state() {
    const std::vector<int64_t> ones(N, 1);
    return {.strides = ones, .dilation = ones, .padding = ops::Padding::same};
  }

  // By gate. Without masks it is one convolution.
  Ids convolved_by_gate(Emit &e, Id x, Id masks, Id w, Id b, const ops::Conv &conv) const {
    Ids all;
    const Id whole = masks == ops::none ? ops::conv(e, x, w, b, conv) : ops::none;
    for (int64_t g = 0; g < gates; ++g) {
      if (whole != ops::none) {
        all.push_back(gate_of(e, whole, filters, g));
        continue;
      }
      const Id part = b == ops::none ? b : gate_of(e, b, filters, g);
      all.push_back(ops::conv(e, masked_for(e, x, masks, g), gate_of(e, w, filters, g), part, conv));
    }
    return all;
  }

  // x: the shape of one step.
  Cell cell(Call &c, const Shape &x, Id w, Id r, Id b) const {
    const Shape state = ops::conv_shape("conv", over_input(), x, c.e.shape(w)).without(0).with(-1, filters);
    auto masks = [&](double rate, const Shape &of, uint64_t which) {
      if (rate == 1) return ops::none;
      return keep_mask(c, rate, seed, c.x(), 1, of.with(-1, checked_mul(gates, of.last())), which);
    };
    const Id x_masks = masks(dropout, x.last(x.rank() - 1), 0), h_masks = masks(recurrent_dropout, state, 1);
    return {{state, state}, [=, this](const Inside &in, Id step, const Ids &states) {
              Emit &e = in.e;
              auto here = [&](Id v) { return v == ops::none ? v : in.constant(v); };
              const Ids from_x = convolved_by_gate(e, step, here(x_masks), here(w), here(b), over_input());
              const Ids from_h = convolved_by_gate(e, states[0], here(h_masks), here(r), ops::none, over_state());
              return lstm_step(e, from_x, from_h, states[1], activation, recurrent_activation);
            }};
  }
};

struct ConvLSTM1D final : ConvLstm<1> {
  static constexpr const char *name = "ConvLSTM1D";
  static constexpr const char *doc = "An LSTM over (batch, time, rows, channels) whose products are convolutions.";
  Facts facts() const override {
    return {.inputs = {{"x", "(B, T, R, C)"}},
            .outputs = {{"y", "(B, OR, filters), with return_sequences (B, T, OR, filters)"},
                        {"h", "(B, OR, filters)", "return_state"},
                        {"c", "(B, OR, filters)", "return_state"}},
            .weights = {{"kernel", "(K, C, 4 filters)"},
                        {"recurrent_kernel", "(K, filters, 4 filters)"},
                        {"bias", "(4 filters)", "use_bias"}},
            .arguments = arguments,
            .mask = mask};
  }
};

struct ConvLSTM2D final : ConvLstm<2> {
  static constexpr const char *name = "ConvLSTM2D";
  static constexpr const char *doc =
      "An LSTM over (batch, time, height, width, channels) whose products are convolutions.";
  Facts facts() const override {
    return {.inputs = {{"x", "(B, T, H, W, C)"}},
            .outputs = {{"y", "(B, OH, OW, filters), with return_sequences (B, T, OH, OW, filters)"},
                        {"h", "(B, OH, OW, filters)", "return_state"},
                        {"c", "(B, OH, OW, filters)", "return_state"}},
            .weights = {{"kernel", "(KH, KW, C, 4 filters)"},
                        {"recurrent_kernel", "(KH, KW, filters, 4 filters)"},
                        {"bias", "(4 filters)", "use_bias"}},
            .arguments = arguments,
            .mask = mask};
  }
};

struct ConvLSTM3D final : ConvLstm<3> {
  static constexpr const char *name = "ConvLSTM3D";
  static constexpr const char *doc =
      "An LSTM over (batch, time, depth, height, width, channels) whose products are convolutions.";
  Facts facts() const override {
    return {.inputs = {{"x", "(B, T, D, H, W, C)"}},
            .outputs = {{"y", "(B, OD, OH, OW, filters), with return_sequences (B, T, OD, OH, OW, filters)"},
                        {"h", "(B, OD, OH, OW, filters)", "return_state"},
                        {"c", "(B, OD, OH, OW, filters)", "return_state"}},
            .weights = {{"kernel", "(KD, KH, KW, C, 4 filters)"},
                        {"recurrent_kernel", "(KD, KH, KW, filters, 4 filters)"},
                        {"bias", "(4 filters)", "use_bias"}},
            .arguments = arguments,
            .mask = mask};
  }
};

}  // namespace
DL4_KIND(ConvLSTM1D)
DL4_KIND(ConvLSTM2D)
DL4_KIND(ConvLSTM3D)
}  // namespace dl4::kinds
