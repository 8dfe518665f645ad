// Arange: indices of an axis. Range: as many indices as a number says.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct Arange final : LayerOf<Arange> {
  static constexpr const char *doc =
      "0, 1, 2 and so on, one for each place of an axis of the input: keras.ops.arange(x.shape[axis]), int32.";
  int64_t axis = 1;

  void fields(Fields &f) override { f("axis", axis).doc("the axis whose places are counted"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(x.shape[axis])"}}};

  std::vector<Symbol> call(Call &c) const override {
    return {{ops::cast(c.e, ops::indices(c.e, c.x(), c.shape().axis(axis)), DType::i32)}};
  }
};

struct Range final : LayerOf<Range> {
  static constexpr const char *doc =
      "0, 1, 2 and so on below a number that the input holds: int64. The number is known once a run has computed it, "
      "and "
      "with it the size of the output and of all that is made of it: a session runs such a model, with outputs that it "
      "makes; training and streams refuse it.";
  void fields(Fields &) override {}
  static constexpr PlainFacts plain{.inputs = {{"n", "(), an integer"}}, .outputs = {{"y", "(n)"}}};
  std::vector<Symbol> call(Call &c) const override { return {{ops::range(c.e, c.x())}}; }
};

}  // namespace
DL4_KINDS(arange, Arange, Range)
}  // namespace dl4::kinds
