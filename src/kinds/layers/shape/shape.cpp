// Axes joined, split, counted or in another order, and their sizes.
// Take, Slice, Flip, Stack, Repeat, ExpandDims, Squeeze of keras.ops as layers.
#include <variant>

#include "kinds/layers/conv/data_format.hpp"
#include "ops/sizes.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

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

struct Take final : LayerOf<Take> {
  static constexpr const char *keras = "numpy.Take";
  static constexpr const char *doc =
      "The places of an axis that indices name, in their order: keras.ops.take. An index outside [-n, n) is an error.";
  std::optional<std::variant<int64_t, std::vector<int64_t>>> indices;
  std::optional<int64_t> axis;

  void fields(Fields &f) override {
    f("indices", indices,
      "which places: a list, or a number, whose axis goes; negative: from the end; null: the second input says")
        .within(INT32_MIN, max_dim);
    f("axis", axis, "the axis; null: x as one axis");
  }
  Arity arity() const override { return indices ? Arity{1, 1} : Arity{2, 2}; }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}, {"indices", "(...), integers", "indices null"}},
                                    .outputs = {{"y", "x's axes with those of the indices in the axis's place"}}};

  std::vector<Symbol> call(Call &c) const override {
    Id x = axis ? c.x() : ops::reshape(c.e, c.x(), 0, {free_dim});
    const Shape s = c.e.shape(x);
    const int along = s.axis(axis.value_or(0));
    Id ids = indices ? given(c, s[along]) : wanted(c, s[along]);
    const int rank = s.rank(), more = c.e.rank(ids);
    std::vector<int> forth(static_cast<size_t>(rank));
    std::iota(forth.begin(), forth.end(), 0);
    std::rotate(forth.begin(), forth.begin() + along, forth.begin() + along + 1);
    if (along > 0) x = ops::transpose(c.e, x, forth);
    Id y = ops::gather(c.e, x, ids);
    // Moves the axes before the gathered one back in front of the indices' axes.
    std::vector<int> back(static_cast<size_t>(rank - 1 + more));
    std::iota(back.begin(), back.end(), 0);
    std::rotate(back.begin(), back.begin() + more, back.begin() + more + along);
    return {{along > 0 && more > 0 ? ops::transpose(c.e, y, back) : y}};
  }

 private:
  Id given(Call &c, int64_t n) const {
    const auto *list = std::get_if<1>(&*indices);
    const std::vector<int64_t> all = list ? *list : std::vector<int64_t>{std::get<0>(*indices)};
    Tensor t = make_tensor(DType::i64, list ? Shape{static_cast<int64_t>(all.size())} : Shape{});
    for (size_t i = 0; i < all.size(); ++i) {
      if (n == free_dim ? all[i] < 0 : all[i] < -n || all[i] >= n)
        fail(Code::shape_mismatch, "\"indices\": ", all[i], " is outside the axis of ",
             n == free_dim ? "unknown size" : text(n, " places"), " of an input ", c.shape());
      t.as<int64_t>()[i] = all[i] < 0 ? all[i] + n : all[i];
    }
    return c.e.constant(std::move(t));
  }

  static Id wanted(Call &c, int64_t n) {
    const Id ids = c.x(1);
    const DType type = c.e.dtype(ids);
    if (type != DType::i32 && type != DType::i64 && type != DType::u8)
      fail(Code::invalid_argument, "input 1: expected integers, found dtype=", type);
    if (n == free_dim || type == DType::u8) return ids;
    const Id negative = ops::binary(c.e, ops::Binary::less, ids, c.e.scalar(0, type));
    return ops::select(c.e, negative, ops::add(c.e, ids, c.e.scalar(static_cast<double>(n), type)), ids);
  }
};

struct Slice final : LayerOf<Slice> {
  static constexpr const char *doc = "A block of x: keras.ops.slice.";
  std::vector<int64_t> start_indices, sizes;

  void fields(Fields &f) override {
    f("start_indices", start_indices, "the first place of each axis; negative: counted from its end")
        .required("[0, 1, 0]")
        .within(-max_dim, max_dim);
    f("shape", sizes,
      "how many places of each axis; -1: to its end; -1 - n: all but the last n, from a place that is not "
      "negative")
        .required("[-1, 2, 2]")
        .within(-max_dim, max_dim);
  }
  void check() override {
    if (start_indices.size() != sizes.size())
      refuse_attribute("shape", "expected ", start_indices.size(),
                       " axes as \"start_indices\" "
                       "has, got ",
                       sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] < -1 && start_indices[i] < 0)
        refuse_attribute("shape", "expected at least -1 where the first place is ", start_indices[i], ", got ",
                         sizes[i]);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(*shape)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(sizes.size()));
    Id y = c.x();
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto axis = static_cast<int>(i);
      if (sizes[i] < -1)
        y = ops::pad(c.e, y, axis, -start_indices[i], sizes[i] + 1);
      else if (start_indices[i] != 0 || sizes[i] != -1)
        y = ops::slice(c.e, y, axis, start_indices[i], sizes[i]);
    }
    return {{y}};
  }
};

struct Flip final : LayerOf<Flip> {
  static constexpr const char *keras = "numpy.Flip";
  static constexpr const char *doc = "Axes from their end to their beginning: keras.ops.flip.";
  std::optional<std::vector<int64_t>> axis;

  void fields(Fields &f) override { f("axis", axis, "the axis, or a list of axes; null: all, the batch's included"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};
  std::vector<Symbol> call(Call &c) const override {
    Id y = c.x();
    if (axis)
      for (int64_t a : *axis) y = ops::flip(c.e, y, c.shape().axis(a));
    else
      for (int i = 0; i < c.shape().rank(); ++i) y = ops::flip(c.e, y, i);
    return {{y}};
  }
};

struct Stack final : LayerOf<Stack> {
  static constexpr const char *keras = "numpy.Stack";
  static constexpr const char *doc = "Inputs of one shape side by side along a new axis: keras.ops.stack.";
  int64_t axis = 0;

  void fields(Fields &f) override { f("axis", axis, "where the new axis stands in the output"); }
  Arity arity() const override { return {1, any_number}; }
  static constexpr PlainFacts plain{.inputs = {{"x...", "(...), all of one shape"}},
                                    .outputs = {{"y", "(...) with an axis more"}}};
  std::vector<Symbol> call(Call &c) const override {
    const Shape s = c.shape();
    const int along = s.inserted(0, 1).axis(axis);
    std::vector<Id> all;
    for (int i = 0; i < static_cast<int>(c.in.size()); ++i) {
      if (c.shape(i).rank() != s.rank() || !compatible(c.shape(i), s))
        fail(Code::shape_mismatch, "input ", i, ": expected the shape of input 0, ", s, ", got ", c.shape(i));
      all.push_back(ops::expand_dims(c.e, c.x(i), along));
    }
    return {{ops::concat(c.e, all, along)}};
  }
};

struct Repeat final : LayerOf<Repeat> {
  static constexpr const char *keras = "numpy.Repeat";
  static constexpr const char *doc = "Each place of an axis several times: keras.ops.repeat.";
  int64_t repeats = 1, axis = 0;

  void fields(Fields &f) override {
    f("repeats", repeats, "how often each place stands").required("2").within(1, max_dim);
    f("axis", axis, "the axis").required("1");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};
  std::vector<Symbol> call(Call &c) const override {
    return {{ops::repeat(c.e, c.x(), c.shape().axis(axis), repeats)}};
  }
};

struct ExpandDims final : LayerOf<ExpandDims> {
  static constexpr const char *keras = "numpy.ExpandDims";
  static constexpr const char *doc = "New axes of size 1: keras.ops.expand_dims.";
  std::vector<int64_t> axis;

  void fields(Fields &f) override {
    f("axis", axis, "where the new axis stands in the output, or a list of such places").required("1");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...) with axes more"}}};
  std::vector<Symbol> call(Call &c) const override {
    const Shape whole(std::vector<int64_t>(c.shape().dims().size() + axis.size(), 1));
    std::vector<int> places;
    for (int64_t a : axis) places.push_back(whole.axis(a));
    std::sort(places.begin(), places.end());
    if (std::adjacent_find(places.begin(), places.end()) != places.end())
      fail(Code::invalid_argument, "\"axis\": expected each place once");
    Id y = c.x();
    for (int place : places) y = ops::expand_dims(c.e, y, place);
    return {{y}};
  }
};

struct Squeeze final : LayerOf<Squeeze> {
  static constexpr const char *keras = "numpy.Squeeze";
  static constexpr const char *doc = "Axes of size 1 left out: keras.ops.squeeze.";
  std::optional<std::vector<int64_t>> axis;

  void fields(Fields &f) override { f("axis", axis, "the axis, or a list of axes; null: all of size 1"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...) with axes less"}}};
  std::vector<Symbol> call(Call &c) const override {
    std::vector<int> gone;
    if (axis)
      for (int64_t a : *axis) gone.push_back(c.shape().axis(a));
    else
      for (int i = 0; i < c.shape().rank(); ++i)
        if (c.shape()[i] == 1) gone.push_back(i);
    std::sort(gone.rbegin(), gone.rend());
    if (std::adjacent_find(gone.begin(), gone.end()) != gone.end())
      fail(Code::invalid_argument, "\"axis\": expected each axis once");
    Id y = c.x();
    for (int a : gone) y = ops::squeeze(c.e, y, a);
    return {{y}};
  }
};

}  // namespace

DL4_KINDS(reshape, Reshape, ReshapeBatch, Sizes, Zeros, ReshapeLike, Flatten, Permute, Transpose, Arange, Range)
DL4_KINDS(take, Take, Slice, Flip, Stack, Repeat, ExpandDims, Squeeze)

}  // namespace dl4::kinds
