// GroupNormalization: normalises each sample over groups of channels.
#include "kinds/layers/normalization/scale_and_center.hpp"
#include "kinds/layers/normalization/standardized.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct GroupNormalization : LayerOf<GroupNormalization> {
  static constexpr const char *doc =
      "gamma * (x - mean) / sqrt(variance + epsilon) + beta, the mean and variance over a group of channels and all "
      "places of each item; gamma and beta for each channel.";
  int64_t groups = 32, axis = -1;
  double epsilon = 1e-3;
  ScaleAndCenter weights;

  void fields(Fields &f) override {
    f("groups", groups).example("2").at_least(-1).at_most(max_dim).doc("how many groups; -1 = one for each channel");
    f("axis", axis).doc("the axis of the channels");
    f("epsilon", epsilon).doc("added to the variance");
    weights.fields(f);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ..., C)"}},
                                    .outputs = {{"y", "(B, ..., C)"}},
                                    .weights = {{"gamma", "(C)", "scale"}, {"beta", "(C)", "center"}},
                                    .mask = "passed on"};
  void check() override {
    if (groups == 0) refuse_attribute("groups", "expected at least 1, or -1, got 0");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    c.need_float(0);
    ops::Emit &e = c.e;
    const int at = c.shape().axis(axis), rank = c.shape().rank();
    if (at == 0) fail(Code::invalid_argument, "\"axis\": expected an axis behind that of the batch, got ", axis);
    const int64_t dim = known_dim(c, at), count = groups == -1 ? dim : groups;
    if (count > dim || dim % count != 0)
      fail(Code::shape_mismatch, "\"groups\": expected a divisor of the ", dim, " channels, got ", count);
    Id gamma = weights.gamma(c, {dim}), beta = weights.beta(c, {dim});
    std::vector<int> places;
    Shape wide;  // a number per channel, broadcast against a sample
    for (int i = 1; i < rank; ++i) {
      if (i != at) places.push_back(i);
      wide = wide.inserted(i - 1, i == at ? dim : 1);
    }
    // Each channel's mean over its group. Reduces positions first, to read large data once and in order.
    auto group_mean = [&](Id v) {
      if (!places.empty()) v = reduce(e, ops::Reduce::mean, v, places);
      const Id channels = reshape(e, v, 1, {count, dim / count});
      return reshape(e, broadcast_like(e, reduce(e, ops::Reduce::mean, channels, {2}, true), channels), 1, wide);
    };
    const Id apart = sub(e, c.x(), group_mean(c.x()));
    const Id variance = group_mean(unary(e, ops::Unary::square, apart));
    Id by = unary(e, ops::Unary::rsqrt, add(e, variance, e.scalar(epsilon)));
    if (gamma != ops::none) by = mul(e, by, spread_over(e, gamma, c.x(), {at}));
    const Id y = mul(e, apart, by);
    return {{beta == ops::none ? y : add(e, y, spread_over(e, beta, c.x(), {at})), c.mask()}};
  }
};

}  // namespace
DL4_KINDS(group_normalization, GroupNormalization)
}  // namespace dl4::kinds
