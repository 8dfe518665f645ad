// Keras's random image augmentations, which do nothing in inference. A table of rows.
#include <deque>

#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct Augmentation final : LayerOf<Augmentation> {
  struct Row : Entry {
    bool floats;        // the output is float32 whatever the input
    const char *given;  // config defaults as JSON; attributes without default are {"example": value as text}
  };

  explicit Augmentation(const Row &row) : row(row), given(Json::parse(row.given)) {
    given["data_format"] = nullptr;
    given["seed"] = nullptr;
    for (const auto &[key, v] : given.items()) {
      keys.emplace_back(key);
      values.push_back(v);
    }
  }
  const Row &row;
  Json given;
  std::deque<std::string> keys;
  std::deque<Json> values;

  void fields(Fields &f) override {
    for (size_t i = 0; i < keys.size(); ++i) {
      Field &field = f(keys[i].c_str(), values[i]).doc("of training, as in Keras");
      if (const Json *example = given[keys[i]].find("example")) field.required(example->get<std::string_view>());
    }
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, H, W, C)"}}, .outputs = {{"y", "(B, H, W, C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    if (c.training()) c.host.refuse_training();
    return {{row.floats ? ops::cast(c.e, c.x(), DType::f32) : c.x()}};
  }
};

constexpr Augmentation::Row row(const char *name, bool floats, const char *given) {
  return {{"layer", name,
           "Of images: in inference as they are, as in Keras. Training such a model is refused: the changes that Keras "
           "makes then are not in this version.",
           fresh<Augmentation>},
          floats,
          given};
}

constexpr Augmentation::Row augmentations[] = {
    row("RandomBrightness", false, R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})"),
    row("RandomColorDegeneration", false, R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})"),
    row("RandomColorJitter", false,
        R"({"value_range": [0, 255], "brightness_factor": null, "contrast_factor": null, )"
        R"("saturation_factor": null, "hue_factor": null})"),
    row("RandomContrast", false, R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})"),
    row("RandomCrop", false, R"({"height": {"example": "4"}, "width": {"example": "4"}})"),
    row("RandomElasticTransform", true,
        R"({"factor": 1.0, "scale": 1.0, "interpolation": "bilinear", "fill_mode": "reflect", )"
        R"("fill_value": 0.0, "value_range": [0, 255]})"),
    row("RandomErasing", true,
        R"({"factor": 1.0, "scale": [0.02, 0.33], "fill_value": null, "value_range": [0, 255]})"),
    row("RandomFlip", true, R"({"mode": "horizontal_and_vertical"})"),
    row("RandomGaussianBlur", true, R"({"factor": 1.0, "kernel_size": 3, "sigma": 1.0, "value_range": [0, 255]})"),
    row("RandomGrayscale", false, R"({"factor": 0.5})"),
    row("RandomHue", false, R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})"),
    row("RandomInvert", false, R"({"factor": 1.0, "value_range": [0, 255]})"),
    row("RandomPerspective", true, R"({"factor": 1.0, "scale": 1.0, "interpolation": "bilinear", "fill_value": 0.0})"),
    row("RandomPosterization", false, R"({"factor": {"example": "4"}, "value_range": [0, 255]})"),
    row("RandomRotation", true,
        R"({"factor": {"example": "0.3"}, "fill_mode": "reflect", "interpolation": "bilinear", )"
        R"("fill_value": 0.0})"),
    row("RandomSaturation", false, R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})"),
    row("RandomSharpness", true, R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})"),
    row("RandomShear", true,
        R"({"x_factor": 0.0, "y_factor": 0.0, "interpolation": "bilinear", "fill_mode": "reflect", )"
        R"("fill_value": 0.0})"),
    row("RandomTranslation", true,
        R"({"height_factor": {"example": "0.2"}, "width_factor": {"example": "0.2"}, "fill_mode": "reflect", )"
        R"("interpolation": "bilinear", "fill_value": 0.0})"),
    row("RandomZoom", true,
        R"({"height_factor": {"example": "0.2"}, "width_factor": null, "fill_mode": "reflect", )"
        R"("interpolation": "bilinear", "fill_value": 0.0})"),
    row("AugMix", true,
        R"({"value_range": [0, 255], "num_chains": 3, "chain_depth": 3, "factor": 0.3, "alpha": 1.0, )"
        R"("all_ops": true, "interpolation": "bilinear"})"),
    row("CutMix", true, R"({"factor": 1.0})"),
    row("MixUp", false, R"({"alpha": 0.2})"),
    row("RandAugment", true, R"({"value_range": [0, 255], "num_ops": 2, "factor": 0.5, "interpolation": "bilinear"})"),
    row("Solarization", true, R"({"addition_factor": 0.0, "threshold_factor": 0.0, "value_range": [0, 255]})"),
};

}  // namespace
DL4_KINDS(Augmentations, augmentations)
}  // namespace dl4::kinds
