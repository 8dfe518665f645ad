// Merging inputs: ranks, masks, the order of the sum.
#include "kinds/layers/merge.hpp"

#include <algorithm>

namespace dl4::kinds {

using ops::Binary;
using ops::Emit;
using ops::Id;
using ops::none;

Id any_of(Emit &e, const std::vector<Id> &masks) {
  Id all = masks[0];
  for (size_t i = 0; i < masks.size(); ++i) {
    if (masks[i] == none || e.rank(masks[i]) != e.rank(masks[0])) return none;
    if (i > 0) all = ops::binary(e, Binary::logical_or, all, masks[i]);
  }
  return all;
}

std::vector<Symbol> Merge::call(Call &c) const {
  int rank = 0, count = static_cast<int>(c.in.size());
  for (int i = 0; i < count; ++i) {
    rank = std::max(rank, c.shape(i).rank());
    bool same = c.shape(0).rank() == 0 || c.shape(i).rank() == 0 || c.shape(0)[0] == c.shape(i)[0] ||
                c.shape(0)[0] == free_dim || c.shape(i)[0] == free_dim;
    if (!same)
      fail(Code::shape_mismatch, "cannot merge tensors with different batch sizes. Received tensors with shapes ",
           c.shape(0), " and ", c.shape(i));
    if (c.e.dtype(c.x(i)) != c.e.dtype(c.x(0)))
      fail(Code::invalid_argument, "input ", i, ": expected dtype=", c.e.dtype(c.x(0)),
           " as input 0 has, found dtype=", c.e.dtype(c.x(i)));
  }
  std::vector<Part> parts;
  std::vector<Id> masks;
  for (int i = 0; i < count; ++i) {
    if (c.shape(i).rank() == 0 && rank > 0)
      fail(Code::shape_mismatch, "input ", i,
           ": expected a tensor with a batch axis, as the other inputs have, got one number, of shape ()");
    Part part{c.x(i), c.mask(i)};
    masks.push_back(part.mask);
    // Keras puts the missing axes behind the batch, and the value so made carries no mask.
    if (c.shape(i).rank() < rank) part.mask = none;
    if (part.mask != none) part.mask = spread(c.e, part.mask, rank);
    while (c.e.rank(part.value) < rank) part.value = ops::expand_dims(c.e, part.value, 1);
    parts.push_back(part);
  }
  return {{merge(c.e, parts), any_of(c.e, masks)}};
}

Id Merge::fold(Emit &e, Binary f, const std::vector<Part> &parts) {
  Id y = parts[0].value;
  for (size_t i = 1; i < parts.size(); ++i) y = ops::binary(e, f, y, parts[i].value);
  return y;
}

Id Merge::fold_valid(Emit &e, Binary f, const std::vector<Part> &parts) {
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

}  // namespace dl4::kinds
