// Where predictions are right, as 1 and 0.
#pragma once

#include "kinds/loss.hpp"

namespace dl4::kinds {

ops::Id binary_matches(ops::Emit &e, ops::Id y_true, ops::Id y_pred, float threshold);
ops::Id categorical_matches(ops::Emit &e, ops::Id y_true, ops::Id y_pred);
ops::Id sparse_matches(ops::Emit &e, ops::Id y_true, ops::Id y_pred);
// labels: class numbers. Is the class among the k with the largest predictions? Equals count as larger than none.
ops::Id top_k_matches(ops::Emit &e, ops::Id labels, ops::Id y_pred, int64_t k);

// Class numbers (..., 1) or (...) for predictions (..., classes), as (...).
ops::Id class_numbers(ops::Emit &e, ops::Id y_true, ops::Id y_pred);

}  // namespace dl4::kinds
