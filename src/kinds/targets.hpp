// Keras's choice between binary, categorical and sparse, for "accuracy" and "crossentropy".
#pragma once

#include "base/shape.hpp"

namespace dl4::kinds {

enum class Targets { binary, categorical, sparse };

inline Targets targets_for(const Shape &y_true, const Shape &y_pred) {
  if (y_pred.last() == 1) return Targets::binary;
  bool sparse = y_true.rank() < y_pred.rank() || (y_true.last() == 1 && y_pred.last() > 1);
  return sparse ? Targets::sparse : Targets::categorical;
}

}  // namespace dl4::kinds
