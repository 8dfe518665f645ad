// Pooling over windows, to a given size and over all places.

#include "kinds/layers/conv/data_format.hpp"
#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {
namespace {

// N: number of spatial axes.
template <size_t N>
Facts facts_of() {
  constexpr const char *in[] = {"(B, T, C)", "(B, H, W, C)", "(B, D, H, W, C)"};
  constexpr const char *out[] = {"(B, OT, C)", "(B, OH, OW, C)", "(B, OD, OH, OW, C)"};
  static constexpr PlainFacts plain{.inputs = {{"x", in[N - 1]}}, .outputs = {{"y", out[N - 1]}}};
  return plain;
}

Symbol pooled(Call &c, const DataFormat &format, const ops::Pool &how) {
  c.need_rank(0, static_cast<int>(how.size.size()) + 2);
  const DType from = c.e.dtype(c.x());
  if (how.average || from == DType::boolean) c.need_float(0);
  c.as_float(0);
  return {ops::cast(c.e, format.from_last(c.e, ops::pool(c.e, format.to_last(c.e, c.x()), how)), from)};
}

template <size_t N>
struct Pooling final : Layer {
  struct Row : Entry {
    bool average;
    int64_t pool_size;  // default; 0: required
  };

  explicit Pooling(const Row &row) : row(row) { pool_size.fill(row.pool_size); }
  const Row &row;
  std::array<int64_t, N> pool_size;
  std::optional<std::array<int64_t, N>> strides;
  ops::Padding padding = ops::Padding::valid;
  DataFormat data_format;

  void fields(Fields &f) override {
    Field &size = f("pool_size", pool_size, "size of the window").within(1, max_dim);
    if (row.pool_size == 0) size.required("2");
    f("strides", strides, "steps of the window; null = its size").within(1, max_dim);
    f("padding", padding, {"valid", "same"},
      "\"valid\": whole windows only; \"same\": also those that reach over the edge");
    data_format.fields(f);
  }
  void check() override {
    if (!strides) strides = pool_size;
  }
  Facts facts() const override { return facts_of<N>(); }

  std::vector<Symbol> call(Call &c) const override {
    return {pooled(c, data_format,
                   {.average = row.average,
                    .size = {pool_size.begin(), pool_size.end()},
                    .strides = {strides->begin(), strides->end()},
                    .padding = padding})};
  }
};

template <size_t N>
struct AdaptivePooling final : Layer {
  struct Row : Entry {
    bool average;
  };

  explicit AdaptivePooling(const Row &row) : row(row) {}
  const Row &row;
  std::array<int64_t, N> output_size{};
  DataFormat data_format;

  void fields(Fields &f) override {
    f("output_size", output_size, "places of the output along each axis").required("2").within(1, max_dim);
    data_format.fields(f);
  }
  Facts facts() const override { return facts_of<N>(); }

  std::vector<Symbol> call(Call &c) const override {
    return {pooled(
        c, data_format,
        {.average = row.average, .size = {output_size.begin(), output_size.end()}, .strides = {}, .adaptive = true})};
  }
};

constexpr const char *largest =
    "The largest value of each window, channel by channel. Whole numbers stay such; those beyond 2^24 are rounded.";
constexpr const char *mean = "The mean of each window, channel by channel, over the places that lie inside.";
constexpr const char *largest_of_parts =
    "The largest value of each part, channel by channel, of as many parts as asked for: from i * n / parts to (i + 1) "
    "* n / parts, outwards to whole places.";
constexpr const char *mean_of_parts =
    "The mean of each part, channel by channel, of as many parts as asked for: from i * n / parts to (i + 1) * n / "
    "parts, outwards to whole places.";

template <size_t N>
constexpr typename Pooling<N>::Row poolings[] = {
    {row_of<Pooling<N>>(by_axes<N>("MaxPooling1D", "MaxPooling2D", "MaxPooling3D"), largest,
                        by_axes<N>("MaxPool1D", "MaxPool2D", "MaxPool3D")),
     false, 2},
    {row_of<Pooling<N>>(by_axes<N>("AveragePooling1D", "AveragePooling2D", "AveragePooling3D"), mean,
                        by_axes<N>("AvgPool1D", "AvgPool2D", "AvgPool3D")),
     true, 0},
};
template <size_t N>
constexpr typename AdaptivePooling<N>::Row adaptive_poolings[] = {
    {row_of<AdaptivePooling<N>>(by_axes<N>("AdaptiveMaxPooling1D", "AdaptiveMaxPooling2D", "AdaptiveMaxPooling3D"),
                                largest_of_parts),
     false},
    {row_of<AdaptivePooling<N>>(
         by_axes<N>("AdaptiveAveragePooling1D", "AdaptiveAveragePooling2D", "AdaptiveAveragePooling3D"), mean_of_parts),
     true},
};

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
    f("keepdims", keepdims, "whether the axes stay, with size 1");
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

DL4_TABLE(pooling, poolings<1>, adaptive_poolings<1>, poolings<2>, adaptive_poolings<2>, poolings<3>,
          adaptive_poolings<3>, global_poolings)

}  // namespace dl4::kinds
