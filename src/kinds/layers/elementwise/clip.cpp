// Elementwise functions of keras.ops with attributes.
#include <optional>

#include "base/error.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct Clip final : LayerOf<Clip> {
  static constexpr const char *keras = "numpy.Clip";
  static constexpr const char *doc = "x, but x_min where it is below that and x_max where it is above: keras.ops.clip.";
  double x_min = 0, x_max = 0;

  void fields(Fields &f) override {
    f("x_min", x_min).required("0").doc("the smallest value");
    f("x_max", x_max).required("1").doc("the largest value; not below x_min");
  }
  void check() override {
    if (x_min > x_max)
      refuse_attribute("x_max", "expected at least x_min, ", Json(x_min).dump(), ", got ", Json(x_max).dump());
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    return {{ops::clip(c.e, c.x(), x_min, x_max)}};
  }
};

struct Where final : LayerOf<Where> {
  static constexpr const char *keras = "numpy.Where";
  static constexpr const char *doc = "x1 where a condition holds, else x2: keras.ops.where.";
  std::optional<double> x1, x2;

  void fields(Fields &f) override {
    f("x1", x1).doc("a number in place of the input x1");
    f("x2", x2).doc("a number in place of the input x2");
  }
  static constexpr PlainFacts plain{.inputs = {{"condition", "(...): bool, or not 0"},
                                               {"x1", "(...), shapes that broadcast", "x1 null"},
                                               {"x2", "(...), shapes that broadcast", "x2 null"}},
                                    .outputs = {{"y", "(...)"}}};
  Arity arity() const override {
    const int n = 3 - (x1 ? 1 : 0) - (x2 ? 1 : 0);
    return {n, n};
  }
  std::vector<Symbol> call(Call &c) const override {
    const DType type = x1 && x2 ? DType::f32 : c.e.dtype(c.x(1));
    Id a = x1 ? c.e.scalar(*x1, type) : c.x(1);
    Id b = x2 ? c.e.scalar(*x2, type) : c.x(x1 ? 1 : 2);
    if (c.e.dtype(a) != c.e.dtype(b))
      fail(Code::invalid_argument, "input 2: expected dtype=", c.e.dtype(a),
           " as input 1 has, found dtype=", c.e.dtype(b));
    return {{ops::select(c.e, ops::cast(c.e, c.x(), DType::boolean), a, b)}};
  }
};

}  // namespace
DL4_KINDS(clip, Clip, Where)
}  // namespace dl4::kinds
