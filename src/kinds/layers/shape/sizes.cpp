// Sizes, Zeros, ReshapeLike: values and shapes computed from dims.
#include "ops/sizes.hpp"

#include "base/error.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

constexpr const char *formula_doc =
    "postfix formulas: \"0.1\" is axis 1 of input 0, and \"0.1 2 * 1 +\" is twice that size plus 1. Operators: + - * / "
    "(towards zero) % (with the sign of the divisor) max min = <";

std::vector<ops::Id> values(const Call &c) {
  std::vector<ops::Id> all;
  for (const Symbol &s : c.in) all.push_back(s.value);
  return all;
}

struct Sizes final : LayerOf<Sizes> {
  static constexpr const char *name = "Sizes";
  static constexpr const char *doc = "Integers computed from the sizes of axes, as keras.ops.shape gives them: int64.";
  std::vector<std::string> sizes;

  void fields(Fields &f) override { f("sizes", sizes).required("[\"0.1\", \"0.0 1 +\"]").doc(formula_doc); }
  Arity arity() const override { return {1, any_number}; }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...), any number of them"}}, .outputs = {{"y", "(len(sizes))"}}};
  void check() override { ops::formulas(sizes); }
  std::vector<Symbol> call(Call &c) const override { return {{ops::sizes(c.e, values(c), ops::formulas(sizes))}}; }
};

struct Zeros final : LayerOf<Zeros> {
  static constexpr const char *name = "Zeros";
  static constexpr const char *doc =
      "A tensor of false, its shape computed from the sizes of axes: keras.ops.zeros(shape, \"bool\").";
  std::vector<std::string> shape;

  void fields(Fields &f) override { f("shape", shape).required("[\"0.0\", \"0.1 1 +\"]").doc(formula_doc); }
  Arity arity() const override { return {1, any_number}; }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...), any number of them"}}, .outputs = {{"y", "(*shape)"}}};
  void check() override {
    if (shape.size() > static_cast<size_t>(max_rank))
      throw Error(Code::invalid_argument, text("\"shape\": expected at most ", max_rank, " axes, got ", shape.size()))
          .with("attribute", "shape");
    ops::formulas(shape);
  }
  std::vector<Symbol> call(Call &c) const override { return {{ops::zeros_of(c.e, values(c), ops::formulas(shape))}}; }
};

struct ReshapeLike final : LayerOf<ReshapeLike> {
  static constexpr const char *name = "ReshapeLike";
  static constexpr const char *doc = "Gives x the shape of another value: keras.ops.reshape(x, keras.ops.shape(like)).";
  void fields(Fields &) override {}
  Arity arity() const override { return {2, 2}; }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}, {"like", "(...), as many elements"}},
                                    .outputs = {{"y", "(*like.shape)"}}};
  std::vector<Symbol> call(Call &c) const override { return {{ops::reshape_like(c.e, c.x(0), c.x(1))}}; }
};

}  // namespace
DL4_KIND(Sizes)
DL4_KIND(Zeros)
DL4_KIND(ReshapeLike)
}  // namespace dl4::kinds
