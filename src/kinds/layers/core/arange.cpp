// Arange: the places of an axis.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct Arange final : Layer {
  static constexpr const char *name = "Arange";
  static constexpr const char *doc =
      "0, 1, 2 and so on, one for each place of an axis of the input: keras.ops.arange(x.shape[axis]), int32.";
  int64_t axis = 1;

  void fields(Fields &f) override { f("axis", axis).doc("the axis whose places are counted"); }
  Facts facts() const override { return {.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(x.shape[axis])"}}}; }

  std::vector<Symbol> call(Call &c) const override {
    return {{ops::cast(c.e, ops::indices(c.e, c.x(), c.shape().axis(axis)), DType::i32)}};
  }
};

}  // namespace
DL4_KIND(Arange)
}  // namespace dl4::kinds
