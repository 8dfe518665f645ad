// Layers that merge inputs.

#include "kinds/layers/core/masks.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::none;

// An input expanded to the common rank, with its mask of that rank or none.
struct Term {
  Id value, mask;
};
using Parts = std::vector<Term>;

// Left fold of f over the inputs.
Id fold(Emit &e, Binary f, const Parts &parts) {
  Id y = parts[0].value;
  for (size_t i = 1; i < parts.size(); ++i) y = ops::binary(e, f, y, parts[i].value);
  return y;
}

// The same for an f without neutral element: masked positions are skipped.
Id fold_valid(Emit &e, Binary f, const Parts &parts) {
  auto [y, mask] = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    auto [x, valid] = parts[i];
    if (valid != none) x = ops::select(e, valid, x, y);
    if (mask != none) y = ops::select(e, mask, y, x);
    mask = mask != none && valid != none ? ops::binary(e, Binary::logical_or, mask, valid) : none;
    y = ops::binary(e, f, y, x);
  }
  return y;
}

Id add(Emit &e, const Parts &parts) { return fold(e, Binary::add, parts); }
Id subtract(Emit &e, const Parts &parts) { return fold(e, Binary::sub, parts); }
Id average(Emit &e, const Parts &parts) {
  Id sum = ops::cast(e, fold(e, Binary::add, parts), DType::f32);
  return ops::div(e, sum, e.scalar(static_cast<float>(parts.size())));
}
Id maximum(Emit &e, const Parts &parts) { return fold_valid(e, Binary::max, parts); }
Id minimum(Emit &e, const Parts &parts) { return fold_valid(e, Binary::min, parts); }

Id multiply(Emit &e, const Parts &parts) {
  Parts valid = parts;
  std::vector<Id> masks;
  for (Term &p : valid) {
    masks.push_back(p.mask);
    p.value = where_valid(e, p.mask, p.value, 1);
  }
  return where_valid(e, any_of(e, masks), fold(e, Binary::mul, valid), 0);
}

struct Merge final : LayerOf<Merge> {
  struct Row : Entry {
    Id (*merge)(Emit &, const Parts &);
    Arity arity{1, any_number};
  };

  explicit Merge(const Row &row) : row(row) {}
  const Row &row;

  static constexpr PlainFacts plain{
      .inputs = {{"x...", "(B, ...), shapes that broadcast"}},
      .outputs = {{"y", "(B, ...)"}},
      .mask = "joined: a place is valid where any input is, and there is none unless all inputs have one"};
  Arity arity() const override { return row.arity; }
  std::vector<Symbol> call(Call &c) const override {
    int rank = 0, count = static_cast<int>(c.in.size());
    for (int i = 0; i < count; ++i) {
      rank = std::max(rank, c.shape(i).rank());
      bool same = c.shape(0).rank() == 0 || c.shape(i).rank() == 0 || c.shape(0)[0] == c.shape(i)[0] ||
                  c.shape(0)[0] == free_dim || c.shape(i)[0] == free_dim;
      if (!same)
        fail(Code::shape_mismatch, "cannot merge tensors with different batch sizes. Received tensors with shapes ",
             c.shape(0), " and ", c.shape(i));
    }
    c.join_types();
    Parts parts;
    std::vector<Id> masks;
    for (int i = 0; i < count; ++i) {
      if (c.shape(i).rank() == 0 && rank > 0)
        fail(Code::shape_mismatch, "input ", i,
             ": expected a tensor with a batch axis, as the other inputs have, got one number, of shape ()");
      Term part{c.x(i), c.mask(i)};
      masks.push_back(part.mask);
      // Keras inserts missing axes after the batch, and the result has no mask.
      if (c.shape(i).rank() < rank) part.mask = none;
      if (part.mask != none) part.mask = spread(c.e, part.mask, rank);
      while (c.e.rank(part.value) < rank) part.value = ops::expand_dims(c.e, part.value, 1);
      parts.push_back(part);
    }
    return {{row.merge(c.e, parts), any_of(c.e, masks)}};
  }
};

constexpr Merge::Row row(const char *name, const char *doc, Id (*merge)(Emit &, const Parts &),
                         Arity arity = {1, any_number}) {
  return {row_of<Merge>(name, doc), merge, arity};
}

constexpr Merge::Row merges[] = {
    row("Add", "The sum of the inputs.", add),
    row("Subtract", "The first input less the second.", subtract, {2, 2}),
    row("Multiply", "The product of the inputs; masked places count as 1. Where all inputs are masked it is 0.",
        multiply),
    row("Average", "The mean of the inputs.", average),
    row("Maximum", "The largest of the inputs; masked places don't count.", maximum),
    row("Minimum", "The smallest of the inputs; masked places don't count.", minimum),
};

struct Concatenate : LayerOf<Concatenate> {
  static constexpr const char *doc = "The inputs one after the other along an axis.";
  int64_t axis = -1;

  void fields(Fields &f) override { f("axis", axis, "the axis along which they are joined"); }
  static constexpr PlainFacts plain{
      .inputs = {{"x...", "(B, ...), equal but for the axis"}},
      .outputs = {{"y", "(B, ...)"}},
      .mask =
          "joined along the axis, or, behind the mask's axes, valid where any input is; an input "
          "without a mask counts as valid, and there is none if no input has one"};
  Arity arity() const override { return {1, any_number}; }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    int along = c.shape().axis(axis), count = static_cast<int>(c.in.size());
    for (int i = 1; i < count; ++i) {
      const Shape first = c.shape(0), s = c.shape(i);
      if (s.rank() != first.rank() || !compatible(first.with(along, 0), s.with(along, 0)))
        fail(Code::shape_mismatch, "inputs must have matching shapes except for the concatenation axis ", along,
             ". Received shapes ", first, " and ", s);
    }
    c.join_types();
    std::vector<ops::Id> values;
    for (int i = 0; i < count; ++i) values.push_back(c.x(i));
    return {{ops::concat(c.e, values, along), mask(c, along)}};
  }

 private:
  static ops::Id mask(Call &c, int along) {
    int count = static_cast<int>(c.in.size()), rank = std::max(c.shape().rank() - 1, 1);
    bool found = false;
    for (int i = 0; i < count; ++i) {
      if (c.mask(i) == ops::none) continue;
      found = true;
      rank = std::min(rank, c.e.rank(c.mask(i)));
    }
    if (!found) return ops::none;
    std::vector<ops::Id> masks;
    for (int i = 0; i < count; ++i) {
      ops::Id m = c.mask(i);
      if (m == ops::none) m = ops::fill(c.e, DType::boolean, 1, c.x(i), rank, {});
      while (c.e.rank(m) > rank) m = any(c.e, m, -1, false);
      masks.push_back(m);
    }
    return along < rank ? ops::concat(c.e, masks, along) : any_of(c.e, masks);
  }
};

struct Dot final : LayerOf<Dot> {
  static constexpr const char *doc =
      "Sums of products along an axis of each of two inputs, for all pairs of their other places, item by item of the "
      "batch.";
  std::array<int64_t, 2> axes{};
  bool normalize = false;

  void fields(Fields &f) override {
    f("axes", axes, "the axis of both inputs, or that of each; not the batch's").required("1");
    f("normalize", normalize, "scales vectors along the axes to a norm of 1 first, which makes cosines");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"a", "(B, ..., K, ...)"}, {"b", "(B, ..., K, ...)"}},
      .outputs = {{"y", "(B, axes of a but K, axes of b but K); (B, 1) where there are none"}}};
  Arity arity() const override { return {2, 2}; }

  std::vector<Symbol> call(Call &c) const override {
    c.join_types();
    std::array<int, 2> axis{};
    std::array<ops::Id, 2> v{};
    for (int i = 0; i < 2; ++i) {
      const auto at = static_cast<size_t>(i);
      c.need_rank_from(i, 2);
      c.need_float(i);
      axis[at] = c.shape(i).axis(axes[at]);
      if (axis[at] == 0)
        fail(Code::invalid_argument, "\"axes\": expected another axis than the batch's, 0, of input ", i);
      v[at] = normalize ? normalised(c.e, c.x(i), {axis[at]}) : c.x(i);
    }
    const int64_t k = c.shape(0)[axis[0]], l = c.shape(1)[axis[1]];
    if (k != l && k != free_dim && l != free_dim)
      fail(Code::shape_mismatch, "incompatible input shapes: axis values ", k, " (at axis ", axis[0], ") and ", l,
           " (at axis ", axis[1], "). Full input shapes: ", c.shape(0), ", ", c.shape(1));
    const Shape a = c.shape(0).without(axis[0]), b = c.shape(1).without(axis[1]);  // remaining axes
    ops::Id y = ops::matmul(c.e, matrix(c.e, v[0], axis[0], -1), matrix(c.e, v[1], axis[1], 1));
    std::vector<int64_t> tail(a.begin() + 1, a.end());
    tail.insert(tail.end(), b.begin() + 1, b.end());
    if (tail.empty()) tail.push_back(1);
    return {{ops::reshape(c.e, y, 1, Shape(tail))}};
  }

 private:
  // (B, M, K), or (B, K, M) if `to` is 1: moves the axis there and merges the others.
  static ops::Id matrix(ops::Emit &e, ops::Id x, int axis, int to) {
    std::vector<int> perm;
    for (int i = 0; i < e.rank(x); ++i)
      if (i != axis) perm.push_back(i);
    perm.insert(to == 1 ? perm.begin() + 1 : perm.end(), axis);
    const int64_t k = e.shape(x)[axis];
    if (!std::is_sorted(perm.begin(), perm.end())) x = ops::transpose(e, x, perm);
    if (e.rank(x) == 3) return x;
    if (e.rank(x) == 2) return ops::expand_dims(e, x, to == 1 ? 2 : 1);
    if (k == free_dim)
      fail(Code::shape_mismatch, "the axis of the products should be known where an input has more than 3 axes");
    return ops::reshape(e, x, 1, to == 1 ? Shape{k, free_dim} : Shape{free_dim, k});
  }
};

}  // namespace

DL4_TABLE(merge, merges)
DL4_KINDS(concatenate, Concatenate, Dot)

}  // namespace dl4::kinds
