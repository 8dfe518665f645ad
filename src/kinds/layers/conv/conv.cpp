// Convolutions. Conv1D-3D and, the input gradients of these as layers, Conv1DTranspose-3DTranspose. DepthwiseConv1D/2D:
// of each channel separately; SeparableConv1D/2D mix the channels afterwards. LocallyConnected1D/2D: a kernel for each
// place.
// ConvLSTM1D, ConvLSTM2D, ConvLSTM3D: an LSTM with convolutions as products.
#include "ops/conv.hpp"
#include "kinds/layers/conv/data_format.hpp"
#include "kinds/layers/random/dropping.hpp"
#include "kinds/layers/recurrent/recurrent.hpp"

namespace dl4::kinds {
namespace {

using ops::Id, ops::Emit;

// Geometry, and conversion of axes at the layer's inputs and outputs.
template <size_t N>
struct Geometry {
  std::array<int64_t, N> kernel_size{}, strides{}, dilation_rate{};
  ops::Padding padding = ops::Padding::valid;
  DataFormat data_format;

  Geometry() {
    strides.fill(1);
    dilation_rate.fill(1);
  }
  void fields(Fields &f, bool causal = false) {
    f("kernel_size", kernel_size, "size of the window").required("2").within(1, max_dim);
    f("strides", strides, "steps of the window").within(1, max_dim);
    if (causal)
      f("padding", padding, {"valid", "same", "causal"},
        "\"valid\": none; \"same\": zeros on both sides, so that a stride of 1 keeps the length; \"causal\": "
        "zeros before, so that no output sees a later step");
    else
      f("padding", padding, {"valid", "same"},
        "\"valid\": none; \"same\": zeros around, so that strides of 1 keep the size");
    data_format.fields(f);
    f("dilation_rate", dilation_rate, "distance between the places that the window reads").within(1, max_dim);
  }
  // Keras's rule, except for depthwise convolutions.
  void refuse_strides_with_dilation() const {
    auto largest = [](const std::array<int64_t, N> &v) { return *std::max_element(v.begin(), v.end()); };
    if (largest(strides) > 1 && largest(dilation_rate) > 1)
      throw Error(Code::invalid_argument, "strides > 1 are not supported together with dilation_rate > 1")
          .with("attribute", "dilation_rate");
  }

  // Input 0 in channels-last order; the channels must be known.
  ops::Id input(Call &c) const {
    c.need_rank(0, static_cast<int>(N) + 2);
    c.need_float(0);
    const int axis = data_format.channels(c.shape().rank());
    if (c.shape()[axis] == free_dim)
      fail(Code::shape_mismatch, "the ", data_format.is_first() ? "channels" : "last dimension",
           " of input 0 should be known. Full shape received: ", c.shape());
    return data_format.to_last(c.e, c.x());
  }
  // The layer's output from y, which is channels-last.
  std::vector<Symbol> output(Call &c, ops::Id y, const Activation &activation, const Of<Regularizer> &penalty) const {
    y = activation(c.e, data_format.from_last(c.e, y));
    c.penalize(penalty, y);
    return {{y}};
  }

  Shape kernel_shape(int64_t in, int64_t out) const {
    std::vector<int64_t> dims(kernel_size.begin(), kernel_size.end());
    dims.push_back(in);
    dims.push_back(out);
    return Shape(dims);
  }
  ops::Conv how(int64_t groups = 1) const {
    return {.strides = {strides.begin(), strides.end()},
            .dilation = {dilation_rate.begin(), dilation_rate.end()},
            .padding = padding,
            .groups = groups};
  }
};

template <size_t N>
constexpr const char *spatial_input = by_axes<N>("(B, T, C)", "(B, H, W, C)", "(B, D, H, W, C)");
template <size_t N>
constexpr const char *spatial_output = by_axes<N>("(B, OT, filters)", "(B, OH, OW, filters)",
                                                  "(B, OD, OH, OW, filters)");

// N: number of spatial axes.
template <size_t N>
struct Convolution final : LayerOf<Convolution<N>> {
  static constexpr const char *name = by_axes<N>("Conv1D", "Conv2D", "Conv3D");
  static constexpr const char *doc =
      by_axes<N>("Convolution along time (cross-correlation: the kernel is not flipped).",
                 "Convolution over images (cross-correlation: the kernel is not flipped).",
                 "Convolution over volumes (cross-correlation: the kernel is not flipped).");
  static constexpr const char *aliases[] = {by_axes<N>("Convolution1D", "Convolution2D", "Convolution3D")};
  int64_t filters = 0, groups = 1;
  Geometry<N> geometry;
  Activation activation;
  KernelAndBias weights;
  Lora lora;

  void fields(Fields &f) override {
    f("filters", filters, "channels of the output").required("4").within(1, max_dim);
    geometry.fields(f, N == 1);
    f("groups", groups, "parts of the channels that are convolved apart").within(1, max_dim);
    f("activation", activation, "applied to the result");
    weights.fields(f);
    lora.fields(f);
  }
  void check() override {
    if (filters % groups != 0)
      throw Error(Code::invalid_argument,
                  text("the number of filters must be evenly divisible by the number of groups, got groups=", groups,
                       ", filters=", filters))
          .with("attribute", "groups");
    geometry.refuse_strides_with_dilation();
    lora.check(weights.kernel_constraint, {});
  }
  static constexpr const char *kernel =
      by_axes<N>("(K, C / groups, filters)", "(KH, KW, C / groups, filters)", "(KD, KH, KW, C / groups, filters)");
  static constexpr const char *first = by_axes<N>("(K, C / groups, lora_rank)", "(KH, KW, C / groups, lora_rank)",
                                                  "(KD, KH, KW, C / groups, lora_rank)");
  static constexpr PlainFacts plain{.inputs = {{"x", spatial_input<N>}},
                                    .outputs = {{"y", spatial_output<N>}},
                                    .weights = {{"kernel", kernel},
                                                {"bias", "(filters)", "use_bias"},
                                                {"lora_kernel_a", first, "lora_rank"},
                                                {"lora_kernel_b", "(lora_rank, filters)", "lora_rank"}}};

  std::vector<Symbol> call(Call &c) const override {
    ops::Id x = geometry.input(c);
    const int64_t channels = c.e.shape(x).last();
    if (channels % groups != 0)
      fail(Code::shape_mismatch, "the number of input channels must be evenly divisible by the number of groups, got ",
           "groups=", groups, ", but the input has ", channels, " channels (full input shape is ", c.shape(), ")");
    const LoraKernel more{lora, "lora_kernel", geometry.kernel_shape(channels / groups, filters),
                          weights.kernel_regularizer};
    ops::Id w = weights.kernel(c, more.shape, bool(lora)), b = weights.bias(c, filters);
    w = more.added(c, w);
    return geometry.output(c, ops::conv(c.e, x, w, b, geometry.how(groups)), activation, weights.activity_regularizer);
  }
};

template <size_t N>
struct ConvTranspose final : LayerOf<ConvTranspose<N>> {
  static constexpr const char *name = by_axes<N>("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose");
  static constexpr const char *doc =
      by_axes<N>("The gradient of a Conv1D by its input, as a layer: it makes sequences longer.",
                 "The gradient of a Conv2D by its input, as a layer: it makes images larger.",
                 "The gradient of a Conv3D by its input, as a layer: it makes volumes larger.");
  static constexpr const char *aliases[] = {
      by_axes<N>("Convolution1DTranspose", "Convolution2DTranspose", "Convolution3DTranspose")};
  int64_t filters = 0;
  Geometry<N> geometry;
  std::optional<std::array<int64_t, N>> output_padding;
  Activation activation;
  KernelAndBias weights;

  void fields(Fields &f) override {
    f("filters", filters, "channels of the output").required("4").within(1, max_dim);
    geometry.fields(f);
    f("output_padding", output_padding,
      "places that the output has more at its end, less than strides; null: as many as make it n * strides with "
      "\"same\", with \"valid\" (n - 1) * strides and what the window or the stride reaches")
        .within(0, max_dim);
    f("activation", activation, "applied to the result");
    weights.fields(f);
  }
  void check() override {
    geometry.refuse_strides_with_dilation();
    for (size_t i = 0; output_padding && i < N; ++i)
      if ((*output_padding)[i] >= geometry.strides[i])
        refuse_attribute("output_padding", "expected less than strides, ", geometry.strides[i], ", got ",
                         (*output_padding)[i]);
  }
  static constexpr const char *kernel =
      by_axes<N>("(K, filters, C)", "(KH, KW, filters, C)", "(KD, KH, KW, filters, C)");
  static constexpr PlainFacts plain{.inputs = {{"x", spatial_input<N>}},
                                    .outputs = {{"y", spatial_output<N>}},
                                    .weights = {{"kernel", kernel}, {"bias", "(filters)", "use_bias"}}};

  std::vector<Symbol> call(Call &c) const override {
    ops::Id x = geometry.input(c);
    ops::Id w = weights.kernel(c, geometry.kernel_shape(filters, c.e.shape(x).last())), b = weights.bias(c, filters);
    std::vector<int64_t> more(N, -1);
    if (output_padding) more.assign(output_padding->begin(), output_padding->end());
    ops::Id y = ops::conv_transpose(c.e, x, w, geometry.how(), more);
    if (b != ops::none) y = ops::add(c.e, y, b);
    return geometry.output(c, y, activation, weights.activity_regularizer);
  }
};

// A kernel of `multiplier` filters per channel, with bias and activation.
template <class T, size_t N>
struct Depthwise : LayerOf<T> {
  int64_t depth_multiplier = 1;
  Geometry<N> geometry;
  Activation activation;
  Of<Initializer> depthwise_initializer = parse<Initializer>("GlorotUniform");
  Of<Regularizer> depthwise_regularizer;
  Of<Constraint> depthwise_constraint;
  KernelAndBias weights;  // only the bias and the output penalty are used

  void fields(Fields &f) override {
    geometry.fields(f);
    f("depth_multiplier", depth_multiplier, "outputs of each channel").within(1, max_dim);
    f("activation", activation, "applied to the result");
    weights.fields(f);
    for (const char *key : {"kernel_initializer", "kernel_regularizer", "kernel_constraint"}) f.drop(key);
    f("depthwise_initializer", depthwise_initializer, "fills the kernel of the channels at the start");
    f("depthwise_regularizer", depthwise_regularizer, "penalty on the kernel of the channels, added to the loss");
    f("depthwise_constraint", depthwise_constraint, "applied to the kernel of the channels after every update");
  }

 protected:
  // Depthwise convolution of x: outputs of channel c start at c * multiplier. The kernels take one filter per channel,
  // so channels are repeated.
  ops::Id by_channel(Call &c, ops::Id x, ops::Id kernel, ops::Id bias) const {
    const int64_t outputs = c.e.shape(kernel).last();
    if (depth_multiplier > 1) x = ops::repeat(c.e, x, -1, depth_multiplier);
    return ops::conv(c.e, x, kernel, bias, geometry.how(outputs));
  }
  ops::Id kernel_of(Call &c, const char *key, int64_t channels) const {
    ops::Id w = c.weight(key, geometry.kernel_shape(channels, depth_multiplier), depthwise_initializer,
                         depthwise_regularizer, depthwise_constraint);
    return ops::reshape(c.e, w, static_cast<int>(N), {1, checked_mul(channels, depth_multiplier)});
  }
};

template <size_t N>
struct DepthwiseConv final : Depthwise<DepthwiseConv<N>, N> {
  static constexpr const char *name = by_axes<N>("DepthwiseConv1D", "DepthwiseConv2D");
  static constexpr const char *doc = by_axes<N>("Convolution along time of each channel by itself.",
                                                "Convolution over images of each channel by itself.");
  static constexpr const char *kernel = by_axes<N>("(K, C, depth_multiplier)", "(KH, KW, C, depth_multiplier)");
  static constexpr const char *out = by_axes<N>("(B, OT, C * depth_multiplier)", "(B, OH, OW, C * depth_multiplier)");
  static constexpr PlainFacts plain{.inputs = {{"x", spatial_input<N>}},
                                    .outputs = {{"y", out}},
                                    .weights = {{"kernel", kernel}, {"bias", "(C * depth_multiplier)", "use_bias"}}};
  std::vector<Symbol> call(Call &c) const override {
    ops::Id x = this->geometry.input(c);
    ops::Id w = this->kernel_of(c, "kernel", c.e.shape(x).last()), b = this->weights.bias(c, c.e.shape(w).last());
    return this->geometry.output(c, this->by_channel(c, x, w, b), this->activation, this->weights.activity_regularizer);
  }
};

template <size_t N>
struct SeparableConv final : Depthwise<SeparableConv<N>, N> {
  static constexpr const char *name = by_axes<N>("SeparableConv1D", "SeparableConv2D");
  static constexpr const char *doc =
      by_axes<N>("Convolution along time of each channel by itself, then a product that mixes them.",
                 "Convolution over images of each channel by itself, then a product that mixes them.");
  static constexpr const char *aliases[] = {by_axes<N>("SeparableConvolution1D", "SeparableConvolution2D")};
  int64_t filters = 0;
  Of<Initializer> pointwise_initializer = parse<Initializer>("GlorotUniform");
  Of<Regularizer> pointwise_regularizer;
  Of<Constraint> pointwise_constraint;

  void fields(Fields &f) override {
    f("filters", filters, "channels of the output").required("4").within(1, max_dim);
    Depthwise<SeparableConv, N>::fields(f);
    f("pointwise_initializer", pointwise_initializer, "fills the kernel that mixes the channels at the start");
    f("pointwise_regularizer", pointwise_regularizer, "penalty on the kernel that mixes, added to the loss");
    f("pointwise_constraint", pointwise_constraint, "applied to the kernel that mixes after every update");
  }
  static constexpr const char *depthwise = by_axes<N>("(K, C, depth_multiplier)", "(KH, KW, C, depth_multiplier)");
  static constexpr const char *pointwise =
      by_axes<N>("(1, C * depth_multiplier, filters)", "(1, 1, C * depth_multiplier, filters)");
  static constexpr PlainFacts plain{
      .inputs = {{"x", spatial_input<N>}},
      .outputs = {{"y", spatial_output<N>}},
      .weights = {{"depthwise_kernel", depthwise}, {"pointwise_kernel", pointwise}, {"bias", "(filters)", "use_bias"}}};
  std::vector<Symbol> call(Call &c) const override {
    ops::Id x = this->geometry.input(c);
    ops::Id deep = this->kernel_of(c, "depthwise_kernel", c.e.shape(x).last());
    std::vector<int64_t> dims(N, 1);
    dims.push_back(c.e.shape(deep).last());
    dims.push_back(filters);
    ops::Id w =
        c.weight("pointwise_kernel", Shape(dims), pointwise_initializer, pointwise_regularizer, pointwise_constraint);
    ops::Conv mix;
    mix.strides = mix.dilation = std::vector<int64_t>(N, 1);
    ops::Id y = ops::conv(c.e, this->by_channel(c, x, deep, ops::none), w, this->weights.bias(c, filters), mix);
    return this->geometry.output(c, y, this->activation, this->weights.activity_regularizer);
  }
};

template <size_t N>
struct LocallyConnected final : LayerOf<LocallyConnected<N>> {
  static constexpr const char *name = N == 1 ? "LocallyConnected1D" : "LocallyConnected2D";
  static constexpr const char *doc =
      "A convolution whose kernel and bias are others at each place. Keras 3 has it no more; those of Keras 2 are read "
      "as their implementation 1 stores them.";
  int64_t filters = 0;
  std::array<int64_t, N> kernel_size{}, strides{};
  ops::Padding padding = ops::Padding::valid;
  DataFormat data_format;
  Activation activation;
  KernelAndBias weights;
  int64_t implementation = 1;

  LocallyConnected() { strides.fill(1); }
  void fields(Fields &f) override {
    f("filters", filters, "channels of the output").required("4").within(1, max_dim);
    f("kernel_size", kernel_size, "size of the window").required("2").within(1, max_dim);
    f("strides", strides, "steps of the window").within(1, max_dim);
    f("padding", padding, {"valid"}, "whole windows only").among_others();
    data_format.fields(f);
    f("activation", activation, "applied to the sum");
    f("implementation", implementation, "how Keras 2 stores the kernel").default_only();
    weights.fields(f);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", spatial_input<N>}},
                                    .outputs = {{"y", N == 1 ? "(B, OT, filters)" : "(B, OH, OW, filters)"}},
                                    .weights = {{"kernel", "(places, window * C, filters)"},
                                                {"bias", N == 1 ? "(OT, filters)" : "(OH, OW, filters)", "use_bias"}}};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(N) + 2);
    c.as_float(0);
    ops::Emit &e = c.e;
    Id x = data_format.to_last(e, c.x());
    const Shape s = e.shape(x);
    std::vector<int64_t> out;
    int64_t places = 1, window = s.last();
    for (size_t i = 0; i < N; ++i) {
      const int64_t n = s[static_cast<int>(i) + 1];
      if (n == free_dim || s.last() == free_dim)
        fail(Code::shape_mismatch, "expected an input whose axes are known but for the batch, got ", c.shape());
      if (n < kernel_size[i])
        fail(Code::shape_mismatch, "expected at least ", kernel_size[i], " places of each axis, got ", c.shape());
      out.push_back((n - kernel_size[i]) / strides[i] + 1);
      places = checked_mul(places, out[i]);
      window = checked_mul(window, kernel_size[i]);
    }
    Id kernel = weights.kernel(c, {places, window, filters});
    x = windows(e, x, out);
    Id y = ops::matmul(e, ops::transpose(e, x, {1, 0, 2}), kernel);
    y = ops::transpose(e, y, {1, 0, 2});
    Shape tail(out);
    tail = tail.inserted(tail.rank(), filters);
    y = ops::reshape(e, y, 1, tail);
    if (weights.use_bias)
      y = ops::add(e, y,
                   c.weight("bias", tail, weights.bias_initializer, weights.bias_regularizer, weights.bias_constraint));
    y = activation(e, data_format.from_last(e, y));
    c.penalize(weights.activity_regularizer, y);
    return {{y}};
  }

 private:
  // (B, positions, window): the input positions of each window.
  Id windows(ops::Emit &e, Id x, const std::vector<int64_t> &out) const {
    for (size_t i = 0; i < N; ++i) {
      const int axis = static_cast<int>(i) + 1;
      if (checked_mul(out[i], kernel_size[i]) > 1 << 24)
        fail(Code::unsupported, "\"kernel_size\": windows of more than ", 1 << 24, " places");
      Tensor ids = make_tensor(DType::i32, {out[i] * kernel_size[i]});
      int32_t *id = ids.as<int32_t>();
      for (int64_t to = 0; to < out[i]; ++to)
        for (int64_t k = 0; k < kernel_size[i]; ++k) *id++ = static_cast<int32_t>(to * strides[i] + k);
      std::vector<int> perm(N + 2);
      std::iota(perm.begin(), perm.end(), 0);
      std::swap(perm[0], perm[static_cast<size_t>(axis)]);
      x = ops::transpose(e, ops::gather(e, ops::transpose(e, x, perm), e.constant(std::move(ids))), perm);
    }
    const int64_t channels = e.shape(x).last();
    if constexpr (N == 1) {
      return ops::reshape(e, x, 1, {out[0], checked_mul(kernel_size[0], channels)});
    } else {
      x = ops::reshape(e, x, 1, {out[0], kernel_size[0], out[1], checked_mul(kernel_size[1], channels)});
      x = ops::transpose(e, x, {0, 1, 3, 2, 4});
      return ops::reshape(e, x, 1, {out[0] * out[1], checked_mul(kernel_size[0], kernel_size[1], channels)});
    }
  }
};

using LocallyConnected1D = LocallyConnected<1>;
using LocallyConnected2D = LocallyConnected<2>;

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

DL4_KINDS(conv, Convolution<1>, Convolution<2>, Convolution<3>, ConvTranspose<1>, ConvTranspose<2>, ConvTranspose<3>,
          DepthwiseConv<1>, DepthwiseConv<2>, SeparableConv<1>, SeparableConv<2>, LocallyConnected1D,
          LocallyConnected2D)
DL4_KINDS(conv_lstm, ConvLstm<1>, ConvLstm<2>, ConvLstm<3>)

}  // namespace dl4::kinds
