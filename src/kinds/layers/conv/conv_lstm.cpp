// ConvLSTM1D, ConvLSTM2D, ConvLSTM3D: an LSTM with convolutions as products.
#include "kinds/layers/conv/conv.hpp"
#include "kinds/layers/random/dropping.hpp"
#include "kinds/layers/recurrent/recurrent.hpp"
#include "ops/conv.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit;
using ops::Id;

// N: number of spatial axes.
template <size_t N>
struct ConvLstm final : Layer {
  static constexpr const char *name = by_axes<N>("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D");
  static constexpr const char *doc = by_axes<N>(
      "An LSTM over (batch, time, rows, channels) whose products are convolutions; that of the state keeps its size.",
      "An LSTM over (batch, time, height, width, channels) whose products are convolutions; that of the state keeps "
      "its size.",
      "An LSTM over (batch, time, depth, height, width, channels) whose products are convolutions; that of the state "
      "keeps its size.");
  static constexpr int64_t gates = 4;
  int64_t filters = 0;
  Geometry<N> geometry;
  Recurrence recurrence;
  LstmBias bias;
  Sequencing how;

  void fields(Fields &f) override {
    f("filters", filters, "channels of the output and each state").required("4").within(1, max_dim / gates);
    geometry.fields(f);
    recurrence.fields(f, gates);
    bias.fields(f);
    how.fields(f);
  }
  void check() override {
    geometry.refuse_strides_with_dilation();
    bias.check(recurrence.weights);
  }
  Facts facts() const override {
    const char *const window = by_axes<N>("K", "KH, KW", "KD, KH, KW");
    return facts_of_run(by_axes<N>("(B, T, R, C)", "(B, T, H, W, C)", "(B, T, D, H, W, C)"),
                        by_axes<N>("OR, filters", "OH, OW, filters", "OD, OH, OW, filters"), 2,
                        {{"kernel", text('(', window, ", C, 4 filters)")},
                         {"recurrent_kernel", text('(', window, ", filters, 4 filters)")},
                         {"bias", "(4 filters)", "use_bias"}});
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(N) + 3);
    c.need_float(0);
    const Shape x = c.shape().without(1);  // of one step
    if (!x.last(x.rank() - 1).known())
      fail(Code::shape_mismatch,
           "all dimensions of a step of input 0 should be known. Full shape received: ", c.shape());
    const int64_t channels = x[geometry.data_format.channels(x.rank())];
    const Id w = recurrence.weights.kernel(c, geometry.kernel_shape(channels, gates * filters));
    const Id r = recurrence.recurrent_kernel(c, geometry.kernel_shape(filters, gates * filters));
    const Id b = bias.ask(c, recurrence.weights, filters);
    return how.run(c, cell(c, w, r, b), recurrence.weights.activity_regularizer);
  }

 private:
  // Convolutions of x by gate, in the layer's gate order; a single one without masks.
  Ids convolved_by_gate(Emit &e, Id x, Id masks, Id w, Id b, const ops::Conv &conv) const {
    Ids all;
    x = geometry.data_format.to_last(e, x);
    const Id whole = masks == ops::none ? ops::conv(e, x, w, b, conv) : ops::none;
    for (int64_t g = 0; g < gates; ++g) {
      Id y = whole;
      if (whole == ops::none) {
        const Id part = b == ops::none ? b : gate_of(e, b, filters, g);
        y = ops::conv(e, masked_for(e, x, masks, g), gate_of(e, w, filters, g), part, conv);
      }
      all.push_back(geometry.data_format.from_last(e, gate_of(e, y, filters, g)));
    }
    return all;
  }

  Cell cell(Call &c, Id w, Id r, Id b) const {
    const DataFormat &order = geometry.data_format;
    const Shape x = order.to_last(c.shape().without(1));
    const Shape y = ops::conv_shape("conv", geometry.how(), x, c.e.shape(w)).with(-1, filters);
    // Channels last, since the masks apply to the convolutions' inputs.
    auto masks = [&](double rate, const Shape &of, uint64_t which) {
      if (rate == 1) return ops::none;
      const Shape tail = of.last(of.rank() - 1);
      return keep_mask(c, rate, recurrence.seed, c.x(), 1, tail.with(-1, checked_mul(gates, of.last())), which);
    };
    const Id x_masks = masks(recurrence.dropout, x, 0), h_masks = masks(recurrence.recurrent_dropout, y, 1);
    const Shape state = order.from_last(y).without(0);
    return {{state, state}, [=, this](const Inside &in, Id step, const Ids &states) {
              Emit &e = in.e;
              auto here = [&](Id v) { return v == ops::none ? v : in.constant(v); };
              ops::Conv over_state = Geometry<N>().how();
              over_state.padding = ops::Padding::same;
              const Ids from_x = convolved_by_gate(e, step, here(x_masks), here(w), here(b), geometry.how());
              const Ids from_h = convolved_by_gate(e, states[0], here(h_masks), here(r), ops::none, over_state);
              return lstm_step(e, from_x, from_h, states[1], recurrence.activation, recurrence.recurrent_activation);
            }};
  }
};

}  // namespace
DL4_KINDS(conv_lstm, ConvLstm<1>, ConvLstm<2>, ConvLstm<3>)
}  // namespace dl4::kinds
