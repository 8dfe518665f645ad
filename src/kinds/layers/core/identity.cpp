// Identity, Cast and activations of a value.
// Losses and metrics of layers.
// Weights as layers.
// Layers with layers inside. Pipeline: layers one after the other. StatelessCall: a layer with its weights passed as
// values.

#include "kinds/layer.hpp"
#include "kinds/loss.hpp"
#include "ops/text.hpp"

namespace dl4::kinds {
namespace {

struct IdentityLayer final : LayerOf<IdentityLayer> {
  static constexpr const char *name = "Identity";
  static constexpr const char *doc = "The input as it is.";

  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  std::vector<Symbol> call(Call &c) const override { return {{c.x(), c.mask()}}; }
};

struct Rescaling final : LayerOf<Rescaling> {
  static constexpr const char *doc = "x * scale + offset, in float32: images of bytes become numbers of a small range.";
  std::vector<double> scale, offset{0};

  void fields(Fields &f) override {
    f("scale", scale, "a number, or one for each place of the last axis").required("2");
    f("offset", offset, "a number, or one for each place of the last axis");
  }
  void check() override {
    for (const char *key : {"scale", "offset"})
      if ((key[0] == 's' ? scale : offset).empty()) refuse_attribute(key, "expected at least one number");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  std::vector<Symbol> call(Call &c) const override {
    ops::Id x = ops::cast(c.e, c.x(), DType::f32);
    if (scale.size() == 1 && offset.size() == 1) {
      const auto by = static_cast<float>(scale[0]), plus = static_cast<float>(offset[0]);
      return {{ops::unary(c.e, ops::Unary::scale_shift, x, {by, plus}), c.mask()}};
    }
    return {{ops::add(c.e, ops::mul(c.e, x, constant(c, scale)), constant(c, offset)), c.mask()}};
  }

 private:
  static ops::Id constant(Call &c, const std::vector<double> &v) {
    if (v.size() == 1) return c.e.scalar(v[0]);
    const auto n = static_cast<int64_t>(v.size());
    if (c.shape().rank() < 1 || (c.shape().last() != free_dim && c.shape().last() != n))
      fail(Code::shape_mismatch, "expected ", n, " places along the last axis, as \"scale\" and \"offset\" have, got ",
           c.shape());
    Tensor t = make_tensor(DType::f32, {n});
    for (size_t i = 0; i < v.size(); ++i) t.as<float>()[i] = static_cast<float>(v[i]);
    return c.e.constant(std::move(t));
  }
};

struct Cast : LayerOf<Cast> {
  static constexpr const char *keras = "core.Cast";
  static constexpr const char *doc =
      "The same numbers in another type of data: keras.ops.cast. Fractions are cut off. Strings: numbers in decimal "
      "digits, floats with at most 8, INF and NaN; one that is no number of the type is an error of the run.";
  enum class To { float32, int32, int64, uint8, boolean, string } to = To::float32;

  void fields(Fields &f) override {
    f("to", to, {"float32", "int32", "int64", "uint8", "bool", "string"}, "the type of the output")
        .required(R"("int32")");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};

  std::vector<Symbol> call(Call &c) const override {
    constexpr DType types[] = {DType::f32, DType::i32, DType::i64, DType::u8, DType::boolean, DType::string};
    const DType from = c.e.dtype(c.x()), type = types[static_cast<size_t>(to)];
    if (from == type) return {{c.x()}};
    if (type == DType::string) return {{ops::numbers_as_texts(c.e, c.x())}};
    if (from == DType::string) {
      if (to == To::uint8 || to == To::boolean)
        fail(Code::unsupported, "input 0: expected numbers for ", type, ", got strings");
      return {{ops::texts_as_numbers(c.e, c.x(), type)}};
    }
    if (to == To::boolean) return {{ops::binary(c.e, ops::Binary::not_equal, c.x(), c.e.scalar(0, c.e.dtype(c.x())))}};
    return {{ops::cast(c.e, c.x(), type)}};
  }
};

struct ReducePrecision : LayerOf<ReducePrecision> {
  static constexpr const char *doc =
      "Rounds to the nearest float of fewer bits, ties to even, and to infinity past the largest: "
      "jax.lax.reduce_precision. The gradient passes unchanged.";
  int64_t exponent_bits = 0, mantissa_bits = 0;

  void fields(Fields &f) override {
    f("exponent_bits", exponent_bits, "of float16 5, of bfloat16 8").required("5").within(2, 8);
    f("mantissa_bits", mantissa_bits, "of float16 10, of bfloat16 7").required("10").within(1, 23);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const auto bits = [](int64_t n) { return static_cast<int>(n); };
    const ops::Id y = ops::reduce_precision(c.e, c.x(), bits(exponent_bits), bits(mantissa_bits));
    return {{ops::straight_through(c.e, y, c.x()), c.mask()}};
  }
};

struct StopGradient : LayerOf<StopGradient> {
  static constexpr const char *keras = "core.StopGradient";
  static constexpr const char *doc = "x, through which no gradient passes: keras.ops.stop_gradient.";

  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  std::vector<Symbol> call(Call &c) const override { return {{ops::stop_gradient(c.e, c.x()), c.mask()}}; }
};

struct ActivationLayer : LayerOf<ActivationLayer> {
  static constexpr const char *name = "Activation";
  static constexpr const char *doc = "Applies an activation function.";
  Activation activation;

  void fields(Fields &f) override { f("activation", activation, "the function").required(R"("relu")"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    const DType type = c.e.dtype(c.x());
    if (activation.is_linear()) return {{c.x(), c.mask()}};
    if ((type == DType::i32 || type == DType::i64) && activation.name() == "relu" && activation.to_json() == "relu")
      return {{ops::binary(c.e, ops::Binary::max, c.x(), c.e.scalar(0, type)), c.mask()}};
    c.as_float(0);
    return {{activation(c.e, c.x()), c.mask()}};
  }
};

struct ActivityRegularization : LayerOf<ActivityRegularization> {
  static constexpr const char *doc =
      "Passes its input on and adds l1 * sum(|x|) + l2 * sum(x^2), divided by the batch size, to the loss.";
  double l1 = 0, l2 = 0;
  Of<Regularizer> penalty;

  void fields(Fields &f) override {
    f("l1", l1, "factor of the sum of absolute values").at_least(0);
    f("l2", l2, "factor of the sum of squares").at_least(0);
  }
  void check() override {
    penalty = parse<Regularizer>({{"class_name", "L1L2"}, {"config", {{"l1", l1}, {"l2", l2}}}});
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    c.penalize(penalty, c.x());
    return {{c.x(), c.mask()}};
  }
};

struct LossLayer : LayerOf<LossLayer> {
  static constexpr const char *name = "Loss";
  static constexpr const char *doc =
      "A loss, called on targets, predictions and, if wanted, sample weights; the mask of the predictions counts. Its "
      "reduction decides whether a number comes out or, with \"none\", a value for each item.";
  Of<Loss> loss;

  void fields(Fields &f) override {
    f("loss", loss, "the loss").required(R"({"class_name": "Huber", "config": {"reduction": "none"}})");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"y_true", "(B, ...)"}, {"y_pred", "(B, ...)"}, {"sample_weight", "(B) or (B, ...)"}},
      .outputs = {{"loss", "(), with reduction none the shape of the items"}}};
  Arity arity() const override { return {2, 3}; }
  void check() override {
    if (!loss) refuse_attribute("loss", "expected a loss, got null");
  }

  std::vector<Symbol> call(Call &c) const override {
    return {{loss->value(c.e, c.x(0), c.x(1), c.in.size() > 2 ? c.x(2) : ops::none, c.mask(1))}};
  }
};

struct MetricLayer : LayerOf<MetricLayer> {
  static constexpr const char *name = "Metric";
  static constexpr const char *doc =
      "A metric that is a mean over samples, called on targets, predictions and, if wanted, sample weights; the mask "
      "of the predictions counts.";
  Of<Metric> metric;

  void fields(Fields &f) override {
    f("metric", metric, "the metric; \"accuracy\" chooses by the shapes").required(R"("mae")");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"y_true", "(B, ...)"}, {"y_pred", "(B, ...)"}, {"sample_weight", "(B) or (B, ...)"}},
      .outputs = {{"mean", "(): total / count, 0 where nothing counts"},
                  {"total", "(): to be summed over batches"},
                  {"count", "(): to be summed over batches"}}};
  Arity arity() const override { return {2, 3}; }

  void check() override {
    if (dynamic_cast<const MeanMetric *>(metric.get())) return;
    unsupported_attribute("metric", "expected a mean over samples, which has a total and a count, got ",
                          metric->entry().name);
  }

  std::vector<Symbol> call(Call &c) const override {
    ops::Emit &e = c.e;
    const std::vector<ops::Id> sums = metric->sums(e, c.x(0), c.x(1), c.in.size() > 2 ? c.x(2) : ops::none, c.mask(1));
    ops::Id total = sums[0], count = sums[1];
    ops::Id some = binary(e, ops::Binary::not_equal, count, e.scalar(0));
    ops::Id mean = select(e, some, div(e, total, select(e, some, count, e.scalar(1))), e.scalar(0));
    return {{mean}, {total}, {count}};
  }
};

struct WeightLayer : LayerOf<WeightLayer> {
  static constexpr const char *name = "Weight";
  static constexpr const char *doc = "A weight as a value: called on nothing, for layers that are made of others.";
  std::vector<int64_t> dims;
  Of<Initializer> initializer = parse<Initializer>("GlorotUniform");
  Of<Regularizer> regularizer;
  Of<Constraint> constraint;
  bool learned = true;

  void fields(Fields &f) override {
    f("shape", dims, "its axes; [] for a single number").required("[2, 3]").within(0, max_dim);
    f("initializer", initializer, "fills it at the start");
    f("regularizer", regularizer, "penalty on it, added to the loss");
    f("constraint", constraint, "applied to it after every update");
    f("learned", learned, "whether gradients change it");
  }
  static constexpr PlainFacts plain{.inputs = {}, .outputs = {{"value", "(shape)"}}, .weights = {{"value", "(shape)"}}};
  Arity arity() const override { return {0, 0}; }
  bool gives_weight() const override { return true; }
  void check() override {
    if (dims.size() > static_cast<size_t>(max_rank))
      refuse_attribute("shape", "expected at most ", max_rank, " axes, got ", dims.size());
  }

  std::vector<Symbol> call(Call &c) const override {
    Shape shape;
    for (int64_t d : dims) shape = shape.inserted(shape.rank(), d);
    return {{c.host.weight({"value", shape, initializer, regularizer, constraint, learned})}};
  }
};

struct LayerScale final : LayerOf<LayerScale> {
  static constexpr const char *keras = "keras.src.applications.convnext.LayerScale";
  static constexpr const char *doc = "x times a trained number for each channel: of ConvNeXt in keras.applications.";
  double init_values = 0;
  int64_t projection_dim = 0;

  void fields(Fields &f) override {
    f("init_values", init_values, "what gamma starts at").required("0.5");
    f("projection_dim", projection_dim, "the number of channels").required("4").within(1, max_dim);
  }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(B, ..., C)"}}, .outputs = {{"y", "(B, ..., C)"}}, .weights = {{"gamma", "(C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const Of<Initializer> start =
        parse<Initializer>(Json{{"class_name", "Constant"}, {"config", {{"value", init_values}}}});
    return {{ops::mul(c.e, c.x(), c.weight("gamma", {projection_dim}, start))}};
  }
};

struct CustomScaleLayer final : LayerOf<CustomScaleLayer> {
  static constexpr const char *keras = "keras.src.applications.inception_resnet_v2.CustomScaleLayer";
  static constexpr const char *doc =
      "The first input plus the second times a number: of InceptionResNetV2 in keras.applications.";
  double scale = 1;

  void fields(Fields &f) override { f("scale", scale, "the number").required("2"); }
  static constexpr PlainFacts plain{.inputs = {{"x1", "(B, ...)"}, {"x2", "(B, ...)"}}, .outputs = {{"y", "(B, ...)"}}};
  Arity arity() const override { return {2, 2}; }
  std::vector<Symbol> call(Call &c) const override {
    for (int i = 0; i < 2; ++i) c.need_float(i);
    return {{ops::add(c.e, c.x(0), ops::scale(c.e, c.x(1), static_cast<float>(scale)))}};
  }
};

struct StochasticDepth final : LayerOf<StochasticDepth> {
  static constexpr const char *keras = "keras.src.applications.convnext.StochasticDepth";
  static constexpr const char *doc =
      "In training, whole samples are 0 with probability drop_path_rate, the others scaled by 1 / (1 - "
      "drop_path_rate): of ConvNeXt in keras.applications.";
  double drop_path_rate = 0;

  void fields(Fields &f) override {
    f("drop_path_rate", drop_path_rate, "the fraction of samples to drop").required("0.3").within(0, 1);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...)"}}, .outputs = {{"y", "(B, ...)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    c.need_rank_from(0, 1);
    if (!c.training() || drop_path_rate == 0) return {{c.x()}};
    const Shape ones(std::vector<int64_t>(static_cast<size_t>(c.shape().rank() - 1), 1));
    const ops::Id keep = ops::random_keep(c.e, drop_path_rate, c.host.random_seed({}), c.host.draws(), c.x(), 1, ones);
    return {{ops::mul(c.e, c.x(), keep)}};
  }
};

struct Pipeline final : LayerOf<Pipeline> {
  static constexpr const char *doc = "Layers one after the other, as one layer, which may change images in training.";
  std::vector<InnerLayer> layers;

  void fields(Fields &f) override {
    f("layers", layers, "the layers, the first one first")
        .required(R"([{"class_name": "Rescaling", "config": {"scale": 2}}])");
  }
  void check() override {
    if (layers.empty()) refuse_attribute("layers", "expected at least one layer, got []");
    number_names(layers);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}},
                                    .outputs = {{"y", "(...), that of the last layer"}},
                                    .weights = {{"weights", "those of the layers, under their names"}},
                                    .inside = {{"layers", "layers"}},
                                    .mask = "passed on"};
  std::vector<Symbol> call(Call &c) const override {
    std::vector<Symbol> x = c.in;
    x[0].mask = c.mask();
    Arguments arguments;
    if (c.arguments().plain.contains("training")) arguments.plain["training"] = c.training();
    for (const InnerLayer &layer : layers) x = c.run(layer, {x[0]}, arguments);
    return {x[0]};
  }
};

// The host of a layer whose weights are values and can't be written.
class GivenWeights final : public Host {
 public:
  explicit GivenWeights(Host &outer) : outer_(outer) {}

  ops::Id weight(const WeightSpec &spec) override { return outer_.weight(spec); }
  uint64_t random_seed(std::optional<int64_t> own) override { return outer_.random_seed(own); }
  ops::Id draws() override { return outer_.draws(); }
  std::shared_ptr<ops::Collective> collective() override { return outer_.collective(); }
  void add_loss(ops::Id scalar) override { outer_.add_loss(scalar); }
  void write(const std::string &name, ops::Id) override {
    fail(Code::unsupported, "the layer writes weight \"", name, "\" in training, which is a value here");
  }
  bool trainable(const std::string &inside) const override { return outer_.trainable(inside); }
  void refuse_training(const std::string &why) override { outer_.refuse_training(why); }

 private:
  Host &outer_;
};

struct StatelessCall : Layer {
  static constexpr const char *doc =
      "A layer called with values in place of its weights, to which gradients pass: on the layer's inputs, then on a "
      "value for each weight in the layer's order. The call's arguments are the layer's. A layer that writes weights "
      "itself, as moving statistics, is refused in training.";
  InnerLayer layer;
  int64_t inputs = 1;

  void fields(Fields &f) override {
    f("layer", layer, "the layer").required(R"({"class_name": "ReLU", "config": {}})");
    f("inputs", inputs, "how many of the inputs are the layer's").within(0, max_dim);
  }
  void check() override {
    if (!layer) refuse_attribute("layer", "expected a layer, got null");
  }
  Arity arity() const override { return {0, any_number}; }
  Facts facts() const override {
    Facts facts =
        PlainFacts{.inputs = {{"inputs...", "(...), those of the layer"}, {"weights...", "(...), each of its shape"}},
                   .outputs = {{"outputs", "(...), those of the layer"}},
                   .inside = {{"layer", "layer"}},
                   .mask = "as the layer does"};
    if (layer) facts.arguments = layer->facts().arguments;
    return facts;
  }

  std::vector<Symbol> call(Call &c) const override {
    if (std::ssize(c.in) < inputs) fail(Code::invalid_argument, "expected ", inputs, " inputs, got ", c.in.size());
    const auto first = static_cast<std::ptrdiff_t>(inputs);
    size_t next = static_cast<size_t>(inputs);
    std::map<std::string, ops::Id> given;
    const auto weight_of = [&](const WeightSpec &spec) {
      const auto [it, is_new] = given.try_emplace(spec.name, ops::none);
      if (is_new) it->second = value_of(c, next++, spec);
      return it->second;
    };
    GivenWeights host(c.host);
    Call inside(c.e, host, {}, c.arguments(), c.training());
    std::vector<Symbol> y = inside.run(layer, {c.in.begin(), c.in.begin() + first}, c.arguments(), weight_of);
    if (next != c.in.size())
      fail(Code::invalid_argument, "expected ", given.size(), " values for the weights of \"", layer.name, "\", got ",
           c.in.size() - static_cast<size_t>(inputs));
    return y;
  }

 private:
  static ops::Id value_of(Call &c, size_t i, const WeightSpec &spec) {
    if (i >= c.in.size())
      fail(Code::invalid_argument, "expected a value for weight \"", spec.name, "\" with shape ", spec.shape,
           " as input ", i, ", got ", c.in.size(), " inputs");
    const ops::Id value = c.in[i].value;
    if (c.e.dtype(value) != spec.dtype || !compatible(c.e.shape(value), spec.shape))
      fail(Code::shape_mismatch, "input ", i, ": expected ", spec.dtype, ' ', spec.shape, " for weight \"", spec.name,
           "\", got ", c.e.dtype(value), ' ', c.e.shape(value));
    return value;
  }
};

}  // namespace

DL4_KINDS(identity, ActivationLayer, IdentityLayer, Rescaling, ActivityRegularization, Cast, ReducePrecision,
          StopGradient)
DL4_KINDS(loss, LossLayer, MetricLayer)
DL4_KINDS(weight, LayerScale, CustomScaleLayer, StochasticDepth, WeightLayer)
DL4_KINDS(stateless_call, Pipeline, StatelessCall)

}  // namespace dl4::kinds
