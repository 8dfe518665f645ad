// Products by einsum equations, for EinsumDense and Einsum.
#pragma once

#include <string>

#include "ops/ops.hpp"

namespace dl4::kinds {

// A product of matrices.
using MatrixProduct = ops::Id (*)(ops::Emit &, ops::Id, ops::Id);
inline ops::Id matrix_product(ops::Emit &e, ops::Id a, ops::Id b) { return ops::matmul(e, a, b); }

inline bool has(const std::string &letters, char c) { return letters.find(c) != std::string::npos; }

// x, w and y: a letter per axis, distinct within each. Sums over letters not in y.
ops::Id einsum_product(ops::Emit &e, const std::string &x_letters, const std::string &w_letters,
                       const std::string &y_letters, ops::Id x, ops::Id w, MatrixProduct product = matrix_product);
// For one operand: sums, then permutes to the order of y.
ops::Id einsum_alone(ops::Emit &e, const std::string &x_letters, const std::string &y_letters, ops::Id x);

}  // namespace dl4::kinds
