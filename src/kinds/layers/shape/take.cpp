// Take, Slice, Flip, Stack, Repeat, ExpandDims, Squeeze of keras.ops as layers.
#include <algorithm>
#include <numeric>
#include <variant>

#include "base/error.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

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
DL4_KINDS(take, Take, Slice, Flip, Stack, Repeat, ExpandDims, Squeeze)
}  // namespace dl4::kinds
