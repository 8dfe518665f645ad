// Weights as layers.
#include "base/error.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

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

}  // namespace
DL4_KINDS(weight, LayerScale, CustomScaleLayer, StochasticDepth, WeightLayer)
}  // namespace dl4::kinds
