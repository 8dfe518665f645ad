// The global poolings: all of time, or of an image, at once.
#include <array>

#include "kinds/layers/data_format.hpp"
#include "kinds/layers/masks.hpp"

namespace dl4::kinds {
namespace {

struct GlobalPooling final : Layer {
  struct Row : Entry {
    int axes;
    ops::Reduce how;
  };

  explicit GlobalPooling(const Row &row) : row(row) {}
  const Row &row;
  DataFormat data_format;
  bool keepdims = false;

  void fields(Fields &f) override {
    data_format.fields(f);
    f("keepdims", keepdims).doc("whether the axes stay, with size 1");
  }
  Facts facts() const override {
    Facts f = row.axes == 1
                  ? Facts{.inputs = {{"x", "(B, T, C)"}}, .outputs = {{"y", "(B, C), with keepdims (B, 1, C)"}}}
                  : Facts{.inputs = {{"x", "(B, H, W, C)"}}, .outputs = {{"y", "(B, C), with keepdims (B, 1, 1, C)"}}};
    if (takes_mask()) {
      f.arguments = {{"mask", "tensor", "(B, T) bool: the steps to average over"}};
      f.mask = "used up";
    }
    return f;
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, row.axes + 2);
    c.need_float(0);
    ops::Id mask = takes_mask() ? c.mask() : ops::none;
    if (mask != ops::none) return {{mean_of_valid(c, mask)}};
    return {{ops::reduce(c.e, row.how, c.x(), row.axes == 1 ? std::vector<int>{1} : std::vector<int>{1, 2}, keepdims)}};
  }

 private:
  bool takes_mask() const { return row.axes == 1 && row.how == ops::Reduce::mean; }

  ops::Id mean_of_valid(Call &c, ops::Id mask) const {
    ops::Id total = ops::reduce(c.e, ops::Reduce::sum, where_valid(c.e, mask, c.x(), 0), {1}, keepdims);
    ops::Id one_each = spread(c.e, ops::cast(c.e, mask, DType::f32), 3);
    ops::Id count = ops::reduce(c.e, ops::Reduce::sum, one_each, {1}, keepdims);
    return ops::div(c.e, total, ops::binary(c.e, ops::Binary::max, count, c.e.scalar(1)));
  }
};

GlobalPooling::Row row(const char *name, const char *alias, const char *doc, int axes, ops::Reduce how) {
  return {{"layer", name, doc, fresh<GlobalPooling>, {alias}}, axes, how};
}

const std::array<GlobalPooling::Row, 4> &global_poolings() {
  static const std::array<GlobalPooling::Row, 4> rows{
      row("GlobalAveragePooling1D", "GlobalAvgPool1D",
          "The mean of each channel over time, over the valid steps where there is a mask. A sequence without any "
          "gives 0.",
          1, ops::Reduce::mean),
      row("GlobalAveragePooling2D", "GlobalAvgPool2D", "The mean of each channel over the image.", 2,
          ops::Reduce::mean),
      row("GlobalMaxPooling1D", "GlobalMaxPool1D", "The largest value of each channel over time.", 1, ops::Reduce::max),
      row("GlobalMaxPooling2D", "GlobalMaxPool2D", "The largest value of each channel over the image.", 2,
          ops::Reduce::max),
  };
  return rows;
}

}  // namespace
DL4_KINDS(GlobalPoolings, global_poolings())
}  // namespace dl4::kinds
