// ReLU with slope, maximum and threshold.
#include <cmath>
#include <limits>

#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct ReLU : Layer {
  static constexpr const char *name = "ReLU";
  static constexpr const char *doc =
      "max_value where x >= max_value, x from the threshold up, else negative_slope * (x - threshold).";
  std::optional<double> max_value;
  double negative_slope = 0, threshold = 0;

  void fields(Fields &f) override {
    f("max_value", max_value).at_least(0).doc("the largest output; null = none");
    f("negative_slope", negative_slope).at_least(0).doc("slope below the threshold");
    f("threshold", threshold).at_least(0).doc("where the rise begins");
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    const DType type = c.e.dtype(c.x());
    if (type == DType::i32 || type == DType::i64) return {{whole(c, type), c.mask()}};
    c.need_float(0);
    bool plain = !max_value && negative_slope == 0 && threshold == 0;
    float most = max_value ? static_cast<float>(*max_value) : std::numeric_limits<float>::infinity();
    ops::Id y = plain ? ops::unary(c.e, ops::Unary::relu, c.x())
                      : ops::unary(c.e, ops::Unary::relu_general, c.x(),
                                   {static_cast<float>(negative_slope), most, static_cast<float>(threshold)});
    return {{y, c.mask()}};
  }

 private:
  // Integers stay integers, as in Keras, which then has no slope or threshold.
  ops::Id whole(Call &c, DType type) const {
    if (negative_slope != 0 || threshold != 0) c.need_float(0);
    const ops::Id y = ops::binary(c.e, ops::Binary::max, c.x(), c.e.scalar(0, type));
    if (!max_value) return y;
    if (*max_value != std::floor(*max_value)) c.need_float(0);
    return ops::binary(c.e, ops::Binary::min, y, c.e.scalar(*max_value, type));
  }
};

}  // namespace
DL4_KIND(ReLU)
}  // namespace dl4::kinds
