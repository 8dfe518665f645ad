// What the layers that merge inputs element by element share.
#pragma once

#include <vector>

#include "kinds/layers/facts.hpp"
#include "kinds/layers/masks.hpp"

namespace dl4::kinds {

struct Merge : Layer {
  static std::tuple<> fields() { return {}; }
  static Json more() {
    return Facts{.inputs = {{"x...", "(B, ...), shapes that broadcast"}},
                 .outputs = {{"y", "(B, ...)"}},
                 .mask = "joined: a place is valid where any input is, and there is none unless all inputs have one"}
        .json();
  }
  Arity arity() const override { return {1, any_number}; }
  std::vector<Symbol> call(Call &c) const override;

  // An input brought to the rank of all, with its mask of that rank or none.
  struct Part {
    ops::Id value, mask;
  };
  virtual ops::Id merge(ops::Emit &e, const std::vector<Part> &parts) const = 0;

 protected:
  // f of the first two, then of that and the third, and so on.
  static ops::Id fold(ops::Emit &e, ops::Binary f, const std::vector<Part> &parts);
  // The same for an f without a neutral element: masked places don't count.
  static ops::Id fold_valid(ops::Emit &e, ops::Binary f, const std::vector<Part> &parts);
};

// The OR of masks of one rank; none if any of them is none.
ops::Id any_of(ops::Emit &e, const std::vector<ops::Id> &masks);

}  // namespace dl4::kinds
