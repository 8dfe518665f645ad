// Products whose axes letters name: of EinsumDense and Einsum.
#pragma once

#include <string>

#include "ops/ops.hpp"

namespace dl4::kinds {

// A product of matrices.
using MatrixProduct = ops::Id (*)(ops::Emit &, ops::Id, ops::Id);
inline ops::Id matrix_product(ops::Emit &e, ops::Id a, ops::Id b) { return ops::matmul(e, a, b); }

// x, w and y as a letter for each axis, none twice in one. What y has not is summed over.
ops::Id einsum_product(ops::Emit &e, const std::string &x_letters, const std::string &w_letters,
                       const std::string &y_letters, ops::Id x, ops::Id w, MatrixProduct product = matrix_product);
// One value alone: sums, then axes in the order of y.
ops::Id einsum_alone(ops::Emit &e, const std::string &x_letters, const std::string &y_letters, ops::Id x);

}  // namespace dl4::kinds
