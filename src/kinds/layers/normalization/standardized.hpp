// Normalises values to a mean of 0 and a variance of 1 over axes.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::kinds {

// Gamma and beta with Keras's attributes, for the normalizations.
struct ScaleAndCenter {
  bool center = true, scale = true;
  Of<Initializer> beta_initializer = parse<Initializer>("Zeros"), gamma_initializer = parse<Initializer>("Ones");
  Of<Regularizer> beta_regularizer, gamma_regularizer;
  Of<Constraint> beta_constraint, gamma_constraint;

  void fields(Fields &f);
  ops::Id gamma(Call &c, const Shape &shape) const;  // none without scale
  ops::Id beta(Call &c, const Shape &shape) const;   // none without center
};

// The dim of an axis that weights share; refuses a free one.
int64_t known_dim(Call &c, int axis);

// The axes, possibly negative, as ascending numbers from 0; refuses axes out of range or repeated.
std::vector<int> numbered(const Shape &x, const std::vector<int64_t> &axes);

// (x - mean) / sqrt(variance + epsilon) over the axes together, times gamma, plus beta, which have the shape of these
// axes, or none. Without `center` the mean is taken as 0.
ops::Id standardized(ops::Emit &e, ops::Id x, const std::vector<int> &axes, double epsilon, bool center,
                     ops::Id gamma = ops::none, ops::Id beta = ops::none);

// Reshapes v from the axes' dims to broadcast against x: size 1 for all other axes from the first of them on.
ops::Id spread_over(ops::Emit &e, ops::Id v, ops::Id x, const std::vector<int> &axes);

}  // namespace dl4::kinds
