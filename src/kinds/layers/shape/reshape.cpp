// Reshape and sizes.
#include <algorithm>

#include "base/error.hpp"
#include "kinds/layer.hpp"
#include "ops/sizes.hpp"

namespace dl4::kinds {
namespace {

struct Reshape : LayerOf<Reshape> {
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
      refuse_attribute("target_shape", "there must be at most one unknown dimension (-1)");
    Shape limits(target_shape);
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    return {{ops::reshape(c.e, c.x(), 1, Shape(target_shape))}};
  }
};

struct ReshapeBatch : LayerOf<ReshapeBatch> {
  static constexpr const char *keras = "numpy.Reshape";
  static constexpr const char *doc = "The same elements with other axes, the batch's included: keras.ops.reshape.";
  std::vector<int64_t> shape;

  void fields(Fields &f) override {
    f("shape", shape).required("[-1, 6, 2]").at_least(-1).at_most(max_dim).doc("the axes; one may be -1: what is left");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(*shape)"}}};
  void check() override {
    if (std::count(shape.begin(), shape.end(), free_dim) > 1)
      refuse_attribute("shape", "there must be at most one unknown dimension (-1)");
    Shape limits(shape);
  }

  std::vector<Symbol> call(Call &c) const override { return {{ops::reshape(c.e, c.x(), 0, Shape(shape))}}; }
};

constexpr const char *formula_doc =
    "postfix formulas: \"0.1\" is axis 1 of input 0, and \"0.1 2 * 1 +\" is twice that size plus 1. Operators: + - * / "
    "(towards zero) % (with the sign of the divisor) max min = <";

std::vector<ops::Id> values(const Call &c) {
  std::vector<ops::Id> all;
  for (const Symbol &s : c.in) all.push_back(s.value);
  return all;
}

struct Sizes final : LayerOf<Sizes> {
  static constexpr const char *doc = "Integers computed from the sizes of axes, as keras.ops.shape gives them: int64.";
  std::vector<std::string> sizes;

  void fields(Fields &f) override { f("sizes", sizes).required("[\"0.1\", \"0.0 1 +\"]").doc(formula_doc); }
  Arity arity() const override { return {1, any_number}; }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...), any number of them"}}, .outputs = {{"y", "(len(sizes))"}}};
  void check() override { ops::formulas(sizes); }
  std::vector<Symbol> call(Call &c) const override { return {{ops::sizes(c.e, values(c), ops::formulas(sizes))}}; }
};

struct Zeros final : LayerOf<Zeros> {
  static constexpr const char *doc =
      "A tensor of false, its shape computed from the sizes of axes: keras.ops.zeros(shape, \"bool\").";
  std::vector<std::string> shape;

  void fields(Fields &f) override { f("shape", shape).required("[\"0.0\", \"0.1 1 +\"]").doc(formula_doc); }
  Arity arity() const override { return {1, any_number}; }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...), any number of them"}}, .outputs = {{"y", "(*shape)"}}};
  void check() override {
    if (shape.size() > static_cast<size_t>(max_rank))
      refuse_attribute("shape", "expected at most ", max_rank, " axes, got ", shape.size());
    ops::formulas(shape);
  }
  std::vector<Symbol> call(Call &c) const override { return {{ops::zeros_of(c.e, values(c), ops::formulas(shape))}}; }
};

struct ReshapeLike final : LayerOf<ReshapeLike> {
  static constexpr const char *doc = "Gives x the shape of another value: keras.ops.reshape(x, keras.ops.shape(like)).";
  void fields(Fields &) override {}
  Arity arity() const override { return {2, 2}; }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}, {"like", "(...), as many elements"}},
                                    .outputs = {{"y", "(*like.shape)"}}};
  std::vector<Symbol> call(Call &c) const override { return {{ops::reshape_like(c.e, c.x(0), c.x(1))}}; }
};

}  // namespace
DL4_KINDS(reshape, Reshape, ReshapeBatch, Sizes, Zeros, ReshapeLike)
}  // namespace dl4::kinds
