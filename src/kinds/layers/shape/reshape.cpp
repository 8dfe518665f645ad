// Reshape: the same elements with other axes after the batch.
#include <algorithm>

#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct Reshape : LayerOf<Reshape> {
  static constexpr const char *name = "Reshape";
  static constexpr const char *doc = "The same elements with other axes behind the batch.";
  std::vector<int64_t> target_shape;

  void fields(Fields &f) override {
    f("target_shape", target_shape)
        .required("[-1, 2]")
        .at_least(-1)
        .at_most(max_dim)
        .doc("the axes behind the batch; one may be -1: what is left");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...)"}}, .outputs = {{"y", "(B, *target_shape)"}}};
  void check() override {
    if (std::count(target_shape.begin(), target_shape.end(), free_dim) > 1)
      throw Error(Code::invalid_argument, "\"target_shape\": there must be at most one unknown dimension (-1)")
          .with("attribute", "target_shape");
    Shape limits(target_shape);
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    return {{ops::reshape(c.e, c.x(), 1, Shape(target_shape))}};
  }
};

struct ReshapeBatch : LayerOf<ReshapeBatch> {
  static constexpr const char *name = "ReshapeBatch";
  static constexpr const char *keras = "numpy.Reshape";
  static constexpr const char *doc = "The same elements with other axes, the batch's included: keras.ops.reshape.";
  std::vector<int64_t> shape;

  void fields(Fields &f) override {
    f("shape", shape).required("[-1, 6, 2]").at_least(-1).at_most(max_dim).doc("the axes; one may be -1: what is left");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(*shape)"}}};
  void check() override {
    if (std::count(shape.begin(), shape.end(), free_dim) > 1)
      throw Error(Code::invalid_argument, "\"shape\": there must be at most one unknown dimension (-1)")
          .with("attribute", "shape");
    Shape limits(shape);
  }

  std::vector<Symbol> call(Call &c) const override { return {{ops::reshape(c.e, c.x(), 0, Shape(shape))}}; }
};

}  // namespace
DL4_KIND(Reshape)
DL4_KIND(ReshapeBatch)
}  // namespace dl4::kinds
