// Keras's random changes of images: in inference the images as they are. A table of rows.
#include <deque>

#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct Augmentation final : Layer {
  struct Row : Entry {
    bool floats;  // it gives float32, whatever it takes
    Json given;   // the config by its defaults; what has none is {"example": a value as text}
  };

  explicit Augmentation(const Row &row) : row(row) {
    for (const auto &[key, v] : row.given.items()) {
      keys.emplace_back(key);
      values.push_back(v);
    }
  }
  const Row &row;
  std::deque<std::string> keys;
  std::deque<Json> values;

  void fields(Fields &f) override {
    for (size_t i = 0; i < keys.size(); ++i) {
      Field &field = f(keys[i].c_str(), values[i]).doc("of training, as in Keras");
      if (const Json *example = row.given[keys[i]].find("example")) field.required(example->get<std::string_view>());
    }
  }
  Facts facts() const override { return {.inputs = {{"x", "(B, H, W, C)"}}, .outputs = {{"y", "(B, H, W, C)"}}}; }
  std::vector<Symbol> call(Call &c) const override {
    if (c.training()) c.host.refuse_training();
    return {{row.floats ? ops::cast(c.e, c.x(), DType::f32) : c.x()}};
  }
};

const std::deque<Augmentation::Row> &augmentations() {
  static std::deque<Augmentation::Row> rows;
  if (!rows.empty()) return rows;
  const Json range = Json::array({0, 255}), one = Json::array({0.0, 1.0});
  const auto required = [](const char *example) { return Json{{"example", example}}; };
  const auto row = [&](const char *name, bool floats, Json given) {
    given["data_format"] = nullptr;
    if (!given.contains("seed")) given["seed"] = nullptr;
    rows.push_back({{"layer", name,
                     "Of images: in inference as they are, as in Keras. Training such a model is refused: the changes "
                     "that Keras makes then are not in this version.",
                     fresh<Augmentation>},
                    floats,
                    std::move(given)});
  };
  row("RandomBrightness", false, {{"factor", required("0.3")}, {"value_range", range}});
  row("RandomColorDegeneration", false, {{"factor", required("0.3")}, {"value_range", range}});
  row("RandomColorJitter", false,
      {{"value_range", range},
       {"brightness_factor", nullptr},
       {"contrast_factor", nullptr},
       {"saturation_factor", nullptr},
       {"hue_factor", nullptr}});
  row("RandomContrast", false, {{"factor", required("0.3")}, {"value_range", range}});
  row("RandomCrop", false, {{"height", required("4")}, {"width", required("4")}});
  row("RandomElasticTransform", true,
      {{"factor", 1.0},
       {"scale", 1.0},
       {"interpolation", "bilinear"},
       {"fill_mode", "reflect"},
       {"fill_value", 0.0},
       {"value_range", range}});
  row("RandomErasing", true,
      {{"factor", 1.0}, {"scale", Json::array({0.02, 0.33})}, {"fill_value", nullptr}, {"value_range", range}});
  row("RandomFlip", true, {{"mode", "horizontal_and_vertical"}});
  row("RandomGaussianBlur", true, {{"factor", 1.0}, {"kernel_size", 3}, {"sigma", 1.0}, {"value_range", range}});
  row("RandomGrayscale", false, {{"factor", 0.5}});
  row("RandomHue", false, {{"factor", required("0.3")}, {"value_range", range}});
  row("RandomInvert", false, {{"factor", 1.0}, {"value_range", range}});
  row("RandomPerspective", true, {{"factor", 1.0}, {"scale", 1.0}, {"interpolation", "bilinear"}, {"fill_value", 0.0}});
  row("RandomPosterization", false, {{"factor", required("0.3")}, {"value_range", range}});
  row("RandomRotation", true,
      {{"factor", required("0.3")}, {"fill_mode", "reflect"}, {"interpolation", "bilinear"}, {"fill_value", 0.0}});
  row("RandomSaturation", false, {{"factor", required("0.3")}, {"value_range", range}});
  row("RandomSharpness", true, {{"factor", required("0.3")}, {"value_range", range}});
  row("RandomShear", true,
      {{"x_factor", 0.0},
       {"y_factor", 0.0},
       {"interpolation", "bilinear"},
       {"fill_mode", "reflect"},
       {"fill_value", 0.0}});
  row("RandomTranslation", true,
      {{"height_factor", required("0.2")},
       {"width_factor", required("0.2")},
       {"fill_mode", "reflect"},
       {"interpolation", "bilinear"},
       {"fill_value", 0.0}});
  row("RandomZoom", true,
      {{"height_factor", required("0.2")},
       {"width_factor", nullptr},
       {"fill_mode", "reflect"},
       {"interpolation", "bilinear"},
       {"fill_value", 0.0}});
  row("AugMix", true,
      {{"value_range", range},
       {"num_chains", 3},
       {"chain_depth", 3},
       {"factor", 0.3},
       {"alpha", 1.0},
       {"all_ops", true},
       {"interpolation", "bilinear"}});
  row("CutMix", true, {{"factor", 1.0}});
  row("MixUp", false, {{"alpha", 0.2}});
  row("RandAugment", true, {{"value_range", range}, {"num_ops", 2}, {"factor", 0.5}, {"interpolation", "bilinear"}});
  row("Solarization", true, {{"addition_factor", 0.0}, {"threshold_factor", 0.0}, {"value_range", range}});
  return rows;
}

}  // namespace
DL4_KINDS(Augmentations, augmentations())
}  // namespace dl4::kinds
