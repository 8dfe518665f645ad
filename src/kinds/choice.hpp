// Keras's choice between binary, categorical and sparse, for "accuracy" and "crossentropy".
#pragma once

#include "base/shape.hpp"

namespace dl4::kinds {

enum class Choice { binary, categorical, sparse };

inline Choice choice(const Shape &y_true, const Shape &y_pred) {
  if (y_pred.last() == 1) return Choice::binary;
  bool sparse = y_true.rank() < y_pred.rank() || (y_true.last() == 1 && y_pred.last() > 1);
  return sparse ? Choice::sparse : Choice::categorical;
}

}  // namespace dl4::kinds
