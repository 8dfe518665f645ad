// MaxPooling2D, AveragePooling2D: windows over images.
#include <array>
#include <optional>

#include "kinds/layer.hpp"
#include "kinds/layers/data_format.hpp"

namespace dl4::kinds {
namespace {

struct Pooling2D final : Layer {
  struct Row : Entry {
    bool average;
    int64_t pool_size;  // the default; 0: there is none
  };

  explicit Pooling2D(const Row &row) : row(row) { pool_size.fill(row.pool_size); }
  const Row &row;
  std::array<int64_t, 2> pool_size;
  std::optional<std::array<int64_t, 2>> strides;
  ops::Padding padding = ops::Padding::valid;
  DataFormat data_format;

  void fields(Fields &f) override {
    Field &size = f("pool_size", pool_size).at_least(1).at_most(max_dim).doc("size of the window");
    if (row.pool_size == 0) size.required();
    f("strides", strides).at_least(1).at_most(max_dim).doc("steps of the window; null = its size");
    f("padding", padding, {"valid", "same"})
        .doc("\"valid\": whole windows only; \"same\": also those that reach over the edge");
    data_format.fields(f);
  }
  void check() override {
    if (!strides) strides = pool_size;
  }
  Facts facts() const override { return {.inputs = {{"x", "(B, H, W, C)"}}, .outputs = {{"y", "(B, OH, OW, C)"}}}; }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 4);
    c.need_float(0);
    return {
        {ops::pool(c.e, c.x(), {.average = row.average, .size = pool_size, .strides = *strides, .padding = padding})}};
  }
};

const std::array<Pooling2D::Row, 2> &poolings() {
  static const std::array<Pooling2D::Row, 2> rows{{
      {{"layer",
        "MaxPooling2D",
        "The largest value of each window, channel by channel.",
        fresh<Pooling2D>,
        {"MaxPool2D"}},
       false,
       2},
      {{"layer",
        "AveragePooling2D",
        "The mean of each window, channel by channel, over the places that lie inside the image.",
        fresh<Pooling2D>,
        {"AvgPool2D"}},
       true,
       0},
  }};
  return rows;
}

}  // namespace
DL4_KINDS(Poolings, poolings())
}  // namespace dl4::kinds
