// Dropout of single values and of whole maps.
#include "kinds/layers/random/dropping.hpp"

namespace dl4::kinds {
namespace {

struct Dropout : LayerOf<Dropout> {
  static constexpr const char *doc =
      "In training, sets values to 0 with probability rate and scales the others by 1 / (1 - rate).";
  double rate = 0;
  std::optional<NoiseShape> noise_shape;
  std::optional<int64_t> seed;

  void fields(Fields &f) override {
    f("rate", rate).required("0.3").at_least(0).at_most(1).doc("the fraction to drop");
    noise_shape_field(f, noise_shape);
    seed_field(f, seed);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    ops::Id keep = keep_mask(c, rate, seed, noise_shape);
    return {{keep == ops::none ? c.x() : ops::mul(c.e, c.x(), keep), c.mask()}};
  }
};

struct SpatialDropout final : Layer {
  struct Row : Entry {
    int axes;
    const char *shape;
  };
  enum class Order { channels_last, channels_first };

  explicit SpatialDropout(const Row &row) : row(row) {}
  const Row &row;
  double rate = 0;
  Order order = Order::channels_last;
  std::optional<int64_t> seed;

  void fields(Fields &f) override {
    f("rate", rate).required("0.3").at_least(0).at_most(1).doc("the fraction of channels to drop");
    if (row.axes > 1)
      f("data_format", order, {"channels_last", "channels_first"})
          .null_means(Order::channels_last)
          .doc("which axis is that of the channels: the last one, or the one behind the batch");
    seed_field(f, seed);
  }
  Facts facts() const override {
    return PlainFacts{.inputs = {{"x", row.shape}}, .outputs = {{"y", row.shape}}, .mask = "passed on"};
  }
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, row.axes + 2);
    c.need_float(0);
    NoiseShape shape(static_cast<size_t>(row.axes) + 2, 1);
    shape[0] = shape[order == Order::channels_first ? 1 : shape.size() - 1] = std::nullopt;
    const ops::Id keep = keep_mask(c, rate, seed, shape);
    return {{keep == ops::none ? c.x() : ops::mul(c.e, c.x(), keep), c.mask()}};
  }
};

constexpr SpatialDropout::Row row(const char *name, const char *doc, int axes, const char *shape) {
  return {row_of<SpatialDropout>(name, doc), axes, shape};
}

constexpr SpatialDropout::Row dropouts[] = {
    row("SpatialDropout1D",
        "In training, sets whole channels of an item to 0 with probability rate, at all steps, and scales the "
        "others by 1 / (1 - rate).",
        1, "(B, T, C)"),
    row("SpatialDropout2D",
        "In training, sets whole channels of an item to 0 with probability rate, in all of the image, and scales "
        "the others by 1 / (1 - rate).",
        2, "(B, H, W, C)"),
    row("SpatialDropout3D",
        "In training, sets whole channels of an item to 0 with probability rate, in all of the volume, and scales "
        "the others by 1 / (1 - rate).",
        3, "(B, D, H, W, C)"),
};

}  // namespace
DL4_KINDS(dropout, Dropout)
DL4_TABLE(SpatialDropouts, dropouts)
}  // namespace dl4::kinds
