// Global pooling over time, images or volumes.
#include "kinds/layers/conv/data_format.hpp"
#include "kinds/layers/core/masks.hpp"

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
    constexpr const char *in[] = {"(B, T, C)", "(B, H, W, C)", "(B, D, H, W, C)"};
    constexpr const char *out[] = {"(B, C), with keepdims (B, 1, C)", "(B, C), with keepdims (B, 1, 1, C)",
                                   "(B, C), with keepdims (B, 1, 1, 1, C)"};
    Facts f = PlainFacts{.inputs = {{"x", in[row.axes - 1]}}, .outputs = {{"y", out[row.axes - 1]}}};
    if (takes_mask()) {
      f.arguments = {{"mask", "tensor", "(B, T) bool: the steps to average over"}};
      f.mask = "used up";
    }
    return f;
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, row.axes + 2);
    if (row.how == ops::Reduce::mean) c.as_float(0);
    const DType from = c.e.dtype(c.x());
    if (from != DType::boolean) c.as_float(0);
    ops::Id mask = takes_mask() ? valid(c) : ops::none;
    if (mask != ops::none) {
      ops::Id y = mean_of_valid(c, mask, data_format.to_last(c.e, c.x()));
      return {{keepdims ? data_format.from_last(c.e, y) : y}};
    }
    std::vector<int> space;
    for (int i = 0; i < row.axes; ++i) space.push_back(data_format.space(i));
    return {{ops::cast(c.e, ops::reduce(c.e, row.how, c.x(), space, keepdims), from)}};
  }

 private:
  bool takes_mask() const { return row.axes == 1 && row.how == ops::Reduce::mean; }

  // The steps' mask. A mask that x carries covers its first axes, which are not the steps in channels-first order.
  ops::Id valid(Call &c) const {
    auto given = c.symbols("mask");
    if (!data_format.is_first()) return c.mask();
    const ops::Id m = given.empty() ? c.in[0].mask : given[0].value;
    if (m == ops::none) return m;
    const Shape steps{c.shape()[0], c.shape()[2]}, s = c.e.shape(m);
    if (s.rank() != 2 || !compatible(s, steps))
      fail(Code::shape_mismatch, "\"mask\": expected shape ", steps, ", a step each, got ", s);
    return ops::cast(c.e, m, DType::boolean);
  }

  ops::Id mean_of_valid(Call &c, ops::Id mask, ops::Id x) const {
    ops::Id total = ops::reduce(c.e, ops::Reduce::sum, where_valid(c.e, mask, x, 0), {1}, keepdims);
    ops::Id one_each = spread(c.e, ops::cast(c.e, mask, DType::f32), 3);
    ops::Id count = ops::reduce(c.e, ops::Reduce::sum, one_each, {1}, keepdims);
    return ops::div(c.e, total, ops::binary(c.e, ops::Binary::max, count, c.e.scalar(1)));
  }
};

constexpr GlobalPooling::Row row(const char *name, const char *alias, const char *doc, int axes, ops::Reduce how) {
  return {row_of<GlobalPooling>(name, doc, alias), axes, how};
}

constexpr GlobalPooling::Row global_poolings[] = {
    row("GlobalAveragePooling1D", "GlobalAvgPool1D",
        "The mean of each channel over time, over the valid steps where there is a mask. A sequence without any "
        "gives 0.",
        1, ops::Reduce::mean),
    row("GlobalAveragePooling2D", "GlobalAvgPool2D", "The mean of each channel over the image.", 2, ops::Reduce::mean),
    row("GlobalAveragePooling3D", "GlobalAvgPool3D", "The mean of each channel over the volume.", 3, ops::Reduce::mean),
    row("GlobalMaxPooling1D", "GlobalMaxPool1D", "The largest value of each channel over time.", 1, ops::Reduce::max),
    row("GlobalMaxPooling2D", "GlobalMaxPool2D", "The largest value of each channel over the image.", 2,
        ops::Reduce::max),
    row("GlobalMaxPooling3D", "GlobalMaxPool3D", "The largest value of each channel over the volume.", 3,
        ops::Reduce::max),
};

}  // namespace
DL4_TABLE(global_pooling, global_poolings)
}  // namespace dl4::kinds
