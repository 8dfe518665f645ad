// Elementwise merge layers.
#include <algorithm>

#include "base/error.hpp"
#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary;
using ops::Emit;
using ops::Id;
using ops::none;

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

}  // namespace
DL4_TABLE(merge, merges)
}  // namespace dl4::kinds
