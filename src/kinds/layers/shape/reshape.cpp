// Axes joined, split, counted or in another order, and their sizes.
#include <algorithm>

#include "base/error.hpp"
#include "kinds/layer.hpp"
#include "kinds/layers/conv/data_format.hpp"
#include "kinds/layers/core/facts.hpp"
#include "ops/sizes.hpp"

namespace dl4::kinds {
namespace {

struct Reshape : LayerOf<Reshape> {
  static constexpr const char *doc = "The same elements with other axes behind the batch.";
  std::vector<int64_t> target_shape;

  void fields(Fields &f) override {
    f("target_shape", target_shape, "the axes behind the batch; one may be -1: what is left")
        .required("[-1, 2]")
        .within(-1, max_dim);
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
    f("shape", shape, "the axes; one may be -1: what is left").required("[-1, 6, 2]").within(-1, max_dim);
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

  void fields(Fields &f) override { f("sizes", sizes, formula_doc).required("[\"0.1\", \"0.0 1 +\"]"); }
  Arity arity() const override { return {1, any_number}; }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...), any number of them"}}, .outputs = {{"y", "(len(sizes))"}}};
  void check() override { ops::formulas(sizes); }
  std::vector<Symbol> call(Call &c) const override { return {{ops::sizes(c.e, values(c), ops::formulas(sizes))}}; }
};

struct Zeros final : LayerOf<Zeros> {
  static constexpr const char *doc =
      "A tensor of false, its shape computed from the sizes of axes: keras.ops.zeros(shape, \"bool\").";
  std::vector<std::string> shape;

  void fields(Fields &f) override { f("shape", shape, formula_doc).required("[\"0.0\", \"0.1 1 +\"]"); }
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

struct Flatten : LayerOf<Flatten> {
  static constexpr const char *doc = "Joins all axes but the batch into one, in row-major order, the channels last.";
  DataFormat data_format;

  void fields(Fields &f) override { data_format.fields(f); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...)"}}, .outputs = {{"y", "(B, N)"}}};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    if (c.shape().rank() == 1) return {{ops::expand_dims(c.e, c.x(), -1)}};
    return {{ops::reshape(c.e, data_format.to_last(c.e, c.x()), 1, {free_dim})}};
  }
};

struct Permute : LayerOf<Permute> {
  static constexpr const char *doc = "The axes behind the batch in another order.";
  std::vector<int64_t> dims;

  void fields(Fields &f) override {
    f("dims", dims, "the input's axes, counted from 1, in the order of the output: [2, 1] swaps the first two")
        .required("[2, 1]")
        .at_least(1);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...)"}}, .outputs = {{"y", "(B, ...)"}}};
  void check() override {
    std::vector<int64_t> sorted = dims;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != static_cast<int64_t>(i) + 1)
        refuse_attribute("dims", "the set of indices must be consecutive and start from 1");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(dims.size()) + 1);
    std::vector<int> perm{0};
    for (int64_t d : dims) perm.push_back(static_cast<int>(d));
    return {{ops::transpose(c.e, c.x(), std::move(perm))}};
  }
};

struct Transpose : LayerOf<Transpose> {
  static constexpr const char *keras = "numpy.Transpose";
  static constexpr const char *doc = "The axes in another order, the batch included: keras.ops.transpose.";
  std::optional<std::vector<int64_t>> perm;

  void fields(Fields &f) override {
    f("perm", perm, "the input's axes, counted from 0, in the order of the output; null reverses them")
        .example("[0, 2, 1]");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};

  std::vector<Symbol> call(Call &c) const override {
    int rank = c.shape().rank();
    std::vector<int> order, sorted;
    for (int i = 0; i < rank; ++i) sorted.push_back(i);
    if (!perm) {
      order.assign(sorted.rbegin(), sorted.rend());
    } else {
      c.need_rank(0, static_cast<int>(perm->size()));
      for (int64_t axis : *perm) order.push_back(c.shape().axis(axis));
      if (!std::is_permutation(order.begin(), order.end(), sorted.begin()))
        refuse_attribute("perm", "expected every axis once");
    }
    return {{ops::transpose(c.e, c.x(), std::move(order))}};
  }
};

struct Arange final : LayerOf<Arange> {
  static constexpr const char *doc =
      "0, 1, 2 and so on, one for each place of an axis of the input: keras.ops.arange(x.shape[axis]), int32.";
  int64_t axis = 1;

  void fields(Fields &f) override { f("axis", axis, "the axis whose places are counted"); }
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

DL4_KINDS(reshape, Reshape, ReshapeBatch, Sizes, Zeros, ReshapeLike, Flatten, Permute, Transpose, Arange, Range)

}  // namespace dl4::kinds
