// Cast and StopGradient: the same numbers in another type of data, or without a gradient.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct Cast : Layer {
  static constexpr const char *name = "Cast";
  static constexpr const char *keras = "core.Cast";
  static constexpr const char *doc = "The same numbers in another type of data: keras.ops.cast. Fractions are cut off.";
  enum class To { float32, int32, int64, uint8, boolean } to = To::float32;

  void fields(Fields &f) override {
    f("to", to, {"float32", "int32", "int64", "uint8", "bool"}).required(R"("int32")").doc("the type of the output");
  }
  Facts facts() const override { return {.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}}; }

  std::vector<Symbol> call(Call &c) const override {
    constexpr DType types[] = {DType::f32, DType::i32, DType::i64, DType::u8, DType::boolean};
    if (to == To::boolean && c.e.dtype(c.x()) != DType::boolean)
      return {{ops::binary(c.e, ops::Binary::not_equal, c.x(), c.e.scalar(0, c.e.dtype(c.x())))}};
    return {{ops::cast(c.e, c.x(), types[static_cast<size_t>(to)])}};
  }
};

struct StopGradient : Layer {
  static constexpr const char *name = "StopGradient";
  static constexpr const char *keras = "core.StopGradient";
  static constexpr const char *doc = "x, through which no gradient passes: keras.ops.stop_gradient.";

  Facts facts() const override {
    return {.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  }
  std::vector<Symbol> call(Call &c) const override { return {{ops::stop_gradient(c.e, c.x()), c.mask()}}; }
};

}  // namespace
DL4_KIND(Cast)
DL4_KIND(StopGradient)
}  // namespace dl4::kinds
